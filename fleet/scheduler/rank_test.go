// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"context"
	"slices"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
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

// A pod for which preemption makes room counts there before it is bound.
func TestRoomThatIsPromised(t *testing.T) {
	c := newCluster(t)
	c.add("a", "2")
	c.add("b", "2")
	promised := c.pod("promised", "1", "0.05")
	promised.Status.NominatedNodeName = "a"
	c.wants(c.pod("p", "2", "0.05"), "b.0", "")
}
