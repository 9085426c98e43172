// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"cmp"
	"container/heap"
	"context"
	"slices"
	"strings"
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	framework "k8s.io/kube-scheduler/framework"

	"lopsided/fleet/gather"
)

// ranking is how well a pod fits into the nodes whose domains have room for it, on or off. Who switched a node off switches it on
// once a pod is nominated to it, so where one of them is the best place, the pod stays unschedulable until it is on.
type ranking struct {
	gather *Gather
	state  framework.CycleState // of the cycle; Filter may be given a copy in which preemption removed pods
	left   ranked               // a heap, those that others refused taken out
	once   sync.Once
	found  *place
}

type place struct {
	info framework.NodeInfo
	name string
	off  bool
	fit  gather.Fit
}

// ranked has the best first, of equals the first by name, whatever order the nodes come in.
type ranked []place

func (r ranked) Len() int      { return len(r) }
func (r ranked) Swap(a, b int) { r[a], r[b] = r[b], r[a] }
func (r ranked) Less(a, b int) bool {
	return r[a].fit.Better(r[b].fit) || r[a].name < r[b].name && !r[b].fit.Better(r[a].fit)
}
func (r *ranked) Push(any) {} // for heap.Interface; nothing is added
func (r *ranked) Pop() any {
	last := len(*r) - 1
	*r = (*r)[:last]
	return nil
}

// rank counts the pods that wait for each node that is off as being there, so that a burst of pods has as many machines
// switched on as it needs.
func (g *Gather) rank(state framework.CycleState, pod *v1.Pod, a gather.Application, nodes []framework.NodeInfo) *ranking {
	r := &ranking{gather: g, state: state}
	for _, info := range nodes {
		n := g.residents.node(info)
		if n.off {
			if waiting := g.waitingFor(n.name, pod); len(waiting) > 0 {
				n = g.residents.with(info, waiting)
			}
		}
		if fit := g.fit(n, a); fit.Fits() {
			r.left = append(r.left, place{info, n.name, n.off, fit})
		}
	}
	heap.Init(&r.left)
	return r
}

// best is the best place that all others take; nil if there is none. Other filters are not asked before Filter, since each needs
// what its own PreFilter found.
func (r *ranking) best(ctx context.Context, pod *v1.Pod) *place {
	if r == nil {
		return nil
	}
	r.once.Do(func() {
		for len(r.left) > 0 {
			if r.takes(ctx, pod, r.left[0]) {
				r.found = &r.left[0]
				return
			}
			heap.Pop(&r.left)
		}
	})
	return r.found
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

// takes asks the filters whether the node takes the pod: of one that is off those of all other plugins, once it is on, with the pods that
// wait for it.
func (r *ranking) takes(ctx context.Context, pod *v1.Pod, p place) bool {
	asked, state := p.info, r.state.Clone()
	if p.off {
		n := p.info.Node().DeepCopy()
		n.Spec.Unschedulable = false
		n.Spec.Taints = slices.DeleteFunc(n.Spec.Taints, func(t v1.Taint) bool { return strings.HasPrefix(t.Key, "node.kubernetes.io/") })
		asked = p.info.Snapshot()
		asked.SetNode(n)
		state.SetSkipFilterPlugins(sets.New(Name).Union(state.GetSkipFilterPlugins()))
	} else if a, err := r.gather.arrivalOf(state); err == nil {
		state.Write(Name, &arrival{application: a.application})
	}
	// Filter is cancelled once enough nodes are found; what is found here is for all of them.
	return r.gather.handle.RunFilterPluginsWithNominatedPods(context.WithoutCancel(ctx), state, pod, asked).IsSuccess()
}
