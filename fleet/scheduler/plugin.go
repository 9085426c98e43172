// SPDX-License-Identifier: Apache-2.0

// Package scheduler is Gather, a plugin of kube-scheduler. It gives each pod a memory domain of a node, by the rule of
// package gather: as few nodes and domains as possible, memory-intensive pods apart from all but very undemanding ones.
//
// Which node is best is asked of the rule once for a pod, among all nodes, so it decides as it does for a simulated fleet.
// PreFilter leaves no other. So other plugins are asked about few nodes, and nothing has to be scored. The domain is chosen
// when the node is (Reserve), and held from then on.
package scheduler

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/tools/cache"
	corev1 "k8s.io/component-helpers/scheduling/corev1"
	framework "k8s.io/kube-scheduler/framework"

	"lopsided/fleet/api"
	"lopsided/fleet/gather"
)

// Name of the plugin in a KubeSchedulerConfiguration.
const Name = "Gather"

// Gather is the plugin. It does not implement SignPlugin: each pod changes what is best for the next one like it.
type Gather struct {
	handle     framework.Handle
	preFilters preFilters
	staleAfter time.Duration
	now        func() time.Time
	residents  *residents
	binding    chan struct{} // bindings
}

// maxBinding is how many bindings the API server is asked for at a time. Pods are placed faster than it binds them, and what one client asks beyond some hundred
// requests it refuses, to be asked again a second later.
const maxBinding = 50

// bindings has one for each binding that is under way, of all profiles together: they share one client.
var bindings = make(chan struct{}, maxBinding)

var (
	_ framework.PreFilterPlugin   = &Gather{}
	_ framework.FilterPlugin      = &Gather{}
	_ framework.PostFilterPlugin  = &Gather{}
	_ framework.ReservePlugin     = &Gather{}
	_ framework.BindPlugin        = &Gather{}
	_ framework.PostBindPlugin    = &Gather{}
	_ framework.EnqueueExtensions = &Gather{}
)

// New makes the plugin from *GatherArgs. Intensities are those that owners declared by a label, or else those of profiles.
func New(ctx context.Context, args runtime.Object, handle framework.Handle) (framework.Plugin, error) {
	g, err := newGather(args, handle)
	if err == nil {
		g.residents.profiles.indexer, err = watchProfiles(ctx, handle.KubeConfig(), g.residents.profilesChanged)
	}
	if err != nil {
		return nil, fmt.Errorf("plugin %s: %w", Name, err)
	}
	return g, nil
}

// newGather makes one that lacks its profiles.
func newGather(args runtime.Object, handle framework.Handle) (*Gather, error) {
	given, ok := args.(*GatherArgs)
	if !ok {
		return nil, fmt.Errorf("its args are a %T, not *GatherArgs: use AddToScheme", args)
	}
	if err := given.validate(); err != nil {
		return nil, fmt.Errorf("args: %w", err)
	}
	others, ok := handle.(preFilters)
	if !ok {
		return nil, fmt.Errorf("a %T has no RunPreFilterPlugins: Gather is for kube-scheduler 1.36", handle)
	}
	g := &Gather{handle: handle, preFilters: others, staleAfter: given.StaleAfter.Duration, now: time.Now, binding: bindings}
	g.residents = newResidents(&profiles{staleAfter: given.ProfileStaleAfter.Duration, now: func() time.Time { return g.now() }})
	pods := handle.SharedInformerFactory().Core().V1().Pods().Informer()
	_, err := pods.AddEventHandler(cache.ResourceEventHandlerFuncs{UpdateFunc: g.replace, DeleteFunc: g.forget})
	return g, err
}

// Name of the plugin.
func (*Gather) Name() string { return Name }

// forget drops what is known of a pod that was deleted. Pods that have ended count as deleted.
func (g *Gather) forget(object any) {
	if unknown, ok := object.(cache.DeletedFinalStateUnknown); ok {
		object = unknown.Obj
	}
	if pod, ok := object.(*v1.Pod); ok {
		g.residents.release(pod.UID)
	}
}

// replace drops what is known of a pod that was deleted while another one took its name, which looks like an update when both
// happened while the API server was not watched.
func (g *Gather) replace(before, after any) {
	was, ok1 := before.(*v1.Pod)
	is, ok2 := after.(*v1.Pod)
	if ok1 && ok2 && was.UID != is.UID {
		g.residents.release(was.UID)
	}
}

// arrival is what is known of the pod of a scheduling cycle.
type arrival struct {
	application gather.Application
	best        *place // of all nodes; nil: there is none, so a node is asked about for its own sake
	ranked      bool   // the nodes are being ranked
}

// Clone shares everything: PreFilter knew it.
func (a *arrival) Clone() framework.StateData { return a }

func (g *Gather) arrivalOf(state framework.CycleState) (*arrival, error) {
	data, err := state.Read(Name)
	if err != nil {
		return nil, fmt.Errorf("plugin %s is to be enabled at all of its extension points: %w", Name, err)
	}
	return data.(*arrival), nil
}

// PreFilter finds the best node, and leaves no other if that one is on.
func (g *Gather) PreFilter(ctx context.Context, state framework.CycleState, pod *v1.Pod, infos []framework.NodeInfo) (*framework.PreFilterResult, *framework.Status) {
	if a, err := g.arrivalOf(state); err == nil && a.ranked {
		return nil, nil
	}
	nodes := g.residents.begin(infos)
	if api.IsNodesOwn(pod) {
		return nil, framework.NewStatus(framework.Skip)
	}
	a := &arrival{application: application(pod, g.residents.profiles)}
	var err error
	if a.best, err = g.best(ctx, state.Clone(), pod, a.application, nodes, infos); err != nil {
		return nil, framework.AsStatus(err)
	}
	state.Write(Name, a)
	if a.best == nil || a.best.off {
		return nil, nil
	}
	return &framework.PreFilterResult{NodeNames: sets.New(a.best.name)}, nil
}

// PreFilterExtensions are none: Filter looks at the pods of the NodeInfo that it is given.
func (*Gather) PreFilterExtensions() framework.PreFilterExtensions { return nil }

// usable is nil, with the reason, for a node without domains or with old figures.
func (g *Gather) usable(n *node) (*gather.Machine, string) {
	if why := n.unusable(g.now(), g.staleAfter); why != "" {
		return nil, why
	}
	return n.machine, ""
}

// fit is how well the application fits into the best domain of the node. A node whose domains are not usable fits not
// at all, whatever room there is.
func (g *Gather) fit(n *node, a gather.Application) (fit gather.Fit) {
	if machine, _ := g.usable(n); machine != nil {
		_, fit = machine.Place(a)
	}
	return fit
}

// Filter takes the best node, also where PreFilter is not heeded: kube-scheduler asks about the node to which a pod is nominated first. If no node has usable domains
// with room it takes those without usable domains, so that pods still run where nothing is published; they run without a domain there.
func (g *Gather) Filter(_ context.Context, state framework.CycleState, pod *v1.Pod, info framework.NodeInfo) *framework.Status {
	a, err := g.arrivalOf(state)
	if err != nil {
		return framework.AsStatus(err)
	}
	best := a.best
	if best != nil && !best.off && best.name != info.Node().Name {
		return framework.NewStatus(framework.UnschedulableAndUnresolvable, "another node is a better place")
	}
	n := g.residents.node(info)
	if n.off {
		return framework.NewStatus(framework.UnschedulableAndUnresolvable, "machine is off")
	}
	fit := g.fit(n, a.application)
	if machine, _ := g.usable(n); machine != nil && !fit.Fits() {
		return framework.NewStatus(framework.Unschedulable, "no memory domain has room") // preemption may make some
	}
	if best != nil && best.off && best.fit.Better(fit) {
		return framework.NewStatus(framework.UnschedulableAndUnresolvable, fmt.Sprintf("the pod waits for node %s, which is off", best.name))
	}
	return nil
}

// PostFilter comes when no node takes the pod. It nominates the pod to the best node, if that is off,
// which is how the one who switches machines knows what to switch on. Where preemption made room it is not asked.
func (g *Gather) PostFilter(_ context.Context, state framework.CycleState, pod *v1.Pod, _ framework.NodeToStatusReader) (*framework.PostFilterResult, *framework.Status) {
	a, err := g.arrivalOf(state)
	if err != nil { // it is its node's own, or refused before PreFilter of this plugin
		return nil, framework.NewStatus(framework.Unschedulable)
	}
	best := a.best
	if best == nil || !best.off || g.isMakingRoom(pod) {
		return nil, framework.NewStatus(framework.Unschedulable)
	}
	nominated := &framework.NominatingInfo{NominatedNodeName: best.name, NominatingMode: framework.ModeOverride}
	return &framework.PostFilterResult{NominatingInfo: nominated}, framework.NewStatus(framework.Success, fmt.Sprintf("node %s is to be switched on", best.name))
}

// isMakingRoom says whether pods end on a node that is on so that this one may go there: preemption nominated it.
func (g *Gather) isMakingRoom(pod *v1.Pod) bool {
	info, err := g.handle.SnapshotSharedLister().NodeInfos().Get(pod.Status.NominatedNodeName)
	return err == nil && info.Node().Annotations[api.PowerAnnotation] != api.PowerOff && slices.ContainsFunc(info.GetPods(), func(there framework.PodInfo) bool {
		other := there.GetPod()
		return other.DeletionTimestamp != nil && corev1.PodPriority(other) < corev1.PodPriority(pod)
	})
}

// Reserve chooses the domain among what the node has left now, and holds it. In a cycle of a pod group the snapshot does not
// show the pods that were reserved before this one.
func (g *Gather) Reserve(_ context.Context, state framework.CycleState, pod *v1.Pod, nodeName string) *framework.Status {
	if api.IsNodesOwn(pod) {
		return nil
	}
	a, err := g.arrivalOf(state)
	if err != nil {
		return framework.AsStatus(err)
	}
	info, err := g.handle.SnapshotSharedLister().NodeInfos().Get(nodeName)
	if err != nil {
		return framework.AsStatus(err)
	}
	h := &hold{node: nodeName, domain: -1, application: a.application}
	machine, why := g.usable(g.residents.without(info, pod.UID))
	if machine == nil {
		h.why = why
	} else if h.domain, h.fit = machine.Place(a.application); !h.fit.Fits() {
		// When a pod group is tried pods are reserved also where others are yet to make room, which the snapshot still shows.
		if !state.IsPodGroupSchedulingCycle() {
			return framework.NewStatus(framework.Unschedulable, "no memory domain has room any more")
		}
		h.domain = -1
	}
	g.residents.hold(pod.UID, h)
	return nil
}

// Unreserve gives the domain back.
func (g *Gather) Unreserve(_ context.Context, _ framework.CycleState, pod *v1.Pod, _ string) {
	g.residents.release(pod.UID)
}

// Bind writes node and domain in one request, so that no pod has one without the other, and the API server has no more to do than with
// DefaultBinder. That one binds pods that hold nothing.
func (g *Gather) Bind(ctx context.Context, _ framework.CycleState, pod *v1.Pod, nodeName string) *framework.Status {
	if api.IsNodesOwn(pod) {
		return framework.NewStatus(framework.Skip)
	}
	h := g.residents.held(pod.UID)
	if h == nil {
		return framework.AsStatus(fmt.Errorf("pod %s/%s was deleted meanwhile", pod.Namespace, pod.Name))
	}
	binding := &v1.Binding{
		ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID}, // another pod of the same name is refused
		Target:     v1.ObjectReference{Kind: "Node", Name: nodeName},
	}
	if h.domain >= 0 {
		binding.Annotations = map[string]string{
			api.DomainAnnotation: strconv.Itoa(h.domain),
			api.ReasonAnnotation: fmt.Sprintf("%v; %dm CPU left", h.fit, h.fit.MilliCPULeft()),
		}
	} else if _, found := pod.Annotations[api.DomainAnnotation]; found {
		binding.Annotations = map[string]string{api.DomainAnnotation: ""} // a binding takes none out
	}
	err := g.bind(ctx, binding)
	h.written = err == nil
	return framework.AsStatus(err)
}

// bind asks as DefaultBinder does, but not for all at once.
func (g *Gather) bind(ctx context.Context, binding *v1.Binding) error {
	cacher := g.handle.APICacher()
	if cacher == nil {
		select {
		case g.binding <- struct{}{}:
			defer func() { <-g.binding }()
		case <-ctx.Done():
			return ctx.Err()
		}
		return g.handle.ClientSet().CoreV1().Pods(binding.Namespace).Bind(ctx, binding, metav1.CreateOptions{})
	}
	done, err := cacher.BindPod(binding)
	if err == nil {
		err = cacher.WaitOnFinish(ctx, done)
	}
	return err
}

// PostBind says so where the rule could not be kept. Why a pod is where it is stands in its annotation, which costs no request.
func (g *Gather) PostBind(_ context.Context, _ framework.CycleState, pod *v1.Pod, nodeName string) {
	h := g.residents.held(pod.UID)
	if h == nil {
		return
	}
	say := func(kind, reason, format string, arguments ...any) {
		g.handle.EventRecorder().Eventf(pod, nil, kind, reason, "Placing", format, arguments...)
	}
	if _, err := g.residents.profiles.intensity(pod); err != nil {
		say(v1.EventTypeWarning, "IntensityUnknown", "Counts as intensive: %v", err)
	}
	domain, why := h.domain, h.why
	if !h.written {
		domain, why = -1, "another plugin bound the pod: at bind Gather has to be the first, as in config.yaml"
	}
	if domain < 0 {
		placed.WithLabelValues("no domain").Inc()
		say(v1.EventTypeWarning, "NoMemoryDomain", "Runs anywhere on node %s: %s", nodeName, why)
		return
	}
	placed.WithLabelValues(h.fit.String()).Inc()
	if !h.fit.Apart() {
		say(v1.EventTypeWarning, "SharedDomain", "Memory domain %d of node %s: %v; %dm CPU left", h.domain, nodeName, h.fit, h.fit.MilliCPULeft())
	}
}
