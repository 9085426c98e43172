// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	framework "k8s.io/kube-scheduler/framework"

	"lopsided/fleet/api"
	"lopsided/fleet/gather"
)

// offNodes are the nodes that are off and would have room for a pod, best first. Who switched them off switches one on
// once a pod is nominated to it, so where one of them is the best place, the pod stays unschedulable until it is on.
type offNodes struct {
	gather *Gather
	state  framework.CycleState // of the cycle; Filter may be given a copy in which preemption removed pods
	found  []offNode
	once   sync.Once
	first  *offNode // that all other filters take
}

type offNode struct {
	info framework.NodeInfo
	fit  gather.Fit
}

// offNodes counts the pods that wait for each of the nodes as being there, so that a burst of pods has as many machines
// switched on as it needs.
func (g *Gather) offNodes(state framework.CycleState, pod *v1.Pod, a gather.Application, nodes []framework.NodeInfo) *offNodes {
	o := &offNodes{gather: g, state: state}
	for _, info := range nodes {
		if info.Node().Annotations[api.PowerAnnotation] != api.PowerOff {
			continue
		}
		n := g.residents.node(info)
		if waiting := g.waitingFor(n.name, pod); len(waiting) > 0 {
			n = g.residents.with(info, waiting)
		}
		if fit := g.fit(n, a); fit.Fits() {
			o.found = append(o.found, offNode{info, fit})
		}
	}
	slices.SortFunc(o.found, func(a, b offNode) int {
		switch {
		case a.fit.Better(b.fit):
			return -1
		case b.fit.Better(a.fit):
			return 1
		}
		return strings.Compare(a.info.Node().Name, b.info.Node().Name)
	})
	return o
}

// waitingFor are the other pods that PostFilter nominated to the node, the oldest first.
func (g *Gather) waitingFor(node string, pod *v1.Pod) (waiting []*v1.Pod) {
	for _, other := range g.handle.NominatedPodsForNode(node) {
		if is := other.GetPod(); is.UID != pod.UID {
			waiting = append(waiting, is)
		}
	}
	slices.SortFunc(waiting, func(a, b *v1.Pod) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), strings.Compare(string(a.UID), string(b.UID)))
	})
	return waiting
}

// better names the node that is off and is a better place than this one, if there is one.
func (o *offNodes) better(ctx context.Context, pod *v1.Pod, than gather.Fit) string {
	if len(o.found) == 0 || !o.found[0].fit.Better(than) {
		return ""
	}
	o.once.Do(func() {
		for n := range o.found {
			if o.takes(ctx, pod, o.found[n].info) {
				o.first = &o.found[n]
				return
			}
		}
	})
	if o.first == nil || !o.first.fit.Better(than) {
		return ""
	}
	return o.first.info.Node().Name
}

// takes asks the filters of all other plugins whether the node takes the pod once it is on, with the pods that wait for it. They
// are not asked before Filter, since each needs what its own PreFilter found.
func (o *offNodes) takes(ctx context.Context, pod *v1.Pod, info framework.NodeInfo) bool {
	n := info.Node().DeepCopy()
	n.Spec.Unschedulable = false
	n.Spec.Taints = slices.DeleteFunc(n.Spec.Taints, func(t v1.Taint) bool { return strings.HasPrefix(t.Key, "node.kubernetes.io/") })
	on := info.Snapshot()
	on.SetNode(n)
	others := o.state.Clone()
	others.SetSkipFilterPlugins(sets.New(Name).Union(others.GetSkipFilterPlugins()))
	// Filter is cancelled once enough nodes are found; what is found here is for all of them.
	return o.gather.handle.RunFilterPluginsWithNominatedPods(context.WithoutCancel(ctx), others, pod, on).IsSuccess()
}
