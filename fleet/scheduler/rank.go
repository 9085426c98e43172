// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"cmp"
	"context"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	framework "k8s.io/kube-scheduler/framework"

	"lopsided/fleet/gather"
)

// place is a node with usable domains, on or off, and how well a pod fits into the best of these. Who switched a node off switches it on
// once a pod is nominated to it, so where one of them is the best place, the pod stays unschedulable until it is on.
type place struct {
	info framework.NodeInfo
	*node
	fit gather.Fit
}

// preFilters is what the Handle of kube-scheduler can do besides. Filters of other plugins need what their PreFilter finds, and which of them have nothing to
// filter is known only after all of these: too late to leave a node out of the cycle.
type preFilters interface {
	RunPreFilterPlugins(ctx context.Context, state framework.CycleState, pod *v1.Pod) (*framework.PreFilterResult, *framework.Status, sets.Set[string])
}

// best is the best place that all filters take, of equals the first by name; nil if there is none. Most often one of the best is taken, so
// the others are put in order only where none is. The state and the list of nodes are changed. Errors are those of other plugins.
func (g *Gather) best(ctx context.Context, state framework.CycleState, pod *v1.Pod, a gather.Application, nodes []*node, infos []framework.NodeInfo) (*place, error) {
	fits := g.fits(pod, a, nodes, infos)
	equals := gather.Best(fits)
	if len(equals) == 0 {
		return nil, nil
	}
	state.Write(Name, &arrival{application: a, ranked: true})
	only, status, _ := g.preFilters.RunPreFilterPlugins(ctx, state, pod)
	if status.IsRejected() { // so the pod is in this cycle, too
		return nil, nil
	} else if !status.IsSuccess() {
		return nil, status.AsError()
	}
	first := func(a, b uint32) int { return strings.Compare(nodes[a].name, nodes[b].name) }
	better := func(a, b uint32) int {
		switch {
		case fits[a].Better(fits[b]):
			return -1
		case fits[b].Better(fits[a]):
			return 1
		}
		return first(a, b)
	}
	slices.SortFunc(equals, first)
	for ; len(equals) > 0; equals = others(fits, better) {
		for _, n := range equals {
			p := &place{info: infos[n], node: nodes[n], fit: fits[n]}
			fits[n] = gather.Fit{}
			if !only.AllNodes() && !only.NodeNames.Has(p.name) {
				continue
			}
			if status := g.takes(ctx, state, pod, p); status.IsSuccess() {
				return p, nil
			} else if !status.IsRejected() {
				return nil, status.AsError()
			}
		}
	}
	return nil, nil
}

// others are the nodes that are left, in order.
func others(fits []gather.Fit, order func(a, b uint32) int) (left []uint32) {
	for n, fit := range fits {
		if fit.Fits() {
			left = append(left, uint32(n))
		}
	}
	slices.SortFunc(left, order)
	return left
}

// nowhere has no domain, so nothing fits.
var nowhere = gather.NewMachine()

// fits says how well the pod fits into each node. It counts the pods that wait for each node that is off as being there, so that a burst of
// pods has as many machines switched on as it needs.
func (g *Gather) fits(pod *v1.Pod, a gather.Application, nodes []*node, infos []framework.NodeInfo) []gather.Fit {
	machines := make([]*gather.Machine, len(nodes))
	now := g.now()
	for i, n := range nodes {
		if n.off {
			if waiting := g.waitingFor(n.name, pod); len(waiting) > 0 {
				n = g.residents.with(infos[i], waiting)
			}
		}
		nodes[i], machines[i] = n, n.machine
		if n.unusable(now, g.staleAfter) != "" {
			machines[i] = nowhere
		}
	}
	return gather.Fits(machines, a)
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
func (g *Gather) takes(ctx context.Context, state framework.CycleState, pod *v1.Pod, p *place) *framework.Status {
	asked := p.info
	if p.off {
		n := p.info.Node().DeepCopy()
		n.Spec.Unschedulable = false
		n.Spec.Taints = slices.DeleteFunc(n.Spec.Taints, func(t v1.Taint) bool { return strings.HasPrefix(t.Key, "node.kubernetes.io/") })
		asked = p.info.Snapshot()
		asked.SetNode(n)
		state = state.Clone()
		state.SetSkipFilterPlugins(sets.New(Name).Union(state.GetSkipFilterPlugins()))
	}
	return g.handle.RunFilterPluginsWithNominatedPods(ctx, state, pod, asked)
}
