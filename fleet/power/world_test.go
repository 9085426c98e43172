// SPDX-License-Identifier: Apache-2.0

package power

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	core "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"

	"lopsided/fleet/api"
)

// world is an API server, its nodes' machines and their kubelets and agents, and a scheduler whose bindings come late. The clock is its own.
type world struct {
	kubernetes.Interface
	core.CoreV1Interface
	t          testing.TB
	config     *Config
	clock      time.Time
	version    int
	nodes      map[string]*v1.Node
	pods       map[string]*v1.Pod
	bindings   map[string]time.Time // of pods that are on their way to their node: not in the API server before
	runs       map[string]bool      // machines that have current
	switched   map[string]time.Time
	controller *Controller
	factory    informers.SharedInformerFactory
	recorder   *events.FakeRecorder
	works      []func()
	offs, ons  []time.Time
	interrupt  func(what string) // before and after all that the controller does to others; may crash it
	driver     func(node string, on bool) error
	asked      int
	askedAt    map[string]time.Time // by this controller
}

// errLate is of a driver that did it, and was not heard in time.
var errLate = errors.New("no answer in time")

func init() { klog.SetLogger(klog.Logger{}) } // which logs nothing

// crash is what interrupt panics with.
type crash struct{}

const (
	boots    = 60 * time.Second // until kubelet and agent run
	silent   = 40 * time.Second // until a kubelet that does not answer is noticed
	bindsIn  = 20 * time.Second
	perNode  = 2 // pods
	selfNode = "m-self"
)

func newWorld(t testing.TB, config string, nodes ...string) *world {
	w := &world{
		t: t, config: some(t, config), clock: noon, nodes: map[string]*v1.Node{}, pods: map[string]*v1.Pod{}, bindings: map[string]time.Time{},
		runs: map[string]bool{}, switched: map[string]time.Time{}, interrupt: func(string) {}, driver: func(string, bool) error { return nil },
	}
	for _, name := range nodes {
		n := aNode(name, on, 0)
		delete(n.Annotations, StateAnnotation)
		if strings.Contains(name, "control") {
			n.Labels = map[string]string{"node-role.kubernetes.io/control-plane": ""}
		}
		w.runs[name] = true
		w.store(n)
	}
	w.restart()
	return w
}

func (w *world) restart() {
	w.factory, w.recorder, w.works = informers.NewSharedInformerFactory(nil, 0), events.NewFakeRecorder(10000), nil
	w.askedAt = map[string]time.Time{}
	c, err := New(w.config, w, w.factory, w.recorder, selfNode)
	if err != nil {
		w.t.Fatal(err)
	}
	c.now = func() time.Time { return w.clock }
	c.spawn = func(work func()) { w.works = append(w.works, work) }
	c.drive = w.drive
	c.ended = make(chan outcome, 100)
	w.controller = c
	w.show()
}

func (w *world) store(n *v1.Node) {
	w.version++
	n.ResourceVersion = strconv.Itoa(w.version)
	w.nodes[n.Name] = n
}

// show brings the controller's cache up to date.
func (w *world) show() {
	var nodes []any
	for _, n := range w.nodes {
		nodes = append(nodes, n)
	}
	if err := w.factory.Core().V1().Nodes().Informer().GetIndexer().Replace(nodes, ""); err != nil {
		w.t.Fatal(err)
	}
	w.showPods()
}

func (w *world) showPods() {
	var pods []any
	for _, pod := range w.pods {
		pods = append(pods, w.asStored(pod))
	}
	if err := w.factory.Core().V1().Pods().Informer().GetIndexer().Replace(pods, ""); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) asStored(pod *v1.Pod) *v1.Pod {
	if _, late := w.bindings[pod.Name]; late {
		pod = pod.DeepCopy()
		pod.Spec.NodeName = ""
	}
	return pod
}

// look lets the controller look once, and the drivers that it asks come to their end. After a crash there is a new controller.
func (w *world) look() {
	defer func() {
		if r := recover(); r != nil {
			if _, is := r.(crash); !is {
				panic(r)
			}
			w.restart()
		}
	}()
	w.controller.look(context.Background())
	for len(w.works) > 0 {
		work := w.works[0]
		w.works = w.works[1:]
		work()
		w.controller.end(context.Background(), <-w.controller.ended)
	}
}

func (w *world) CoreV1() core.CoreV1Interface  { return w }
func (w *world) Nodes() core.NodeInterface     { return nodesOf{w: w} }
func (w *world) Pods(string) core.PodInterface { return podsOf{w: w} }

type nodesOf struct {
	core.NodeInterface
	w *world
}

type podsOf struct {
	core.PodInterface
	w *world
}

// Patch merges as the API server does.
func (n nodesOf) Patch(_ context.Context, name string, kind types.PatchType, text []byte, _ metav1.PatchOptions, _ ...string) (*v1.Node, error) {
	w := n.w
	w.interrupt("before " + name)
	var merge struct {
		Metadata struct {
			UID             types.UID
			ResourceVersion string
			Annotations     map[string]*string
		}
		Spec map[string]*bool
	}
	if err := json.Unmarshal(text, &merge); err != nil || kind != types.MergePatchType {
		return nil, fmt.Errorf("%s %s: %v", kind, text, err)
	}
	was := w.nodes[name]
	if was == nil || was.UID != merge.Metadata.UID || was.ResourceVersion != merge.Metadata.ResourceVersion {
		return nil, apierrors.NewConflict(schema.GroupResource{Resource: "nodes"}, name, errors.New("has changed"))
	}
	is := was.DeepCopy()
	for key, value := range merge.Metadata.Annotations {
		if delete(is.Annotations, key); value != nil {
			is.Annotations[key] = *value
		}
	}
	if value, found := merge.Spec["unschedulable"]; found {
		is.Spec.Unschedulable = value != nil && *value
	}
	w.store(is)
	w.judge(was, is)
	w.interrupt("after " + name)
	return is, nil
}

func (p podsOf) List(_ context.Context, options metav1.ListOptions) (*v1.PodList, error) {
	list := &v1.PodList{}
	for _, pod := range p.w.pods {
		if is := p.w.asStored(pod); "spec.nodeName="+is.Spec.NodeName == options.FieldSelector {
			list.Items = append(list.Items, *is)
		}
	}
	return list, nil
}

// state of a node's machine, as its annotation says.
func (w *world) state(node string) state {
	r, err := read(w.nodes[node])
	if err != nil {
		w.t.Fatal(err)
	}
	return r.State
}

// judge checks what was written.
func (w *world) judge(was, is *v1.Node) {
	from, err1 := read(was)
	to, err2 := read(is)
	if err1 != nil || err2 != nil {
		w.t.Fatal(err1, err2)
	}
	isOff := is.Annotations[api.PowerAnnotation] == api.PowerOff
	if isOff != to.State.isOff() || isOff && !is.Spec.Unschedulable && to.State != off {
		w.t.Fatalf("%s: %s is written with power %v, unschedulable %v", is.Name, to.State, isOff, is.Spec.Unschedulable)
	}
	limited := func(all *[]time.Time) {
		*all = append(*all, w.clock)
		if n := len(*all) - 1 - w.config.MaxSwitches; n >= 0 && w.clock.Sub((*all)[n]) < w.config.IdleFor {
			w.t.Fatalf("%s: more than %d are switched within %v", is.Name, w.config.MaxSwitches, w.config.IdleFor)
		}
	}
	switch {
	case from.State == to.State:
		w.t.Fatalf("%s: %s is written again", is.Name, to.State)
	case to.State == switchingOff:
		limited(&w.offs)
	case to.State == switchingOn:
		limited(&w.ons)
	case to.State == cordoned:
		taking := 0
		for _, n := range w.nodes {
			if strings.HasPrefix(n.Name, "m") && !isControlPlane(n) && isReady(n) && !n.Spec.Unschedulable {
				taking++
			}
		}
		if taking < w.config.MinOn {
			w.t.Fatalf("%d are on after %s is cordoned", taking, is.Name)
		}
	}
}

// drive is the driver of all machines.
func (w *world) drive(_ context.Context, _ *Machine, node string, on bool) error {
	w.asked++
	if last, before := w.askedAt[node]; before && w.clock.Sub(last) < again {
		w.t.Fatalf("the driver of %s is asked again after %v", node, w.clock.Sub(last))
	}
	w.askedAt[node] = w.clock
	w.interrupt("before " + node)
	n := w.nodes[node]
	if s := w.state(node); on && s != switchingOn || !on && s != switchingOff {
		w.t.Fatalf("%s is switched while %s is written", node, s)
	}
	if !on {
		if node == selfNode || isControlPlane(n) || !strings.HasPrefix(node, "m") {
			w.t.Fatalf("%s is switched off", node)
		}
		if there := w.on(node); len(there) > 0 {
			w.t.Fatalf("%s is switched off with %v", node, there)
		}
	}
	err := w.driver(node, on)
	if (err == nil || errors.Is(err, errLate)) && w.runs[node] != on {
		w.runs[node], w.switched[node] = on, w.clock
	}
	w.interrupt("after " + node)
	return err
}

// on are the pods that are on a node, or on their way.
func (w *world) on(node string) (there []string) {
	for name, pod := range w.pods {
		if pod.Spec.NodeName == node {
			there = append(there, name)
		}
	}
	slices.Sort(there)
	return there
}

// pass lets time pass: kubelets and agents report, bindings arrive, and pods that wait are scheduled.
func (w *world) pass(d time.Duration) {
	w.clock = w.clock.Add(d)
	for _, name := range slices.Sorted(maps.Keys(w.nodes)) {
		since, switched := w.switched[name]
		long := w.clock.Sub(since)
		n := w.nodes[name].DeepCopy()
		switch {
		case w.runs[name] && (!switched || long >= boots):
			n.Status.Conditions[0].Status = v1.ConditionTrue
			n.Annotations[api.PublishedAnnotation] = w.clock.Format(time.RFC3339)
		case !w.runs[name] && long >= silent:
			n.Status.Conditions[0].Status = v1.ConditionUnknown
		}
		w.store(n)
	}
	for _, name := range slices.Sorted(maps.Keys(w.bindings)) {
		if !w.bindings[name].After(w.clock) {
			delete(w.bindings, name)
			if node := w.pods[name].Spec.NodeName; !w.runs[node] {
				w.t.Fatalf("%s is bound to %s, which is off", name, node)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(w.pods)) {
		if w.pods[name].Spec.NodeName == "" {
			w.schedule(w.pods[name])
		}
	}
}

// schedule puts a pod on the first node with room, or nominates it to the first that is off and has.
func (w *world) schedule(pod *v1.Pod) {
	pod = pod.DeepCopy()
	w.pods[pod.Name] = pod
	for _, name := range slices.Sorted(maps.Keys(w.nodes)) {
		n := w.nodes[name]
		if isReady(n) && !n.Spec.Unschedulable && n.Annotations[api.PowerAnnotation] == "" && len(w.on(name)) < perNode {
			pod.Spec.NodeName, pod.Status.NominatedNodeName = name, ""
			w.bindings[pod.Name] = w.clock.Add(bindsIn)
			return
		}
	}
	pod.Status.NominatedNodeName = ""
	for _, name := range slices.Sorted(maps.Keys(w.nodes)) {
		if w.nodes[name].Annotations[api.PowerAnnotation] == "" {
			continue
		}
		wait := 0
		for _, other := range w.pods {
			if other.Status.NominatedNodeName == name {
				wait++
			}
		}
		if wait < perNode {
			pod.Status.NominatedNodeName = name
			return
		}
	}
}

func (w *world) arrive(name string) {
	w.pods[name] = aPod(name, "")
	w.schedule(w.pods[name])
}

func (w *world) leave(name string) {
	delete(w.pods, name)
	delete(w.bindings, name)
}

// live passes time in steps of some seconds, in which the controller looks.
func (w *world) live(d time.Duration) {
	for end := w.clock.Add(d); w.clock.Before(end); {
		w.pass(5 * time.Second)
		w.show()
		w.look()
	}
}

// says is how things are.
func (w *world) says() string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(w.nodes)) {
		runs := map[bool]string{true: "+", false: "-"}[w.runs[name]]
		all = append(all, fmt.Sprintf("%s%s %s%v", runs, name, w.state(name), w.on(name)))
	}
	return strings.Join(all, ", ")
}
