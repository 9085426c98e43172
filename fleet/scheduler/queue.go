// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"context"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	framework "k8s.io/kube-scheduler/framework"
)

// EventsToRegister are those after which a pod that this plugin rejected is tried again.
func (g *Gather) EventsToRegister(context.Context) ([]framework.ClusterEventWithHint, error) {
	return []framework.ClusterEventWithHint{
		{Event: framework.ClusterEvent{Resource: framework.Pod, ActionType: framework.Delete | framework.UpdatePodLabel | framework.UpdatePodScaleDown}},
		{
			Event: framework.ClusterEvent{Resource: framework.Node, ActionType: framework.Add | framework.Delete | framework.UpdateNodeAnnotation |
				framework.UpdateNodeTaint | framework.UpdateNodeLabel | framework.UpdateNodeAllocatable},
			QueueingHintFn: g.nodeChanged,
		},
	}, nil
}

// nodeChanged ignores that a node publishes the same again in time, as each does all the while. Pods wait for a node that is off
// only while all other plugins' filters take it, so whatever changes on that one counts.
func (g *Gather) nodeChanged(_ klog.Logger, _ *v1.Pod, before, after any) (framework.QueueingHint, error) {
	was, existed := before.(*v1.Node)
	is, exists := after.(*v1.Node)
	if !existed {
		return framework.Queue, nil // a new node
	}
	b := read(was)
	if b.off {
		return framework.Queue, nil
	}
	if !exists {
		return framework.QueueSkip, nil
	}
	a := read(is)
	if !a.off && slices.Equal(b.capacity, a.capacity) && a.at.Sub(b.at) <= g.staleAfter {
		return framework.QueueSkip, nil
	}
	return framework.Queue, nil
}
