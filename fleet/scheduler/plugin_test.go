// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/component-base/metrics/legacyregistry"
	framework "k8s.io/kube-scheduler/framework"

	"lopsided/fleet/api"
)

// The worked example of the rule, one domain a node.
func TestApart(t *testing.T) {
	c := newCluster(t)
	for _, name := range []string{"a", "b", "c"} {
		c.add(name, "4")
	}
	c.wants(c.pod("fierce", "1", "30"), "a.0", "")
	c.wants(c.pod("moderate", "1", "0.5"), "b.0", "")
	c.wants(c.pod("calm", "1", "0.05"), "a.0", "")
	if reason := c.stored["calm"].Annotations[api.ReasonAnnotation]; reason != "beside others; 2000m CPU left" {
		t.Error(reason)
	}
	c.wants(c.pod("declared", "1", "moderate"), "b.0", "")
	c.wants(c.pod("unknown", "1", "?"), "c.0", "")
	c.wants(c.pod("beside unknown", "1", "very-low"), "a.0", "")
	c.wants(c.pod("one more", "1", "intensive"), "b.0", "") // shared: the others press least
	c.saysEvent("SharedDomain Memory domain 0 of node b: shared, since no other domain is left; 1000m CPU left")
	c.wants(c.pod("large", "5", "0.05"), "nowhere", "no memory domain has room")
}

// Equal pods that arrive before the first of them is bound: each sees those before it.
func TestBurst(t *testing.T) {
	c := newCluster(t)
	c.add("a", "4,4")
	c.add("b", "4,4")
	var burst []*cycle
	for _, name := range []string{"p0", "p1", "p2", "p3", "p4"} {
		y, err := c.begin(c.pod(name, "1", "intensive"))
		if err == nil {
			err = y.reserve()
		}
		if err != nil {
			t.Fatal(err)
		}
		burst = append(burst, y)
	}
	for n, want := range []string{"a.0", "a.1", "b.0", "b.1", "a.0"} {
		if err := burst[n].bind(); err != nil {
			t.Fatal(err)
		}
		if place := c.place(burst[n].pod.Name); place != want {
			t.Errorf("p%d goes to %s, not to %s", n, place, want)
		}
	}
}

// Two cycles that saw the same cluster.
func TestTwoPodsRace(t *testing.T) {
	c := newCluster(t)
	c.add("a", "2,2")
	first, err1 := c.begin(c.pod("first", "2", "intensive"))
	second, err2 := c.begin(c.pod("second", "2", "intensive"))
	third, err3 := c.begin(c.pod("third", "2", "intensive"))
	if err1 != nil || err2 != nil || err3 != nil {
		t.Fatal(err1, err2, err3)
	}
	if err1, err2 = first.reserve(), second.reserve(); err1 != nil || err2 != nil {
		t.Fatal(err1, err2)
	}
	if err := third.reserve(); err == nil || !strings.Contains(err.Error(), "no memory domain has room any more") {
		t.Errorf("two domains are given to three pods: %v", err)
	}
	if err1, err2 = first.bind(), second.bind(); err1 != nil || err2 != nil || c.place("first") != "a.0" || c.place("second") != "a.1" {
		t.Errorf("%v, %v: %s and %s", err1, err2, c.place("first"), c.place("second"))
	}
}

func TestUnreserveGivesBack(t *testing.T) {
	c := newCluster(t)
	c.add("a", "2,2")
	failed, err := c.begin(c.pod("failed", "2", "intensive"))
	if err != nil {
		t.Fatal(err)
	}
	if err := failed.reserve(); err != nil {
		t.Fatal(err)
	}
	c.wants(c.pod("second", "2", "intensive"), "a.1", "")
	c.wants(c.pod("third", "2", "intensive"), "nowhere", "no memory domain has room")
	failed.unreserve()
	failed.unreserve() // kube-scheduler may call it twice
	c.wants(c.stored["third"], "a.0", "")
}

// A pod that can't be written to gives its domain back.
func TestDeletedWhileBound(t *testing.T) {
	c := newCluster(t)
	c.add("a", "2")
	y, err := c.begin(c.pod("gone", "2", "?"))
	if err != nil {
		t.Fatal(err)
	}
	if err := y.reserve(); err != nil {
		t.Fatal(err)
	}
	c.pod("gone", "2", "?").UID = "another pod of that name"
	if err := y.bind(); err == nil || c.stored["gone"].Annotations != nil {
		t.Errorf("%v: annotates another pod: %v", err, c.stored["gone"].Annotations)
	}
	c.wants(c.pod("next", "2", "?"), "a.0", "")
}

// kube-scheduler tries a pod group in a snapshot, takes all of it back, and then reserves the same again, while the snapshot
// shows none of it.
func TestPodGroup(t *testing.T) {
	c := newCluster(t)
	c.add("a", "2,2,2")
	c.wants(c.pod("there", "2", "0.05"), "a.0", "")
	c.takeSnapshot()
	var group []*cycle
	for _, name := range []string{"g0", "g1", "g2"} {
		y, err := c.beginIn(c.pod(name, "2", "intensive"))
		if name == "g2" {
			if err == nil {
				t.Error("three pods are given two domains")
			}
			break
		}
		if err == nil {
			err = y.try()
		}
		if err != nil {
			t.Fatal(err)
		}
		group = append(group, y)
	}
	for _, y := range group {
		y.takeBack()
	}
	for n, want := range []string{"a.1", "a.2"} {
		if err := group[n].reserve(); err != nil {
			t.Fatal(err)
		}
		if err := group[n].bind(); err != nil {
			t.Fatal(err)
		}
		if place := c.place(group[n].pod.Name); place != want {
			t.Errorf("g%d goes to %s, not to %s", n, place, want)
		}
	}
}

// Where a pod of the group needs preemption, kube-scheduler tries the others with it in place, and its victims still there.
func TestPodGroupThatNeedsPreemption(t *testing.T) {
	c := newCluster(t)
	c.add("a", "2")
	c.wants(c.pod("victim", "2", "?"), "a.0", "")
	y := &cycle{c: c, pod: c.pod("g", "2", "?"), state: newState(), node: "a"}
	c.takeSnapshot()
	if _, status := c.gather.PreFilter(context.Background(), y.state, y.pod, nil); !status.IsSuccess() {
		t.Fatal(status)
	}
	if err := y.try(); err != nil {
		t.Error(err)
	}
	y.takeBack()
	if err := y.reserve(); err == nil {
		t.Error("is reserved beside its victim")
	}
}

// The members of a group that are nominated to a machine that is off are tried as if they were there.
func TestPodGroupThatNeedsAMachine(t *testing.T) {
	c := newCluster(t)
	c.add("off", "2,2")
	c.power("off", false)
	c.takeSnapshot()
	for n, name := range []string{"g0", "g1"} {
		y := &cycle{c: c, pod: c.pod(name, "2", "?"), state: newState()}
		c.gather.PreFilter(context.Background(), y.state, y.pod, []framework.NodeInfo{c.snapshot["off"]})
		result, status := c.gather.PostFilter(context.Background(), y.state, y.pod, nil)
		if !status.IsSuccess() {
			t.Fatal(status)
		}
		y.node = result.NominatedNodeName
		if err := y.try(); err != nil {
			t.Fatal(err)
		}
		if h := c.gather.residents.held(y.pod.UID); y.node != "off" || h.domain != n {
			t.Errorf("%s is tried on node %s in domain %d", name, y.node, h.domain)
		}
	}
}

func TestRestart(t *testing.T) {
	c := newCluster(t)
	c.add("a", "4,4")
	c.add("b", "4,4")
	c.wants(c.pod("fierce", "1", "30"), "a.0", "")
	c.wants(c.pod("moderate", "1", "0.5"), "a.1", "")
	c.restart()
	c.wants(c.pod("calm", "1", "0.05"), "a.0", "")
	c.wants(c.pod("moderate too", "1", "0.5"), "a.1", "")
	c.wants(c.pod("fierce too", "1", "30"), "b.0", "")
}

// The scheduler ended after it had written the domain, and before it bound the pod.
func TestRestartBeforeBinding(t *testing.T) {
	c := newCluster(t)
	c.add("a", "4,4")
	c.wants(c.pod("fierce", "1", "30"), "a.0", "")
	halfway := c.pod("halfway", "1", "30")
	halfway.Annotations = map[string]string{api.DomainAnnotation: "0"}
	c.restart()
	c.wants(halfway, "a.1", "")

	c.add("c", "")
	for _, wrong := range []string{"0", "garbage", "-1"} {
		again := c.pod("not "+wrong, "8", "30")
		again.Annotations = map[string]string{api.DomainAnnotation: wrong}
		c.wants(again, "c.", "") // the annotation is taken out
	}
	zeros := c.pod("zeros", "1", "0.05")
	zeros.Annotations = map[string]string{api.DomainAnnotation: "00"}
	c.wants(zeros, "a.0", "")
}

func TestNodesWithoutUsableDomains(t *testing.T) {
	for _, test := range []struct {
		why   string
		spoil func(*cluster)
		event string
	}{
		{"nothing published", func(c *cluster) { c.annotate("a", api.DomainsAnnotation, "") }, "it has published no memory domains"},
		{"no time", func(c *cluster) { c.annotate("a", api.PublishedAnnotation, "") }, "fleet.lopsided/published"},
		{"no number", func(c *cluster) { c.annotate("a", api.DomainsAnnotation, "4,four") }, `fleet.lopsided/domains: "four" is no number of cores`},
		{"less than no cores", func(c *cluster) { c.annotate("a", api.DomainsAnnotation, "4,-1") }, `fleet.lopsided/domains: "-1" is no number of cores`},
		{"old figures", func(c *cluster) {
			c.annotate("a", api.PublishedAnnotation, c.clock.Add(-5*time.Minute-time.Second).Format(time.RFC3339))
		}, "what it published is 5m1s old"},
		{"a clock that is ahead", func(c *cluster) {
			c.annotate("a", api.PublishedAnnotation, c.clock.Add(5*time.Minute+time.Second).Format(time.RFC3339))
		}, "what it published is dated 5m1s ahead"},
	} {
		t.Run(test.why, func(t *testing.T) {
			c := newCluster(t)
			c.add("a", "4,4")
			c.add("b", "4")
			c.wants(c.pod("best", "1", "0.05"), "a.0", "")
			test.spoil(c)
			c.wants(c.pod("p", "4", "0.05"), "b.0", "") // though a is in use, and comes first
			c.wants(c.pod("q", "4", "0.05"), "a.", "")  // b is full
			c.saysEvent("Warning NoMemoryDomain Runs anywhere on node a: " + test.event)
		})
	}
	t.Run("a domain whose CPUs are offline", func(t *testing.T) {
		c := newCluster(t)
		c.add("a", "0,4")
		c.wants(c.pod("asks for nothing", "0", "0.05"), "a.1", "")
		c.wants(c.pod("p", "3900m", "0.05"), "a.1", "")
		c.add("b", "4")
		c.wants(c.pod("q", "1", "0.05"), "b.0", "") // though a is in use
	})
	t.Run("figures as old as they may be", func(t *testing.T) {
		c := newCluster(t)
		c.add("a", "4")
		c.clock = c.clock.Add(5 * time.Minute)
		c.add("b", "4")
		c.wants(c.pod("p", "1", "0.05"), "a.0", "")
	})
}

// A pod without a domain may run in any, so each counts it.
func TestPodsWithoutDomain(t *testing.T) {
	c := newCluster(t)
	c.add("a", "4,4")
	c.add("b", "4,4")
	other := c.pod("another scheduler's", "2", "intensive")
	other.Spec.NodeName = "a"
	c.nodes["a"].add(other)
	c.wants(c.pod("p", "2", "0.5"), "b.0", "")
	c.wants(c.pod("q", "3", "0.05"), "b.1", "") // 2 of 4 cores are left in both of a
	outside := c.pod("its domain is gone", "4", "0.5")
	outside.Spec.NodeName, outside.Annotations = "b", map[string]string{api.DomainAnnotation: "2"}
	c.nodes["b"].add(outside)
	c.wants(c.pod("r", "2", "0.05"), "a.0", "")
	c.wants(c.pod("s", "2", "0.05"), "a.1", "")
	c.wants(c.pod("t", "1", "0.05"), "nowhere", "no memory domain has room") // b has 2 and 1 cores, but the last one may need 4 of either
}

func TestNodesOwnPods(t *testing.T) {
	c := newCluster(t)
	c.add("a", "4")
	c.add("b", "4")
	yes := true
	for _, kind := range []string{"DaemonSet", "Node"} {
		own := c.pod(kind, "3", "?")
		own.OwnerReferences = []metav1.OwnerReference{{Kind: kind, Controller: &yes}}
		c.takes = func(_ *v1.Pod, n *v1.Node) bool { return n.Name == "a" }
		c.wants(own, "a.", "")
	}
	c.takes = func(*v1.Pod, *v1.Node) bool { return true }
	if held := len(c.gather.residents.holds); held != 0 {
		t.Errorf("%d holds", held)
	}
	c.wants(c.pod("p", "4", "0.5"), "a.0", "") // empty, and all of it free
}

// Preemption asks about copies of a node that lack a pod, also the one that came last, of which Filter has seen no node yet.
func TestPreemption(t *testing.T) {
	c := newCluster(t)
	c.add("a", "2")
	c.wants(c.pod("victim", "2", "?"), "a.0", "")
	y := &cycle{c: c, pod: c.pod("p", "2", "?"), state: newState()}
	c.takeSnapshot()
	if _, status := c.gather.PreFilter(context.Background(), y.state, y.pod, nil); !status.IsSuccess() {
		t.Fatal(status)
	}
	without := c.snapshot["a"].copy()
	without.remove("victim")
	if status := c.gather.Filter(context.Background(), y.state, y.pod, without); !status.IsSuccess() {
		t.Errorf("where the victim was: %v", status)
	}
	if status := c.gather.Filter(context.Background(), y.state, y.pod, c.snapshot["a"]); status.Code() != framework.Unschedulable {
		t.Errorf("where the victim is: %v", status)
	}
}

// Pods that end for another one make room on a node that is on, so no machine is switched on for that one.
func TestPreemptionGoesBeforeSwitchingOn(t *testing.T) {
	c := newCluster(t)
	c.add("a", "2")
	c.wants(c.pod("victim", "2", "?"), "a.0", "")
	c.add("off", "2")
	c.power("off", false)
	c.takeSnapshot()
	high := int32(1)
	p := c.pod("p", "2", "?")
	p.Spec.Priority = &high
	y := &cycle{c: c, pod: p, state: newState()}
	ctx := context.Background()
	c.gather.PreFilter(ctx, y.state, p, []framework.NodeInfo{c.snapshot["a"], c.snapshot["off"]})
	// What is UnschedulableAndUnresolvable preemption does not look at.
	if status := c.gather.Filter(ctx, y.state, p, c.snapshot["a"]); status.Code() != framework.Unschedulable {
		t.Errorf("where the victim is: %v", status)
	}
	if status := c.gather.Filter(ctx, y.state, p, c.snapshot["off"]); status.Code() != framework.UnschedulableAndUnresolvable {
		t.Errorf("off: %v", status)
	}
	ends := c.snapshot["a"].pods[0].DeepCopy()
	ends.DeletionTimestamp = &metav1.Time{Time: c.clock}
	for _, test := range []struct {
		why       string
		nominated string
		there     *v1.Pod
		on        string
	}{
		{"preemption was in vain", "", ends, "off"},
		{"the victim ends", "a", ends, ""},
		{"nobody ends", "a", c.snapshot["a"].pods[0], "off"},
		{"waits for the machine already", "off", ends, "off"},
	} {
		p.Status.NominatedNodeName = test.nominated
		c.snapshot["a"].pods[0], c.snapshot["off"].pods = test.there, []*v1.Pod{test.there}
		result, status := c.gather.PostFilter(ctx, y.state, p, nil)
		on := ""
		if status.IsSuccess() {
			on = result.NominatedNodeName
		}
		if on != test.on {
			t.Errorf("%s: %q is to be switched on, not %q: %v", test.why, on, test.on, status)
		}
	}
}

// Pods for which others make room count where the rule would put them.
func TestNominated(t *testing.T) {
	c := newCluster(t)
	c.add("a", "2,2")
	c.wants(c.pod("there", "1", "30"), "a.0", "")
	y, err := c.begin(c.pod("p", "2", "0.5"))
	if err != nil {
		t.Fatal(err)
	}
	with := c.snapshot["a"].copy()
	calm := c.pod("nominated calm", "1", "0.05")
	calm.Annotations = map[string]string{api.DomainAnnotation: "1"} // of an earlier try
	with.add(calm)
	if status := c.gather.Filter(context.Background(), y.state, y.pod, with); !status.IsSuccess() {
		t.Errorf("beside a nominated pod that goes to another domain: %v", status)
	}
	with.add(c.pod("nominated", "2", "0.5"))
	if status := c.gather.Filter(context.Background(), y.state, y.pod, with); status.Code() != framework.Unschedulable {
		t.Errorf("where nominated pods need all there is: %v", status)
	}
	if status := c.gather.Filter(context.Background(), y.state, y.pod, c.snapshot["a"]); !status.IsSuccess() {
		t.Errorf("the copy counts for the node: %v", status)
	}
}

func TestMachinesThatAreOff(t *testing.T) {
	c := newCluster(t)
	c.add("a", "4")
	c.add("off", "4")
	c.add("small", "2")
	c.power("off", false)
	c.power("small", false)
	c.clock = c.clock.Add(time.Hour) // machines that are off don't publish
	c.annotate("a", api.PublishedAnnotation, c.clock.Format(time.RFC3339))
	c.wants(c.pod("moderate", "1", "0.5"), "a.0", "")
	c.wants(c.pod("calm", "1", "0.05"), "a.0", "") // needs no machine
	if c.asked != 0 {
		t.Errorf("others were asked %d times about machines that nobody needs", c.asked)
	}
	fierce := c.pod("fierce", "1", "30")
	c.wants(fierce, "nowhere", "the pod waits for node small, which is off")
	large := c.pod("large", "3", "30")
	c.wants(large, "nowhere", "no memory domain has room; node off is to be switched on")

	c.leave("large") // else node off is for that one
	c.takes = func(pod *v1.Pod, n *v1.Node) bool { return n.Name != "small" }
	c.wants(fierce, "nowhere", "the pod waits for node off, which is off")
	c.takes = func(pod *v1.Pod, n *v1.Node) bool { return n.Name == "a" }
	c.wants(fierce, "a.0", "") // no machine that is off would take it
	c.takes = func(pod *v1.Pod, n *v1.Node) bool { return true }

	c.annotate("off", api.PublishedAnnotation, c.clock.Format(time.RFC3339))
	c.power("off", true)
	c.wants(c.pod("large", "3", "30"), "off.0", "")
}

// The best machine that is off still has a pod, and another plugin does not take it; the next one is no better than what is on.
func TestSecondMachineThatIsOff(t *testing.T) {
	c := newCluster(t)
	c.add("a", "4")
	c.wants(c.pod("moderate", "1", "0.5"), "a.0", "")
	c.add("off", "4")
	c.add("off too", "4")
	c.takes = func(_ *v1.Pod, n *v1.Node) bool { return n.Name == "off" }
	c.wants(c.pod("fierce", "1", "30"), "off.0", "")
	c.power("off", false)
	c.power("off too", false)
	c.wants(c.pod("other", "1", "0.05"), "nowhere", "another plugin; node off is to be switched on") // a is not for it, so Filter is not asked
	c.leave("other")
	c.takes = func(*v1.Pod, *v1.Node) bool { return true }
	c.wants(c.pod("calm", "1", "0.05"), "nowhere", "the pod waits for node off, which is off")
	c.takes = func(_ *v1.Pod, n *v1.Node) bool { return n.Name != "off" }
	c.wants(c.stored["calm"], "a.0", "")
}

// Each pod of a burst is nominated to a machine that has room for it besides those that wait for it already, and goes there
// once it is on.
func TestBurstForMachinesThatAreOff(t *testing.T) {
	c := newCluster(t)
	for _, name := range []string{"a", "b", "c"} {
		c.add(name, "2,2")
		c.power(name, false)
	}
	c.takes = func(pod *v1.Pod, n *v1.Node) bool { return n.Name != "b" || pod.Name != "p1" }
	for n, node := range []string{"a", "a", "b", "b", "c"} {
		pod := c.pod(fmt.Sprintf("p%d", n), "2", "intensive")
		c.wants(pod, "nowhere", "node "+node+" is to be switched on")
		c.wants(pod, "nowhere", "node "+node+" is to be switched on") // tried again, it does not count itself
	}
	c.wants(c.pod("large", "3", "?"), "nowhere", "another plugin")
	if is := c.stored["large"].Status.NominatedNodeName; is != "" {
		t.Errorf("a pod that fits into no domain is nominated to %s", is)
	}
	c.power("b", true)
	c.wants(c.stored["p1"], "nowhere", "node a is to be switched on")
	c.wants(c.stored["p3"], "b.0", "")
	c.wants(c.stored["p2"], "b.1", "")
}

// Other plugins count the pods that wait, too.
func TestBurstThatOthersSpread(t *testing.T) {
	c := newCluster(t)
	for _, name := range []string{"a", "b"} {
		c.add(name, "2,2")
		c.power(name, false)
	}
	c.maxPods = 1
	c.wants(c.pod("p0", "2", "?"), "nowhere", "node a is to be switched on")
	c.wants(c.pod("p1", "2", "?"), "nowhere", "node b is to be switched on")
	c.wants(c.pod("p2", "2", "?"), "nowhere", "another plugin")
	c.wants(c.stored["p0"], "nowhere", "node a is to be switched on")
}

func TestNodesOwnPodsWakeNothing(t *testing.T) {
	c := newCluster(t)
	c.add("off", "2")
	c.power("off", false)
	yes := true
	own := c.pod("own", "1", "?")
	own.OwnerReferences = []metav1.OwnerReference{{Kind: "DaemonSet", Controller: &yes}}
	c.wants(own, "nowhere", "another plugin")
	if is := own.Status.NominatedNodeName; is != "" {
		t.Errorf("is nominated to %s", is)
	}
}

func TestHoldsCountAtOnce(t *testing.T) {
	c := newCluster(t)
	c.add("a", "2")
	first, err1 := c.begin(c.pod("first", "2", "?"))
	second, err2 := c.begin(c.pod("second", "2", "?"))
	if err1 != nil || err2 != nil {
		t.Fatal(err1, err2)
	}
	filter := func() framework.Code {
		return c.gather.Filter(context.Background(), second.state, second.pod, c.snapshot["a"]).Code()
	}
	if err := first.reserve(); err != nil {
		t.Fatal(err)
	}
	if code := filter(); code != framework.Unschedulable {
		t.Errorf("what is held is free: %v", code)
	}
	first.unreserve()
	if code := filter(); code != framework.Success {
		t.Errorf("what is given back is held: %v", code)
	}
}

func TestForget(t *testing.T) {
	c := newCluster(t)
	c.add("a", "2")
	c.lags = true
	c.wants(c.pod("p", "1", "?"), "a.0", "")
	c.gather.forget(cache.DeletedFinalStateUnknown{Obj: c.stored["p"]})
	c.wants(c.pod("q", "1", "?"), "a.0", "")
	again := c.stored["q"].DeepCopy()
	c.gather.replace(c.stored["q"], again)
	if held := len(c.gather.residents.holds); held != 1 {
		t.Errorf("%d holds of one pod that was updated", held)
	}
	again.UID = "another pod of that name"
	c.gather.replace(c.stored["q"], again)
	for _, name := range []string{"b", "c", "d"} {
		c.add(name, "2")
	}
	c.wants(c.pod("large", "3", "?"), "nowhere", "no memory domain has room")
	for _, name := range []string{"b", "c", "d"} {
		delete(c.nodes, name)
	}
	c.wants(c.pod("large", "3", "?"), "nowhere", "no memory domain has room")
	if r := c.gather.residents; len(r.holds)+len(r.unseen) != 0 || len(r.nodes) != 1 {
		t.Errorf("kept: %v, %v, %v", r.holds, r.unseen, r.nodes)
	}
}

func TestIntensityThatIsNone(t *testing.T) {
	c := newCluster(t)
	c.add("a", "4")
	c.add("b", "4")
	c.wants(c.pod("moderate", "1", "0.5"), "a.0", "")
	c.wants(c.pod("p", "1", "low"), "b.0", "")
	c.saysEvent(`Warning IntensityUnknown Counts as intensive: label fleet.lopsided/intensity: "low" is neither`)
}

func TestPlacementsAreCounted(t *testing.T) {
	c := newCluster(t)
	c.add("a", "4,4")
	count := func(place string) (n float64) {
		families, err := legacyregistry.DefaultGatherer.Gather()
		if err != nil {
			t.Fatal(err)
		}
		for _, family := range families {
			for _, metric := range family.Metric {
				if family.GetName() == "lopsided_gather_placements_total" && metric.Label[0].GetValue() == place {
					n = metric.Counter.GetValue()
				}
			}
		}
		return n
	}
	before := [...]float64{count("empty machine"), count("empty domain"), count("no domain")}
	c.wants(c.pod("p", "1", "30"), "a.0", "")
	c.wants(c.pod("q", "1", "30"), "a.1", "")
	c.wants(c.pod("r", "1", "30"), "a.0", "")
	if after := [...]float64{count("empty machine"), count("empty domain"), count("no domain")}; after != [...]float64{before[0] + 1, before[1] + 1, before[2]} {
		t.Errorf("%v, then %v", before, after)
	}
}

// A binding writes annotations, but takes none out.
func TestAnnotationOfBefore(t *testing.T) {
	c := newCluster(t)
	c.add("bare", "")
	p := c.pod("p", "1", "0.5")
	p.Annotations = map[string]string{api.DomainAnnotation: "1"}
	c.wants(p, "bare.", "")
}

func TestBoundByAnother(t *testing.T) {
	c := newCluster(t)
	c.add("a", "4")
	y, err := c.begin(c.pod("p", "1", "0.5"))
	if err == nil {
		err = y.reserve()
	}
	if err != nil {
		t.Fatal(err)
	}
	c.gather.PostBind(context.Background(), y.state, y.pod, y.node)
	c.saysEvent("NoMemoryDomain Runs anywhere on node a: another plugin bound the pod: at bind Gather has to be the first")
}
