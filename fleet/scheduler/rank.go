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

	"lopsided/fleet/gather"
)

// ranking is how well a pod fits into the nodes with usable domains, on or off. Who switched a node off switches it on
// once a pod is nominated to it, so where one of them is the best place, the pod stays unschedulable until it is on.
type ranking struct {
	gather *Gather
	state  framework.CycleState // of the cycle; Filter may be given a copy in which preemption removed pods
	places []place
	fits   []gather.Fit // of each place; of one that others refused: not at all
	once   sync.Once
	found  *place
	fit    gather.Fit // of what was found
}

type place struct {
	info framework.NodeInfo
	*node
}

// rank counts the pods that wait for each node that is off as being there, so that a burst of pods has as many machines
// switched on as it needs.
func (g *Gather) rank(state framework.CycleState, pod *v1.Pod, a gather.Application, nodes []framework.NodeInfo) *ranking {
	r := &ranking{gather: g, state: state, places: make([]place, 0, len(nodes))}
	machines := make([]*gather.Machine, 0, len(nodes))
	now := g.now()
	for _, info := range nodes {
		n := g.residents.node(info)
		if n.off {
			if waiting := g.waitingFor(n.name, pod); len(waiting) > 0 {
				n = g.residents.with(info, waiting)
			}
		}
		if n.unusable(now, g.staleAfter) == "" {
			r.places = append(r.places, place{info, n})
			machines = append(machines, n.machine)
		}
	}
	r.fits = gather.Fits(machines, a)
	return r
}

// best is the best place that all others take, of equals the first by name; nil if there is none. Other filters are not asked before
// Filter, since each needs what its own PreFilter found. Most often the first is taken, so the places are not put in order.
func (r *ranking) best(ctx context.Context, pod *v1.Pod) *place {
	if r == nil {
		return nil
	}
	r.once.Do(func() {
		for equals := gather.Best(r.fits); len(equals) > 0; equals = gather.Best(r.fits) {
			slices.SortFunc(equals, func(a, b uint32) int { return strings.Compare(r.places[a].name, r.places[b].name) })
			for _, n := range equals {
				if r.takes(ctx, pod, r.places[n]) {
					r.found, r.fit = &r.places[n], r.fits[n]
					return
				}
				r.fits[n] = gather.Fit{}
			}
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
