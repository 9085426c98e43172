// SPDX-License-Identifier: Apache-2.0

package power

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"lopsided/fleet/api"
)

var noon = time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)

// some is a configuration for nodes whose names begin with m.
func some(t testing.TB, more string) *Config {
	c, err := parse([]byte("machines: [{nodes: 'm*', off: {command: [off, '{node}']}, on: {command: [on, '{node}']}}]\n" + more))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// aNode is ready, has just published, and has been in the state for so long. Nodes that are off have not published since.
func aNode(name string, s state, since time.Duration) *v1.Node {
	n := &v1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), Annotations: map[string]string{api.PublishedAnnotation: noon.Format(time.RFC3339)}},
		Status:     v1.NodeStatus{Conditions: []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionTrue}}},
	}
	annotate(n, record{State: s, Since: noon.Add(-since)})
	if s == off || s == switchingOn || s == failed {
		n.Annotations[api.PublishedAnnotation] = noon.Add(-since - time.Second).Format(time.RFC3339)
		n.Status.Conditions[0].Status = v1.ConditionUnknown
	}
	if s.isOff() {
		n.Annotations[api.PowerAnnotation] = api.PowerOff
	}
	n.Spec.Unschedulable = s.isOff() || s == failed
	return n
}

func annotate(n *v1.Node, r record) {
	text, err := json.Marshal(r)
	if err != nil {
		panic(err)
	}
	n.Annotations[StateAnnotation] = string(text)
}

// aPod is bound to a node.
func aPod(name, node string) *v1.Pod {
	return &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", UID: types.UID(name)}, Spec: v1.PodSpec{NodeName: node}}
}

func nominated(name, node string) *v1.Pod {
	pod := aPod(name, "")
	pod.Status.NominatedNodeName = node
	return pod
}

func (a action) String() string {
	switch {
	case a.problem != nil:
		return a.node.Name + " problem"
	case a.ask:
		return a.node.Name + " asks"
	}
	return a.node.Name + " " + string(a.to.State)
}

func TestDecide(t *testing.T) {
	with := func(n *v1.Node, changes ...func(*v1.Node)) *v1.Node {
		for _, change := range changes {
			change(n)
		}
		return n
	}
	ready := func(n *v1.Node) { n.Status.Conditions[0].Status = v1.ConditionTrue }
	unready := func(n *v1.Node) { n.Status.Conditions[0].Status = v1.ConditionUnknown }
	published := func(ago time.Duration) func(*v1.Node) {
		return func(n *v1.Node) { n.Annotations[api.PublishedAnnotation] = noon.Add(-ago).Format(time.RFC3339) }
	}
	uncordoned := func(n *v1.Node) { n.Spec.Unschedulable = false }
	yes := true
	owned := func(kind string) *v1.Pod {
		pod := aPod(kind, "m1")
		pod.OwnerReferences = []metav1.OwnerReference{{Kind: kind, Controller: &yes}}
		return pod
	}
	ended := aPod("ended", "m1")
	ended.Status.Phase = v1.PodSucceeded
	const minute = time.Minute
	for _, test := range []struct {
		why    string
		config string
		nodes  []*v1.Node
		pods   []*v1.Pod
		wants  string
	}{
		{"idle is noted", "", []*v1.Node{aNode("m1", on, minute), aNode("m2", on, minute)}, []*v1.Pod{aPod("p", "m2")}, "m1 idle"},
		{"also with pods that do not count", "", []*v1.Node{aNode("m1", on, minute)}, []*v1.Pod{owned("DaemonSet"), owned("Node"), ended}, "m1 idle"},
		{"a job's pod counts", "", []*v1.Node{aNode("m1", on, minute)}, []*v1.Pod{owned("Job")}, ""},
		{"a pod that is to come counts", "", []*v1.Node{aNode("m1", on, minute)}, []*v1.Pod{nominated("p", "m1")}, ""},
		{"no more", "", []*v1.Node{aNode("m1", idle, minute)}, []*v1.Pod{aPod("p", "m1")}, "m1 on"},
		{"not ready", "", []*v1.Node{with(aNode("m1", on, minute), unready), with(aNode("m2", idle, minute), unready)}, nil, "m2 on"},
		{"somebody's cordon", "", []*v1.Node{with(aNode("m1", idle, 9*minute), func(n *v1.Node) { n.Spec.Unschedulable = true })}, nil, "m1 on"},
		{"publishes nothing", "", []*v1.Node{with(aNode("m1", on, minute), published(5*minute+time.Second)), with(aNode("m2", on, minute), published(5*minute))}, nil, "m2 idle"},
		{"not a machine of ours", "", []*v1.Node{aNode("x", on, minute)}, nil, ""},
		{"no machine of ours any more", "", []*v1.Node{aNode("x", off, minute)}, nil, "x problem"},
		{"an annotation that says nothing", "", []*v1.Node{with(aNode("m1", on, 0), func(n *v1.Node) { n.Annotations[StateAnnotation] = "off" })}, nil, "m1 problem"},
		{"long enough", "minOn: 0", []*v1.Node{aNode("m1", idle, 5*minute), aNode("m2", idle, 5*minute-time.Second)}, nil, "m1 cordoned"},
		{"the minimum stays on, and the longest idle goes first", "", []*v1.Node{aNode("m1", idle, 6*minute), aNode("m2", idle, 7*minute), aNode("m3", idle, 8*minute)}, nil, "m3 cordoned, m2 cordoned"},
		{"those that are not ready do not count for it", "", []*v1.Node{aNode("m1", idle, 6*minute), with(aNode("m2", on, 0), unready)}, nil, ""},
		{"nor the control plane", "", []*v1.Node{aNode("m1", idle, 6*minute), with(aNode("m2", on, 0), func(n *v1.Node) {
			n.Labels = map[string]string{"node-role.kubernetes.io/control-plane": ""}
		})}, nil, ""},
		{"nor machines of others", "", []*v1.Node{aNode("m1", idle, 6*minute), aNode("x", on, 0)}, nil, ""},
		{"the rate limit", "maxSwitches: 2", []*v1.Node{aNode("m1", on, 0), aNode("m2", idle, 6*minute), aNode("m3", idle, 6*minute), aNode("m4", idle, 6*minute)}, []*v1.Pod{aPod("p", "m1")},
			"m2 cordoned, m3 cordoned"},
		{"cordoned ones count for it", "maxSwitches: 1", []*v1.Node{aNode("m1", cordoned, 0), aNode("m2", idle, 6*minute), aNode("m3", on, 6*minute)}, []*v1.Pod{aPod("p", "m3")}, ""},
		{"those ordered long ago do not", "maxSwitches: 1", []*v1.Node{aNode("m1", idle, 6*minute), aNode("m2", on, 0), with(aNode("m3", off, minute), func(n *v1.Node) {
			annotate(n, record{State: off, Since: noon.Add(-minute), OrderedOff: noon.Add(-5 * minute)})
		})}, []*v1.Pod{aPod("p", "m2")}, "m1 cordoned"},
		{"one within the time does", "maxSwitches: 1", []*v1.Node{aNode("m1", cordoned, minute), aNode("m2", on, 0), with(aNode("m3", off, minute), func(n *v1.Node) {
			annotate(n, record{State: off, Since: noon.Add(-minute), OrderedOff: noon.Add(-5*minute + time.Second)})
		})}, []*v1.Pod{aPod("p", "m2")}, ""},
		{"settles", "minOn: 0", []*v1.Node{aNode("m1", cordoned, 29*time.Second), aNode("m2", cordoned, 30*time.Second)}, nil, "m2 switching-off"},
		{"a pod was bound meanwhile", "minOn: 0", []*v1.Node{aNode("m1", cordoned, minute)}, []*v1.Pod{aPod("p", "m1")}, "m1 on"},
		{"somebody uncordons it", "minOn: 0", []*v1.Node{with(aNode("m1", cordoned, 0), uncordoned), with(aNode("m2", off, 2*minute), uncordoned)}, nil, "m1 on, m2 switching-on"},
		{"asks until it is off", "minOn: 0", []*v1.Node{aNode("m1", switchingOff, minute), with(aNode("m2", switchingOff, minute), unready)}, nil, "m1 asks, m2 off"},
		{"does not ask any more", "minOn: 0", []*v1.Node{aNode("m1", switchingOff, minute)}, []*v1.Pod{nominated("p", "m1")}, "m1 off"},
		{"off stays off", "minOn: 0", []*v1.Node{aNode("m1", off, time.Hour)}, nil, ""},
		{"off, and runs", "minOn: 0", []*v1.Node{
			with(aNode("m1", off, 4*minute), ready, published(2*minute)), with(aNode("m2", off, 4*minute), ready, published(2*minute+time.Second)),
			with(aNode("m3", off, 2*minute-time.Second), ready, published(-minute)), with(aNode("m4", off, 4*minute), published(0)),
			with(aNode("m5", off, 4*minute), ready, published(0), uncordoned), with(aNode("m6", off, -time.Hour), ready, published(0)),
		}, nil, "m1 on, m5 on"},
		{"long enough off", "minOn: 0", []*v1.Node{aNode("m1", off, 2*minute), aNode("m2", off, 2*minute-time.Second)}, []*v1.Pod{nominated("p", "m1"), nominated("q", "m2")}, "m1 switching-on"},
		{"the rate limit of waking", "minOn: 0\nmaxSwitches: 1", []*v1.Node{aNode("m1", off, time.Hour), aNode("m2", off, time.Hour)}, []*v1.Pod{nominated("p", "m1"), nominated("q", "m2")}, "m1 switching-on"},
		{"below the minimum, cordoned ones first", "minOn: 2", []*v1.Node{aNode("m1", off, time.Hour), aNode("m2", off, time.Hour), aNode("m3", cordoned, 0)}, nil, "m1 switching-on, m3 on"},
		{"those that come count for the minimum", "minOn: 2", []*v1.Node{aNode("m1", off, time.Hour), aNode("m2", off, time.Hour), aNode("m3", switchingOn, 0)}, []*v1.Pod{nominated("p", "m2")},
			"m2 switching-on, m3 asks"},
		{"comes back", "", []*v1.Node{with(aNode("m1", switchingOn, minute), published(30*time.Second), ready)}, nil, "m1 on"},
		{"has published, and is not ready", "", []*v1.Node{with(aNode("m1", switchingOn, minute), published(30*time.Second))}, nil, "m1 asks"},
		{"is said to be ready as before", "", []*v1.Node{with(aNode("m1", switchingOn, minute), ready)}, nil, "m1 asks"},
		{"does not come back", "", []*v1.Node{aNode("m1", switchingOn, 15*minute), aNode("m2", failed, time.Hour)}, nil, "m1 failed"},
		{"comes back late", "", []*v1.Node{with(aNode("m1", failed, time.Hour), published(0), ready)}, nil, "m1 on"},
		{"the clock was a bit ahead", "minOn: 0", []*v1.Node{aNode("m1", idle, -4*minute), aNode("m2", cordoned, -4*minute), aNode("m3", off, -4*minute)}, []*v1.Pod{nominated("p", "m3")}, ""},
		{"the clock was far ahead", "minOn: 0", []*v1.Node{aNode("m1", idle, -time.Hour), aNode("m2", cordoned, -time.Hour), aNode("m3", off, -time.Hour), aNode("m4", switchingOn, -time.Hour)},
			[]*v1.Pod{nominated("p", "m3")}, "m2 switching-off, m3 switching-on, m4 failed, m1 cordoned"},
		{"also when it was given up", "", []*v1.Node{with(aNode("m1", failed, -time.Hour), published(0), ready)}, nil, "m1 on"},
		{"also when others were switched", "maxSwitches: 1", []*v1.Node{aNode("m1", idle, 6*minute), aNode("m2", on, 0), with(aNode("m3", off, minute), func(n *v1.Node) {
			annotate(n, record{State: off, Since: noon.Add(-minute), OrderedOff: noon.Add(time.Hour)})
		})}, []*v1.Pod{aPod("p", "m2")}, "m1 cordoned"},
		{"the controller's own", "minOn: 0", []*v1.Node{aNode("m-self", on, minute), aNode("m1", on, minute)}, nil, "m1 idle"},
		{"the controller's own is switched on", "minOn: 0", []*v1.Node{aNode("m-self", off, time.Hour)}, nil, "m-self switching-on"},
		{"a driver is at work", "minOn: 0", []*v1.Node{aNode("m-busy", switchingOff, minute)}, []*v1.Pod{aPod("p", "m-busy")}, ""},
	} {
		is := cluster{nodes: test.nodes, pods: test.pods, busy: sets.New("m-busy"), self: "m-self"}
		var said []string
		for _, a := range some(t, test.config).decide(is, noon) {
			said = append(said, a.String())
		}
		if got := strings.Join(said, ", "); got != test.wants {
			t.Errorf("%s: %q, not %q", test.why, got, test.wants)
		}
	}
}

func TestLocalVolumesKeepTheirNodeOn(t *testing.T) {
	volume := func(phase v1.PersistentVolumePhase, hosts ...string) *v1.PersistentVolume {
		on := &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{MatchExpressions: []v1.NodeSelectorRequirement{
			{Key: "host", Operator: v1.NodeSelectorOpIn, Values: hosts},
		}}}}
		return &v1.PersistentVolume{Spec: v1.PersistentVolumeSpec{NodeAffinity: &v1.VolumeNodeAffinity{Required: on}}, Status: v1.PersistentVolumeStatus{Phase: phase}}
	}
	for _, test := range []struct {
		why    string
		volume *v1.PersistentVolume
		goes   bool
	}{
		{"bound, here only", volume(v1.VolumeBound, "m1"), false},
		{"bound, here and elsewhere", volume(v1.VolumeBound, "m1", "m2"), true},
		{"bound, elsewhere", volume(v1.VolumeBound, "m2"), true},
		{"not bound", volume(v1.VolumeAvailable, "m1"), true},
		{"bound, of the network", &v1.PersistentVolume{Status: v1.PersistentVolumeStatus{Phase: v1.VolumeBound}}, true},
	} {
		is := cluster{nodes: []*v1.Node{aNode("m1", idle, time.Hour), aNode("m2", on, time.Hour)}, pods: []*v1.Pod{aPod("p", "m2")}, volumes: []*v1.PersistentVolume{test.volume}}
		for _, n := range is.nodes {
			n.Labels = map[string]string{"host": n.Name}
		}
		goes := slices.ContainsFunc(some(t, "").decide(is, noon), func(a action) bool { return a.to.State == cordoned })
		if goes != test.goes {
			t.Errorf("%s: %v", test.why, goes)
		}
	}
}

func TestRecords(t *testing.T) {
	for _, wrong := range []string{``, `off`, `{}`, `{"state":"off"}`, `{"state":"gone","since":"2026-11-01T12:00:00Z"}`, `{"state":"off","since":"noon"}`, `{"state":"off","since":"2026-11-01T12:00:00Z","x":1}`} {
		n := &v1.Node{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{StateAnnotation: wrong}}}
		if r, err := read(n); err == nil || !strings.Contains(err.Error(), "remove the annotation") {
			t.Errorf("%s: %+v, %v", wrong, r, err)
		}
	}
	if r, err := read(&v1.Node{}); r != (record{State: on}) || err != nil {
		t.Errorf("no annotation: %+v, %v", r, err)
	}
	n := aNode("m1", on, 0)
	r := record{State: on}
	for s, want := range map[state]string{switchingOff: "off", switchingOn: "on", cordoned: ""} {
		next := r.to(s, noon.Add(time.Millisecond))
		annotate(n, *next)
		again, err := read(n)
		ordered := fmt.Sprint(map[bool]string{true: "off"}[again.OrderedOff.Equal(noon)], map[bool]string{true: "on"}[again.OrderedOn.Equal(noon)])
		if err != nil || again != *next || ordered != want || !again.Since.Equal(noon) {
			t.Errorf("%s: %+v, %v", s, again, err)
		}
	}
}
