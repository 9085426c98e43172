// SPDX-License-Identifier: Apache-2.0

// Package node is the agent of a node: it publishes the node's memory domains, has pods confined to those that the scheduler chose, and measures how intensively they use memory.
//
// What it knows of the machine, and does to it, is `lop agent --node`, which it starts: so domains are read by the same code as in the rest of Lopsided.
package node

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"

	"lopsided/fleet/api"
)

const (
	// publishEvery is often enough for a scheduler that takes figures of five minutes ago for old.
	publishEvery = time.Minute
	// requestsWithin is how long the requests to the API server may take after each look, so that the next look is not late.
	requestsWithin = 10 * time.Second
)

// agent looks at the pods of its node again and again; it remembers nothing that a new one could not find out.
type agent struct {
	node     string
	client   kubernetes.Interface
	events   events.EventRecorder
	machine  machine
	profiles *profiler
	nodes    corelisters.NodeLister
	pods     corelisters.PodLister // of this node
	now      func() time.Time
	within   time.Duration // requestsWithin

	mount       string // of cgroup v2, once the machine has said
	published   string // domains
	publishedAt time.Time
	said        map[types.UID]string // what was last said about a pod
}

// look has pods confined and counted, and then asks the API server what it needs to. An error says that the machine does not answer any more.
func (a *agent) look(ctx context.Context) error {
	pods, err := a.pods.List(labels.Everything())
	if err != nil {
		return err
	}
	// The cache has no order. Of containers that share a profile the first is counted, so that it is the same one each time.
	slices.SortFunc(pods, func(a, b *v1.Pod) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	})
	if a.mount == "" {
		is, err := a.machine.serve(request{Confine: map[string]int{}, Count: []string{}})
		if err != nil {
			return err
		}
		a.mount = is.Cgroups
	}
	wanted, of := a.confined(pods)
	wanted.Count = append(wanted.Count, a.profiles.running(a.mount, pods)...)
	is, err := a.machine.serve(wanted)
	if err != nil {
		return err
	}
	a.complain(pods, of, wanted.Count, is.Left)
	ctx, cancel := context.WithTimeout(ctx, a.within)
	defer cancel()
	a.publish(ctx, pods, is.Domains)
	a.profiles.read(ctx, is)
	a.profiles.choose(ctx, a.mount, pods)
	return nil
}

// confined is the domain of each pod that has one and runs, and whose cgroups these are.
func (a *agent) confined(pods []*v1.Pod) (request, map[types.UID]string) {
	wanted, of := request{Confine: map[string]int{}, Count: []string{}}, map[types.UID]string{} // null in JSON is no list
	for _, pod := range pods {
		text, found := pod.Annotations[api.DomainAnnotation]
		if !found || ended(pod) {
			continue
		}
		domain, err := strconv.ParseUint(text, 10, 31)
		if err != nil {
			a.say(pod, fmt.Sprintf("annotation %s: expected a number from 0, found %q: it may run in all memory domains", api.DomainAnnotation, text))
			continue
		}
		cgroup, err := cgroupOf(a.mount, pod)
		if err != nil {
			a.say(pod, err.Error())
		}
		if cgroup != "" {
			wanted.Confine[cgroup], of[pod.UID] = int(domain), cgroup
		}
	}
	return wanted, of
}

// complain says of pods that they run elsewhere than the scheduler thinks.
func (a *agent) complain(pods []*v1.Pod, of map[types.UID]string, counted []string, left map[string]string) {
	there := map[types.UID]string{}
	for _, pod := range pods {
		if said, found := a.said[pod.UID]; found {
			there[pod.UID] = said
		}
	}
	a.said = there
	for _, pod := range pods {
		if why := left[of[pod.UID]]; why != "" {
			a.say(pod, "not confined to its memory domain: "+why)
		}
	}
	mine := map[string]bool{}
	for _, cgroup := range counted {
		mine[cgroup] = true
	}
	for _, cgroup := range of {
		mine[cgroup] = true
	}
	for cgroup, why := range left {
		if !mine[cgroup] {
			klog.InfoS("Not given back", "cgroup", cgroup, "why", why)
		}
	}
}

// say says something of a pod once.
func (a *agent) say(pod *v1.Pod, text string) {
	if a.said[pod.UID] != text {
		a.said[pod.UID] = text
		klog.InfoS("Not confined", "pod", klog.KObj(pod), "why", text)
		a.events.Eventf(pod, nil, v1.EventTypeWarning, "NotConfined", "Confining", "%.900s", text)
	}
}

// publish writes the domains to the node when they have changed, or are about to look old.
func (a *agent) publish(ctx context.Context, pods []*v1.Pod, domains []string) {
	n, err := a.nodes.Get(a.node)
	if apierrors.IsNotFound(err) {
		return // kubelet registers it
	}
	var text string
	if err == nil {
		text, err = capacity(n, pods, domains)
	}
	if err != nil {
		klog.ErrorS(err, "Not published: what is there becomes old, and the scheduler leaves the node alone", "node", a.node)
		return
	}
	now := a.now()
	if text == a.published && now.Before(a.publishedAt.Add(publishEvery)) {
		return
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]string{
		api.DomainsAnnotation: text, api.PublishedAnnotation: now.UTC().Format(time.RFC3339),
	}}})
	if err == nil {
		_, err = a.client.CoreV1().Nodes().Patch(ctx, a.node, types.MergePatchType, patch, metav1.PatchOptions{})
	}
	if err != nil {
		klog.ErrorS(err, "Not published: tried again in seconds", "node", a.node)
		return
	}
	a.published, a.publishedAt = text, now
}
