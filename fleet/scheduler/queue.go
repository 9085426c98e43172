// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"context"
	"fmt"
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
			Event:          framework.ClusterEvent{Resource: framework.Node, ActionType: framework.Add | framework.UpdateNodeAnnotation},
			QueueingHintFn: g.nodeChanged,
		},
	}, nil
}

// nodeChanged ignores that a node publishes the same again in time, as each does all the while.
func (g *Gather) nodeChanged(_ klog.Logger, _ *v1.Pod, before, after any) (framework.QueueingHint, error) {
	is, ok := after.(*v1.Node)
	if !ok {
		return framework.Queue, fmt.Errorf("a %T, not a node", after)
	}
	was, ok := before.(*v1.Node)
	if !ok {
		return framework.Queue, nil // a new node
	}
	b, a := read(was), read(is)
	if b.off == a.off && slices.Equal(b.capacity, a.capacity) && a.at.Sub(b.at) <= g.staleAfter {
		return framework.QueueSkip, nil
	}
	return framework.Queue, nil
}
