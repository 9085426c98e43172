// SPDX-License-Identifier: Apache-2.0

package power

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"lopsided/fleet/api"
)

// story is a day of four machines: all but one go off, come back for a burst of pods, and go again.
func story(w *world) string {
	w.arrive("p0")
	w.live(10 * time.Minute)
	for n := range 6 {
		w.arrive(fmt.Sprintf("q%d", n))
	}
	w.live(10 * time.Minute)
	for n := range 6 {
		w.leave(fmt.Sprintf("q%d", n))
	}
	w.live(20 * time.Minute)
	return w.says()
}

const storyEnds = "+m-self idle[], +m1 on[p0], -m2 off[], -m3 off[], -m4 off[]"

func machines(t *testing.T, config string) *world {
	w := newWorld(t, config, selfNode, "m1", "m2", "m3", "m4")
	n := w.nodes[selfNode].DeepCopy()
	n.Spec.Unschedulable = true // its pods are none of ours
	w.store(n)
	return w
}

func TestStory(t *testing.T) {
	w := machines(t, "")
	w.arrive("p0")
	w.live(5 * time.Minute)
	want := strings.ReplaceAll(storyEnds, "self idle", "self on")
	if is := w.says(); is != "+m-self on[], +m1 on[p0], +m2 idle[], +m3 idle[], +m4 idle[]" {
		t.Errorf("after 5 min: %s", is)
	}
	w.live(2 * time.Minute)
	if is := w.says(); is != want {
		t.Errorf("after 7 min: %s", is)
	}
	for n := range 6 {
		w.arrive(fmt.Sprintf("q%d", n))
	}
	w.live(6 * time.Minute)
	if is := w.says(); is != "+m-self on[], +m1 on[p0 q0], +m2 on[q1 q2], +m3 on[q3 q4], +m4 on[q5]" {
		t.Errorf("with six more: %s", is)
	}
	if want := 3 + 3*2; w.asked < want {
		t.Errorf("drivers were asked %d times, not %d at least", w.asked, want)
	}
}

// Whatever the last thing was that the controller did or was about to do when it ended, the next one comes to the same.
func TestEndsAnywhere(t *testing.T) {
	w := machines(t, "")
	points := 0
	w.interrupt = func(string) { points++ }
	want := story(w)
	if points < 40 {
		t.Fatalf("the story has %d points only", points)
	}
	for at := range points {
		w := machines(t, "")
		count := 0
		w.interrupt = func(string) {
			if count++; count == at+1 {
				panic(crash{})
			}
		}
		if is := story(w); is != want {
			t.Errorf("ended at point %d: %s, not %s", at, is, want)
		}
	}
}

// A machine that cannot be switched on is given up for others, and comes back by itself.
func TestMachineThatDoesNotComeBack(t *testing.T) {
	w := machines(t, "wakeWithin: 5m")
	w.arrive("p0")
	w.live(10 * time.Minute)
	w.driver = func(node string, on bool) error {
		if node == "m2" {
			return errors.New("no answer")
		}
		return nil
	}
	w.arrive("q0")
	w.arrive("q1")
	w.live(4 * time.Minute)
	if w.state("m2") != switchingOn || w.nodes["m2"].Annotations[api.PowerAnnotation] != api.PowerOff {
		t.Errorf("%s", w.says())
	}
	w.live(10 * time.Minute)
	if is := w.says(); is != "+m-self on[], +m1 on[p0 q0], -m2 failed[], +m3 on[q1], -m4 off[]" {
		t.Errorf("%s", is)
	}
	said := map[string]int{}
	for len(w.recorder.Events) > 0 {
		said[<-w.recorder.Events]++
	}
	if n := said["Warning PowerProblem no answer"]; n != 1 {
		t.Errorf("said %d times: %v", n, said)
	}
	w.runs["m2"] = true
	w.live(time.Minute)
	if s := w.state("m2"); s != idle || w.nodes["m2"].Spec.Unschedulable {
		t.Errorf("m2: %s", s)
	}
}

// The cache does not have a pod yet that is bound.
func TestPodThatTheCacheLacks(t *testing.T) {
	w := machines(t, "minOn: 0")
	w.live(5*time.Minute + 35*time.Second) // cordoned
	w.pass(5 * time.Second)
	w.show()
	w.pods["late"] = aPod("late", "m1")
	w.look()
	w.look() // the first one wrote that it begins
	if !w.runs["m1"] || w.runs["m2"] {
		t.Errorf("%s", w.says())
	}
	w.live(10 * time.Minute)
	if s := w.state("m1"); s != on || !w.runs["m1"] {
		t.Errorf("m1: %s", s)
	}
}

// The cache has a pod before it has what the controller wrote: m1, which was cordoned, does not count as one that is on.
func TestNodesThatTheCacheLacks(t *testing.T) {
	w := newWorld(t, "minOn: 2", "m1", "m2", "m3")
	w.live(5*time.Minute + 5*time.Second)
	if w.state("m1") != cordoned || w.state("m2") != idle {
		t.Fatal(w.says())
	}
	w.pods["late"] = aPod("late", "m1")
	w.showPods()
	w.look()
	if w.state("m1") != on || w.state("m2") != idle || w.state("m3") != idle {
		t.Error(w.says())
	}
}

// Somebody takes a node away from the controller while its driver is at work.
func TestRecordThatIsRemoved(t *testing.T) {
	w := machines(t, "minOn: 0")
	w.driver = func(node string, on bool) error {
		n := w.nodes[node].DeepCopy()
		delete(n.Annotations, StateAnnotation)
		w.store(n)
		w.show()
		return nil
	}
	w.live(5*time.Minute + 45*time.Second)
	if _, found := w.nodes["m1"].Annotations[StateAnnotation]; found || w.asked == 0 {
		t.Errorf("%s", w.says())
	}
}

// Somebody changes a node between the look and the writing.
func TestNodeThatChanges(t *testing.T) {
	w := machines(t, "minOn: 0")
	w.pass(5 * time.Second)
	w.show()
	w.store(w.nodes["m1"].DeepCopy())
	w.look()
	if w.state("m1") != on || w.state("m2") != idle {
		t.Errorf("%s", w.says())
	}
	w.show()
	w.look()
	if w.state("m1") != idle {
		t.Errorf("%s", w.says())
	}
}

// Pods, failures of drivers, late caches and ends of the controller as they come. What world checks at each write and each switching holds: the minimum on,
// the limit, no machine off with pods, none that is not ours, nothing done that was not written. In the end all pods run, and no machine more than needed.
func TestAnything(t *testing.T) {
	crashes, failures, late := 0, 0, 0
	for seed := range uint64(25) {
		r := rand.New(rand.NewPCG(seed, 22))
		minOn := r.IntN(3)
		w := newWorld(t, fmt.Sprintf("minOn: %d\nmaxSwitches: %d", minOn, 1+r.IntN(3)), "control", "m-control", selfNode, "m1", "m2", "m3", "m4", "m5", "x1")
		for _, name := range []string{"control", "m-control"} {
			n := w.nodes[name].DeepCopy()
			n.Spec.Unschedulable = true
			w.store(n)
		}
		w.interrupt = func(string) {
			if r.IntN(20) == 0 {
				crashes++
				panic(crash{})
			}
		}
		w.driver = func(string, bool) error {
			switch r.IntN(6) {
			case 0:
				failures++
				return errors.New("no answer")
			case 1:
				failures++
				return errLate
			}
			return nil
		}
		for step := range 1500 {
			switch r.IntN(40) {
			case 0:
				for n := range min(1+r.IntN(4), 10-len(w.pods)) {
					w.arrive(fmt.Sprintf("p%d-%d", step, n))
				}
			case 1, 2:
				if there := slices.Sorted(maps.Keys(w.pods)); len(there) > 0 {
					w.leave(there[r.IntN(len(there))])
				}
			}
			if r.IntN(4) == 0 {
				late++
			} else {
				w.pass(time.Duration(1+r.IntN(10)) * time.Second)
				w.show()
			}
			w.look()
		}
		w.interrupt, w.driver = func(string) {}, func(string, bool) error { return nil }
		w.live(2 * time.Hour)
		needed, running := 0, 0
		for name, runs := range w.runs {
			if len(w.on(name)) > 0 && !runs {
				t.Errorf("seed %d: %s is off with pods: %s", seed, name, w.says())
			}
			if ours := strings.HasPrefix(name, "m") && name != "m-control"; ours && runs {
				running++
			}
			if ours := strings.HasPrefix(name, "m") && name != "m-control"; ours && (len(w.on(name)) > 0 || name == selfNode) {
				needed++
			}
		}
		for name, pod := range w.pods {
			if pod.Spec.NodeName == "" {
				t.Errorf("seed %d: %s waits: %s", seed, name, w.says())
			}
		}
		if running != max(needed, minOn) {
			t.Errorf("seed %d: %d machines run, %d are needed, %d are to be on: %s", seed, running, needed, minOn, w.says())
		}
		if t.Failed() {
			return
		}
	}
	if min(crashes, failures, late) < 100 {
		t.Errorf("%d crashes, %d failures, %d late: one of these is hardly tried", crashes, failures, late)
	}
}
