// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	framework "k8s.io/kube-scheduler/framework"

	"lopsided/fleet/api"
	"lopsided/fleet/gather"
)

// hold is a place that the scheduler has given a pod. It lasts as long as the pod, since nobody can tell when the last
// copy of the pod without its annotation is gone.
type hold struct {
	node        string
	domain      int // negative: none
	application gather.Application
	fit         gather.Fit
	why         string // why there is no domain
	written     bool   // Bind was asked, and the API server has it
}

// residents knows the domains of pods: from holds, and of those without one from their annotations.
// Any number of goroutines may use it.
type residents struct {
	profiles *profiles

	mutex  sync.Mutex
	holds  map[types.UID]*hold
	unseen map[types.UID]*hold // those given since the snapshot was taken, which does not show their pods
	nodes  map[string]made
}

// made is a node as it was made from one generation of its NodeInfo. No two contents share a generation, copies that
// were changed included, but for one case: while a pod group is tried pods come and go in the snapshot without a new one. Reserve
// or Unreserve comes with each of these, and each drops what was made.
type made struct {
	generation int64
	node       *node
}

func newResidents(profiles *profiles) *residents {
	return &residents{profiles: profiles, holds: map[types.UID]*hold{}, unseen: map[types.UID]*hold{}, nodes: map[string]made{}}
}

// begin notes that a cycle begins, and gives the nodes. A pod is noted in kube-scheduler's cache before Reserve and the snapshot is taken from there
// before PreFilter, so it shows all pods that have a hold. What is removed from a copy of it from then on is not there: preemption
// asks so. The members of a pod group are tried in the snapshot itself, which shows those before; when the group is reserved
// no cycle begins in between, and the snapshot shows none.
func (r *residents) begin(infos []framework.NodeInfo) []*node {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	clear(r.unseen)
	if len(r.nodes) > len(infos) { // some are gone
		clear(r.nodes)
	}
	nodes := make([]*node, len(infos))
	for n, info := range infos {
		nodes[n] = r.made(info)
	}
	return nodes
}

// profilesChanged drops what was made of nodes.
func (r *residents) profilesChanged() {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	clear(r.nodes)
}

// node is what a NodeInfo shows, and the pods that were given a hold there since.
func (r *residents) node(info framework.NodeInfo) *node {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return r.made(info)
}

func (r *residents) made(info framework.NodeInfo) *node {
	name := info.Node().Name
	if m, found := r.nodes[name]; found && m.generation == info.GetGeneration() {
		return m.node
	}
	n := newNode(info.Node(), r.on(info, ""))
	r.nodes[name] = made{info.GetGeneration(), n}
	return n
}

// without is the same without one pod.
func (r *residents) without(info framework.NodeInfo, pod types.UID) *node {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return newNode(info.Node(), r.on(info, pod))
}

// with is the same with pods that are yet to come.
func (r *residents) with(info framework.NodeInfo, pods []*v1.Pod) *node {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	there := r.on(info, "")
	for _, pod := range pods {
		there = append(there, resident{application: application(pod, r.profiles), domain: -1, nominated: true})
	}
	return newNode(info.Node(), there)
}

func (r *residents) on(info framework.NodeInfo, except types.UID) (there []resident) {
	name := info.Node().Name
	for _, i := range info.GetPods() {
		pod := i.GetPod()
		if pod.UID == except || api.IsNodesOwn(pod) {
			continue
		}
		is := resident{application: application(pod, r.profiles), domain: annotatedDomain(pod)}
		if h := r.holds[pod.UID]; h != nil {
			is.domain = h.domain
		} else if pod.Spec.NodeName == "" { // an annotation is of an earlier try
			is.domain, is.nominated = -1, true
		}
		there = append(there, is)
	}
	for uid, h := range r.unseen {
		if h.node == name && uid != except {
			there = append(there, resident{application: h.application, domain: h.domain})
		}
	}
	return there
}

func (r *residents) hold(pod types.UID, h *hold) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.holds[pod], r.unseen[pod] = h, h
	delete(r.nodes, h.node)
}

// held is nil if the pod has no hold.
func (r *residents) held(pod types.UID) *hold {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return r.holds[pod]
}

func (r *residents) release(pod types.UID) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if h := r.holds[pod]; h != nil {
		delete(r.holds, pod)
		delete(r.unseen, pod)
		delete(r.nodes, h.node)
	}
}
