// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// arriveWithPower is arrive where somebody switches a machine on for a pod that waits for it.
func (c *cluster) arriveWithPower(name, cores, intensity string) (place string, woken bool) {
	pod := c.pod(name, cores, intensity)
	place, err := c.arrive(pod)
	if err == nil {
		return place, false
	}
	if node := pod.Status.NominatedNodeName; node != "" {
		c.power(node, true)
		place, _ = c.arrive(pod)
		return place, true
	}
	return place, false
}

// Package gather and the simulator replay the same file, which says what its lines mean: all three place the same
// arrivals the same way.
func TestReplay(t *testing.T) {
	text, err := os.ReadFile("../../policy/tests/data/arrivals.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name          string
		lags, restart bool
	}{{name: "annotations are seen at once"}, {name: "and never", lags: true}, {name: "the scheduler restarts all the time", restart: true}} {
		t.Run(test.name, func(t *testing.T) {
			c := newCluster(t)
			c.lags = test.lags
			placed, switched := 0, 0
			for line := range strings.Lines(string(text)) {
				words := strings.Fields(line)
				switch {
				case len(words) == 0 || words[0] == "#":
				case words[0] == "machine":
					c.add(fmt.Sprint(len(c.nodes)), strings.Join(words[1:], ","))
				case words[0] == "off":
					c.power(words[1], false)
				case words[1] == "leaves":
					c.leave(words[0])
				default:
					place, woken := c.arriveWithPower(words[0], words[1], words[2])
					if place != words[4] {
						t.Fatalf("%s: goes to %s", line, place)
					}
					if woken {
						switched++
					}
					if place != "nowhere" {
						placed++
					}
					for len(c.recorder.Events) > 0 {
						<-c.recorder.Events
					}
				}
				if test.restart {
					c.restart()
				}
			}
			if placed <= 100 || switched == 0 {
				t.Errorf("%d arrivals, %d of them for a machine that was off", placed, switched)
			}
		})
	}
}
