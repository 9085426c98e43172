// SPDX-License-Identifier: Apache-2.0

// Package power switches off the machines of nodes that have no pods, and switches them on again for pods that wait.
//
// What to do is a function of what the API server says and of the time (decide). What was done is kept in annotations of the nodes, and is written
// before it is done, so that nothing is lost when the controller ends. It never drains a node: only those that have become empty are switched
// off, so no disruption budget is touched.
package power

import (
	"context"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
)

// again is how long after the end of a driver's work it is asked again.
const again = 30 * time.Second

// Controller carries out what decide says. One goroutine runs it; drivers work on others.
type Controller struct {
	config  *Config
	client  kubernetes.Interface
	events  events.EventRecorder
	self    string
	now     func() time.Time
	spawn   func(func())
	drive   func(ctx context.Context, m *Machine, node string, on bool) error
	nodes   corelisters.NodeLister
	pods    corelisters.PodLister
	volumes corelisters.PersistentVolumeLister
	synced  []cache.InformerSynced

	changed chan struct{}
	ended   chan outcome
	written map[string]*v1.Node // as the API server answered, until the cache has them
	busy    sets.Set[string]
	next    map[string]time.Time // when a driver may be asked again
	said    map[string]string    // the last problem of each node
}

// outcome is what a driver, or the look before it, came to.
type outcome struct {
	action
	err error
}

// New makes a controller that runs on the node self, or on none. Its informers are those of the factory, which is to be started then.
func New(config *Config, client kubernetes.Interface, factory informers.SharedInformerFactory, recorder events.EventRecorder, self string) (*Controller, error) {
	core := factory.Core().V1()
	c := &Controller{
		config: config, client: client, events: recorder, self: self, now: time.Now,
		spawn:   func(work func()) { go work() },
		drive:   func(ctx context.Context, m *Machine, node string, on bool) error { return m.drive(ctx, node, on) },
		nodes:   core.Nodes().Lister(),
		pods:    core.Pods().Lister(),
		volumes: core.PersistentVolumes().Lister(),
		changed: make(chan struct{}, 1), ended: make(chan outcome),
		written: map[string]*v1.Node{}, busy: sets.New[string](), next: map[string]time.Time{}, said: map[string]string{},
	}
	notice := func(any) {
		select {
		case c.changed <- struct{}{}:
		default:
		}
	}
	handler := cache.ResourceEventHandlerFuncs{AddFunc: notice, UpdateFunc: func(_, is any) { notice(is) }, DeleteFunc: notice}
	for _, informer := range []cache.SharedIndexInformer{core.Nodes().Informer(), core.Pods().Informer(), core.PersistentVolumes().Informer()} {
		if _, err := informer.AddEventHandler(handler); err != nil {
			return nil, err
		}
		c.synced = append(c.synced, informer.HasSynced)
	}
	return c, nil
}

// look decides, and does it.
func (c *Controller) look(ctx context.Context) {
	is, err := c.cluster()
	if err != nil {
		klog.ErrorS(err, "Not decided")
		return
	}
	for _, a := range c.config.decide(is, c.now()) {
		switch {
		case a.problem != nil:
			c.problem(a.node, a.problem)
		case a.ask:
			c.ask(ctx, a)
		default:
			c.write(ctx, a)
		}
	}
}

// cluster is what the cache has, and what was written since.
func (c *Controller) cluster() (is cluster, err error) {
	if is.nodes, err = c.nodes.List(labels.Everything()); err != nil {
		return is, err
	}
	written := map[string]*v1.Node{}
	for n, cached := range is.nodes {
		w := c.written[cached.Name]
		if w == nil {
			continue
		}
		newer, err := resourceversion.CompareResourceVersion(w.ResourceVersion, cached.ResourceVersion)
		if err != nil {
			return is, fmt.Errorf("node %s: %w", cached.Name, err)
		}
		if newer > 0 {
			is.nodes[n], written[cached.Name] = w, w
		}
	}
	c.written = written
	if is.pods, err = c.pods.List(labels.Everything()); err != nil {
		return is, err
	}
	is.volumes, err = c.volumes.List(labels.Everything())
	is.busy, is.self = c.busy, c.self
	return is, err
}

// write brings a node to the next record. If it has changed meanwhile, what to do is decided anew.
func (c *Controller) write(ctx context.Context, a action) {
	text, err := patch(a.node, a.from, a.to)
	if err != nil {
		c.problem(a.node, err)
		return
	}
	n, err := c.client.CoreV1().Nodes().Patch(ctx, a.node.Name, types.MergePatchType, text, metav1.PatchOptions{})
	switch {
	case apierrors.IsConflict(err) || apierrors.IsNotFound(err):
	case err != nil:
		c.problem(a.node, err)
	default:
		c.written[n.Name] = n
		delete(c.said, n.Name)
		klog.InfoS("Power", "node", n.Name, "state", a.to.State, "why", a.why)
		if a.to.State != idle && !(a.to.State == on && a.from.State == idle) { // these come and go
			c.events.Eventf(n, nil, kind(a.to.State), "Power", "Switching", "%s: %s", a.to.State, a.why)
		}
	}
}

func kind(s state) string {
	if s == failed {
		return v1.EventTypeWarning
	}
	return v1.EventTypeNormal
}

// ask lets the driver work, unless it is too early after the last time.
func (c *Controller) ask(ctx context.Context, a action) {
	name := a.node.Name
	m := c.config.machine(name)
	if m == nil || c.now().Before(c.next[name]) {
		return
	}
	c.busy.Insert(name)
	c.spawn(func() {
		var err error
		if a.from.State == switchingOff {
			err = c.empty(ctx, name)
		}
		if err == nil {
			err = c.drive(ctx, m, name, a.from.State == switchingOn)
		}
		select {
		case c.ended <- outcome{a, err}:
		case <-ctx.Done():
		}
	})
}

// empty asks the API server itself: a pod may have been bound that the cache does not have yet.
func (c *Controller) empty(ctx context.Context, node string) error {
	there, err := c.client.CoreV1().Pods("").List(ctx, metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector("spec.nodeName", node).String()})
	if err != nil {
		return err
	}
	for n := range there.Items {
		if counts(&there.Items[n]) {
			return fmt.Errorf("stays on: pod %s/%s was bound to it meanwhile", there.Items[n].Namespace, there.Items[n].Name)
		}
	}
	return nil
}

// end notes what a driver came to.
func (c *Controller) end(ctx context.Context, o outcome) {
	c.busy.Delete(o.node.Name)
	c.next[o.node.Name] = c.now().Add(again)
	if o.err != nil {
		c.problem(o.node, o.err)
		return
	}
	if o.from.State != switchingOff {
		return
	}
	is, err := c.cluster()
	if err != nil {
		klog.ErrorS(err, "Not noted: machine is off", "node", o.node.Name)
		return
	}
	for _, n := range is.nodes {
		if now, err := read(n); err == nil && n.UID == o.node.UID && now == o.from {
			c.write(ctx, action{node: n, from: o.from, to: *o.from.to(off, c.now()), why: "the driver says so"})
		}
	}
}

// problem says something once.
func (c *Controller) problem(n *v1.Node, err error) {
	if text := err.Error(); c.said[n.Name] != text {
		c.said[n.Name] = text
		klog.ErrorS(err, "Power", "node", n.Name)
		c.events.Eventf(n, nil, v1.EventTypeWarning, "PowerProblem", "Switching", "%.900s", text)
	}
}
