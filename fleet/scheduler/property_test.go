// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"lopsided/fleet/gather"
)

// bookkeeper keeps the same fleet by hand.
type bookkeeper struct {
	machines []*gather.Machine
	places   map[string]string
	asked    map[string]uint32 // by place
	is       map[string]gather.Application
}

func (b *bookkeeper) place(a gather.Application) string {
	machine, domain, ok := gather.Place(b.machines, a)
	if !ok {
		return "nowhere"
	}
	return fmt.Sprintf("%d.%d", machine, domain)
}

func (b *bookkeeper) at(place string) (*gather.Machine, int) {
	return b.machines[place[0]-'0'], int(place[2] - '0')
}

// Arrivals, ends, bindings that fail, restarts and annotations that are seen late: each pod goes where the rule puts it in a
// fleet that is kept by hand, and no domain gives more than it has. The seeds are fixed, so each run draws the same.
func TestAnyOrder(t *testing.T) {
	var placed, failed, nowhere, restarts int
	for seed := range uint64(150) {
		r := rand.New(rand.NewPCG(seed, 25))
		c := newCluster(t)
		b := &bookkeeper{places: map[string]string{}, asked: map[string]uint32{}, is: map[string]gather.Application{}}
		capacity := map[string]uint32{}
		for n := range 1 + r.IntN(5) {
			var domains []string
			var cores []uint32
			for d := range 1 + r.IntN(3) {
				have := uint32(1 + r.IntN(8))
				domains = append(domains, fmt.Sprint(have))
				cores = append(cores, 1000*have)
				capacity[fmt.Sprintf("%d.%d", n, d)] = 1000 * have
			}
			c.add(fmt.Sprint(n), strings.Join(domains, ","))
			b.machines = append(b.machines, gather.NewMachine(cores...))
		}
		for step := range 60 {
			for len(c.recorder.Events) > 0 {
				<-c.recorder.Events
			}
			switch r.IntN(8) {
			case 0: // those seen late are lost
				if !c.lags {
					c.restart()
					restarts++
				}
			case 1:
				if c.lags = !c.lags && r.IntN(3) == 0; !c.lags {
					c.show()
				}
			case 2, 3:
				there := slices.Sorted(maps.Keys(b.places))
				if len(there) == 0 {
					continue
				}
				name := there[r.IntN(len(there))]
				place := b.places[name]
				c.leave(name)
				machine, domain := b.at(place)
				machine.Remove(domain, b.is[name])
				b.asked[place] -= b.is[name].MilliCPU
				delete(b.places, name)
			default:
				name := fmt.Sprintf("p%d", step)
				mpmi := []uint32{50, 500, 900, 3000, 25000}[r.IntN(5)]
				a := gather.Application{MilliCPU: uint32(250 * (1 + r.IntN(12))), Intensity: gather.Intensity{MPMI: mpmi, Measured: time.Second}}
				pod := c.pod(name, fmt.Sprintf("%dm", a.MilliCPU), fmt.Sprintf("%dm", mpmi))
				want := b.place(a)
				y, err := c.begin(pod)
				if want == "nowhere" {
					if err == nil {
						t.Fatalf("seed %d, step %d: goes to %s, though there is no room", seed, step, y.node)
					}
					nowhere++
					continue
				}
				if err == nil {
					err = y.reserve()
				}
				if err != nil {
					t.Fatalf("seed %d, step %d: %v, though it fits into %s", seed, step, err, want)
				}
				if r.IntN(5) == 0 {
					y.unreserve()
					failed++
					continue
				}
				if err := y.bind(); err != nil || c.place(name) != want {
					t.Fatalf("seed %d, step %d: goes to %s (%v), not to %s", seed, step, c.place(name), err, want)
				}
				machine, domain := b.at(want)
				machine.Add(domain, a)
				b.places[name], b.is[name] = want, a
				if b.asked[want] += a.MilliCPU; b.asked[want] > capacity[want] {
					t.Fatalf("seed %d, step %d: %s has %d, %d are asked for", seed, step, want, capacity[want], b.asked[want])
				}
				placed++
			}
		}
	}
	if min(placed, failed, nowhere, restarts) < 100 {
		t.Errorf("%d placed, %d failed, %d nowhere, %d restarts: one of these is hardly tried", placed, failed, nowhere, restarts)
	}
}
