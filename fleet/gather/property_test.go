// SPDX-License-Identifier: Apache-2.0

package gather

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"
)

// model is a fleet as lists. It checks a place by definitions of its own, not by the rule's.
type model struct {
	machines []*Machine
	off      []bool
	there    [][][]Application
	capacity [][]uint32
}

type place struct{ machine, domain int }

func drawFleet(r *rand.Rand) *model {
	f := &model{}
	for range 1 + r.IntN(5) {
		var capacity []uint32
		for range 1 + r.IntN(3) {
			capacity = append(capacity, uint32(1000*(1+r.IntN(16))))
		}
		f.machines = append(f.machines, NewMachine(capacity...))
		f.capacity = append(f.capacity, capacity)
		f.there = append(f.there, make([][]Application, len(capacity)))
		f.off = append(f.off, false)
	}
	return f
}

func drawApplication(r *rand.Rand) Application {
	a := Application{MilliCPU: uint32(250 * (1 + r.IntN(12)))}
	mpmi := [][2]int{{0, 100}, {100, 1001}, {1001, 60000}}[r.IntN(3)]
	if r.IntN(8) > 0 {
		a.Intensity = Intensity{MPMI: uint32(mpmi[0] + r.IntN(mpmi[1]-mpmi[0])), Measured: time.Second}
	}
	return a
}

// step switches a machine, ends an application, or has one arrive and returns where it went.
func (f *model) step(r *rand.Rand) (a Application, went place, arrived, ok bool) {
	n := r.IntN(len(f.machines))
	switch r.IntN(6) {
	case 0:
		if f.machines[n].Empty() {
			f.off[n] = !f.off[n]
			f.machines[n].SetOff(f.off[n])
		}
		return
	case 1, 2:
		d := r.IntN(len(f.there[n]))
		if k := len(f.there[n][d]); k > 0 {
			i := r.IntN(k)
			f.machines[n].Remove(d, f.there[n][d][i])
			f.there[n][d] = slices.Delete(f.there[n][d], i, i+1)
		}
		return
	}
	a = drawApplication(r)
	went.machine, went.domain, ok = Place(f.machines, a)
	return a, went, true, ok
}

func (f *model) arrive(p place, a Application) {
	if f.off[p.machine] {
		f.off[p.machine] = false
		f.machines[p.machine].SetOff(false)
	}
	f.machines[p.machine].Add(p.domain, a)
	f.there[p.machine][p.domain] = append(f.there[p.machine][p.domain], a)
}

func (f *model) places() (all []place) {
	for n, domains := range f.there {
		for d := range domains {
			all = append(all, place{n, d})
		}
	}
	return all
}

func (f *model) in(p place) []Application { return f.there[p.machine][p.domain] }

func (f *model) hasRoom(p place, a Application) bool {
	asked := a.MilliCPU
	for _, other := range f.in(p) {
		asked += other.MilliCPU
	}
	return asked <= f.capacity[p.machine][p.domain]
}

// state is 0 for a machine in use, 1 for one on and empty, 2 for one off.
func (f *model) state(machine int) int {
	switch {
	case f.off[machine]:
		return 2
	case slices.ContainsFunc(f.there[machine], func(there []Application) bool { return len(there) > 0 }):
		return 0
	}
	return 1
}

func (a Application) mpki() float64 {
	if a.Intensity.Class() == Unknown {
		return 10
	}
	return float64(a.Intensity.MPMI) / 1000
}

// mixes says whether the arrival puts an intensive application beside one that is not of very low intensity.
func mixes(there []Application, comes Application) bool {
	return slices.ContainsFunc(there, func(other Application) bool {
		calmer, fiercer := min(other.mpki(), comes.mpki()), max(other.mpki(), comes.mpki())
		return fiercer > 1 && calmer >= 0.1
	})
}

// slowest is the longest predicted time relative to the time alone.
func slowest(there []Application) float64 {
	waits := func(a Application) float64 { return a.mpki() / (a.mpki() + 10) }
	presses := func(a Application) float64 { return waits(a) * float64(a.MilliCPU) / 1000 }
	worst := 1.0
	for n, a := range there {
		others := 0.0
		for m, other := range there {
			if m != n {
				others += presses(other)
			}
		}
		worst = max(worst, 1+waits(a)*others)
	}
	return worst
}

// roundedDown is how much less the rule may find: it counts what each presses, what each waits and their product in
// whole permille.
func roundedDown(there []Application) float64 {
	down := 0.002
	for _, a := range there {
		down += 0.001 + 0.002*float64(a.MilliCPU)/1000
	}
	return down
}

// check says what is wrong with the place that an application went to, or nothing.
func (f *model) check(a Application, went place, ok bool) string {
	var room, empty []place
	for _, p := range f.places() {
		if f.hasRoom(p, a) {
			room = append(room, p)
			if len(f.in(p)) == 0 {
				empty = append(empty, p)
			}
		}
	}
	if !ok {
		if len(room) > 0 {
			return "no place, though there is room"
		}
		return ""
	}
	if !slices.Contains(room, went) {
		return "no room there"
	}
	with := func(p place) []Application { return append(slices.Clone(f.in(p)), a) }
	if len(empty) > 0 && mixes(f.in(went), a) {
		return "an intensive one beside a demanding one, while another domain is free"
	}
	if there := with(went); len(empty) > 0 && slowest(there) > 1.05+roundedDown(there) {
		return "somebody is slowed by more than 5 %, while another domain is free"
	}
	if len(f.in(went)) > 0 {
		return ""
	}
	for _, p := range room {
		if len(f.in(p)) > 0 && !mixes(f.in(p), a) && slowest(with(p)) <= 1.05 {
			return "opens a domain, though one in use would take it"
		}
	}
	for _, p := range empty {
		if f.state(p.machine) < f.state(went.machine) {
			return "opens a machine, though another one costs less"
		}
	}
	return ""
}

// Checks every place over arrivals, ends and machines that are switched on and off. The seeds are fixed, so each run
// draws the same.
func TestEveryPlace(t *testing.T) {
	var arrivals, opened, shared, none int
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 22))
		f := drawFleet(r)
		for step := range 60 {
			a, went, arrived, ok := f.step(r)
			if !arrived {
				continue
			}
			if wrong := f.check(a, went, ok); wrong != "" {
				t.Fatalf("seed %d, step %d: %+v to %+v: %s\n%+v, off %v", seed, step, a, went, wrong, f.there, f.off)
			}
			arrivals++
			switch {
			case !ok:
				none++
				continue
			case f.state(went.machine) > 0:
				opened++
			case mixes(f.in(went), a):
				shared++
			}
			f.arrive(went, a)
		}
	}
	if min(opened, shared, none) < arrivals/100 {
		t.Errorf("of %d arrivals %d open a machine, %d have to share, %d find no room: one of these is hardly tried", arrivals, opened, shared, none)
	}
}

// The best place depends neither on the order of the machines nor on applications that have left.
func TestBestPlaceByAnyWay(t *testing.T) {
	for seed := range uint64(500) {
		r := rand.New(rand.NewPCG(seed, 23))
		f := drawFleet(r)
		for range 60 {
			a, went, arrived, ok := f.step(r)
			if !arrived || !ok {
				continue
			}
			fits := make(map[*Machine]Fit)
			for _, m := range f.machines {
				_, fits[m] = m.Place(a)
			}
			best := fits[f.machines[went.machine]]
			shuffled := slices.Clone(f.machines)
			r.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
			n, _, _ := Place(shuffled, a)
			if other := fits[shuffled[n]]; best.Better(other) || other.Better(best) {
				t.Fatalf("seed %d: %+v, in another order %+v", seed, best, other)
			}
			all := Fits(shuffled, a)
			var want []uint32
			for i, fit := range all {
				if fit != fits[shuffled[i]] {
					t.Fatalf("seed %d: among others %+v, alone %+v", seed, fit, fits[shuffled[i]])
				}
				if fit.Fits() && !best.Better(fit) {
					want = append(want, uint32(i))
				}
			}
			if are := Best(all); !slices.Equal(are, want) {
				t.Fatalf("seed %d: the best of %+v are %d, not %d", seed, all, are, want)
			}
			f.arrive(went, a)
			if anew := f.anew(went.machine); !reflect.DeepEqual(anew, f.machines[went.machine]) {
				t.Fatalf("seed %d: made anew %+v, not %+v", seed, anew, f.machines[went.machine])
			}
		}
	}
}

// anew makes a machine with the applications that are there now.
func (f *model) anew(machine int) *Machine {
	m := NewMachine(f.capacity[machine]...)
	for d, there := range f.there[machine] {
		for _, a := range there {
			m.Add(d, a)
		}
	}
	m.SetOff(f.off[machine])
	return m
}
