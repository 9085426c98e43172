// SPDX-License-Identifier: Apache-2.0

package gather

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
)

// The simulator replays the same file (simulator/src/fleet/places), so both place the same arrivals the same way. The
// file says what its lines mean.
func TestReplay(t *testing.T) {
	text, err := os.ReadFile("../../policy/tests/data/arrivals.txt")
	if err != nil {
		t.Fatal(err)
	}
	type where struct {
		machine, domain int
		a               Application
	}
	var fleet []*Machine
	there := map[string]where{}
	placed := 0
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(line)
		switch {
		case len(words) == 0 || words[0] == "#":
		case words[0] == "machine":
			var capacity []uint32
			for _, cores := range words[1:] {
				capacity = append(capacity, uint32(1000*number(t, cores)))
			}
			fleet = append(fleet, NewMachine(capacity...))
		case words[0] == "off":
			fleet[number(t, words[1])].SetOff(true)
		case words[1] == "leaves":
			w := there[words[0]]
			if !fleet[w.machine].Remove(w.domain, w.a) {
				t.Fatalf("%s: is not there", line)
			}
		default:
			a := application(t, words[1]+"x"+words[2])
			place := "nowhere"
			if machine, domain, ok := Place(fleet, a); ok {
				place = fmt.Sprintf("%d.%d", machine, domain)
				fleet[machine].SetOff(false)
				fleet[machine].Add(domain, a)
				there[words[0]] = where{machine, domain, a}
				placed++
			}
			if place != words[4] {
				t.Fatalf("%s: goes to %s", line, place)
			}
		}
	}
	if placed <= 100 {
		t.Errorf("%d arrivals", placed)
	}
}

func number(t testing.TB, text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
