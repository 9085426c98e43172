// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"errors"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"lopsided/fleet/connect"
)

const (
	name = "gather-node"
	// lookEvery is how soon somebody else's cpuset.cpus is noticed. Changes of pods are looked at within a second.
	lookEvery = 10 * time.Second
)

// Run is the agent of a node until the context ends. The command is `lop agent --node`; when this ends, it has restored all cgroups.
func Run(ctx context.Context, to *rest.Config, node string, command []string) (err error) {
	client, err := kubernetes.NewForConfig(rest.AddUserAgent(rest.CopyConfig(to), name))
	if err != nil {
		return err
	}
	dynamic, err := dynamic.NewForConfig(rest.AddUserAgent(rest.CopyConfig(to), name))
	if err != nil {
		return err
	}
	recorder, shutdown, err := connect.Recorder(ctx, client, name)
	if err != nil {
		return err
	}
	defer shutdown()
	a := &agent{
		node: node, client: client, events: recorder, now: time.Now, within: requestsWithin, said: map[types.UID]string{},
		profiles: newProfiler(node, dynamic, time.Now),
	}
	changed, err := a.watch(ctx)
	if err != nil {
		return err
	}
	lop, err := start(command, answersWithin)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lop.close()) }()
	a.machine = lop
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	for ctx.Err() == nil {
		if err := a.look(ctx); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
		case <-time.After(time.Second):
		}
		select {
		case <-ctx.Done():
		case <-changed:
		case <-ticker.C:
		}
	}
	return nil
}

// watch fills caches of the node and of its pods, and sends when these change.
func (a *agent) watch(ctx context.Context) (<-chan struct{}, error) {
	only := func(field string) informers.SharedInformerFactory {
		return informers.NewSharedInformerFactoryWithOptions(a.client, 0, informers.WithTweakListOptions(func(o *metav1.ListOptions) {
			o.FieldSelector = fields.OneTermEqualSelector(field, a.node).String()
		}))
	}
	nodes, pods := only(metav1.ObjectNameField), only("spec.nodeName")
	a.nodes, a.pods = nodes.Core().V1().Nodes().Lister(), pods.Core().V1().Pods().Lister()
	changed := make(chan struct{}, 1)
	notice := func(any) {
		select {
		case changed <- struct{}{}:
		default:
		}
	}
	handler := cache.ResourceEventHandlerFuncs{AddFunc: notice, UpdateFunc: func(_, is any) { notice(is) }, DeleteFunc: notice}
	ofPods, err := pods.Core().V1().Pods().Informer().AddEventHandler(handler)
	if err != nil {
		return nil, err
	}
	ofNodes := nodes.Core().V1().Nodes().Informer().HasSynced
	nodes.Start(ctx.Done())
	pods.Start(ctx.Done())
	if !cache.WaitForCacheSync(ctx.Done(), ofNodes, ofPods.HasSynced) {
		return nil, ctx.Err()
	}
	return changed, nil
}
