// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"context"
	"errors"
	"slices"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	framework "k8s.io/kube-scheduler/framework"
)

// Other plugins are asked about nodes from the best on, until one takes the pod. That one alone is left, and passes where kube-scheduler asks about others, too.
func TestOnlyTheBestPasses(t *testing.T) {
	c := newCluster(t)
	for _, name := range []string{"d", "b", "a", "c", "small"} {
		c.add(name, map[bool]string{true: "1", false: "4"}[name == "small"])
	}
	c.add("bare", "")
	var asked []string
	c.takes = func(_ *v1.Pod, n *v1.Node) bool {
		asked = append(asked, n.Name)
		return n.Name != "a"
	}
	c.takeSnapshot()
	pod, state := c.pod("p", "2", "0.5"), newState()
	only, status, _ := c.RunPreFilterPlugins(context.Background(), state, pod)
	if !status.IsSuccess() || !only.NodeNames.Equal(sets.New("b")) || !slices.Equal(asked, []string{"a", "b"}) {
		t.Fatalf("%v: %v are left, and others were asked about %q", status, only, asked)
	}
	var passed []string
	for _, n := range c.infos {
		if c.gather.Filter(context.Background(), state, pod, n).IsSuccess() {
			passed = append(passed, n.Node().Name)
		}
	}
	if !slices.Equal(passed, []string{"b"}) {
		t.Errorf("%q pass", passed)
	}
}

// Where others take none of the best, each node is asked about once: better ones first, of equals the first by name.
func TestOthersTakeNone(t *testing.T) {
	c := newCluster(t)
	for name, domains := range map[string]string{"g": "4", "f": "8", "e": "6", "d": "4", "c": "8", "b": "6", "a": "8", "small": "1"} {
		c.add(name, domains)
	}
	c.wants(c.pod("there", "2", "0.05"), "d.0", "")
	var asked []string
	c.takes = func(_ *v1.Pod, n *v1.Node) bool {
		asked = append(asked, n.Name)
		return false
	}
	c.takeSnapshot()
	only, status := c.gather.PreFilter(context.Background(), newState(), c.pod("p", "2", "0.05"), c.infos)
	if !status.IsSuccess() || !only.AllNodes() || !slices.Equal(asked, []string{"d", "g", "b", "e", "a", "c", "f"}) {
		t.Errorf("%v: %v are left, and others were asked about %q", status, only, asked)
	}
}

// Where another plugin can't tell, the cycle ends with its error. Where it rejects the pod it does so in the cycle, too, which then says why.
func TestAnotherPluginsPreFilter(t *testing.T) {
	for _, test := range []struct{ says, wants *framework.Status }{
		{framework.AsStatus(errors.New("no answer")), framework.AsStatus(errors.New("no answer"))},
		{framework.NewStatus(framework.Unschedulable, "not now"), nil},
		{framework.NewStatus(framework.UnschedulableAndUnresolvable, "never"), nil},
	} {
		c := newCluster(t)
		c.add("a", "4")
		c.takeSnapshot()
		c.fails = test.says
		only, status := c.gather.PreFilter(context.Background(), newState(), c.pod("p", "2", "0.05"), c.infos)
		if status.Code() != test.wants.Code() || status.Message() != test.wants.Message() || !only.AllNodes() {
			t.Errorf("%v: %v, and %v are left", test.says, status, only)
		}
	}
}

// A pod for which preemption makes room counts there before it is bound.
func TestRoomThatIsPromised(t *testing.T) {
	c := newCluster(t)
	c.add("a", "2")
	c.add("b", "2")
	promised := c.pod("promised", "1", "0.05")
	promised.Status.NominatedNodeName = "a"
	c.wants(c.pod("p", "2", "0.05"), "b.0", "")
}
