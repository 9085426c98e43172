// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/informers"
	clientset "k8s.io/client-go/kubernetes"
	core "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/events"
	framework "k8s.io/kube-scheduler/framework"

	"lopsided/fleet/api"
)

// cluster runs the plugin's extension points in the order in which kube-scheduler 1.36 calls them. What it keeps of nodes
// and pods stands for kube-scheduler's cache.
type cluster struct {
	framework.Handle
	t        testing.TB
	gather   *Gather
	clock    time.Time
	nodes    map[string]*nodeInfo
	snapshot map[string]*nodeInfo
	infos    []framework.NodeInfo // of the snapshot
	changes  int64
	recorder *events.FakeRecorder
	lags     bool                         // bound pods stay without annotations
	stored   map[string]*v1.Pod           // by name, what the API server has
	takes    func(*v1.Pod, *v1.Node) bool // another plugin's filter
	fails    *framework.Status            // what another plugin's PreFilter says
	maxPods  int                          // of a node, to another plugin; 0: any
	asked    int                          // how often the plugin asked that itself
	profiles cache.Indexer

	kubeConfig *rest.Config
}

func newCluster(t testing.TB) *cluster {
	c := &cluster{
		t: t, clock: time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC), nodes: map[string]*nodeInfo{}, stored: map[string]*v1.Pod{},
		recorder: events.NewFakeRecorder(1000), takes: func(*v1.Pod, *v1.Node) bool { return true },
		profiles: cache.NewIndexer(cache.MetaNamespaceKeyFunc, profileIndexers),
	}
	c.restart()
	return c
}

// restart makes the plugin anew, which then knows nothing but what nodes and pods say.
func (c *cluster) restart() {
	args := &GatherArgs{}
	args.setDefaults()
	made, err := newGather(args, c)
	if err != nil {
		c.t.Fatal(err)
	}
	c.gather = made
	c.gather.now = func() time.Time { return c.clock }
	c.gather.residents.profiles.indexer = c.profiles
}

func (c *cluster) SharedInformerFactory() informers.SharedInformerFactory {
	return informers.NewSharedInformerFactory(nil, 0)
}
func (c *cluster) KubeConfig() *rest.Config                     { return c.kubeConfig }
func (c *cluster) EventRecorder() events.EventRecorderLogger    { return c.recorder }
func (c *cluster) APICacher() framework.APICacher               { return nil }
func (c *cluster) ClientSet() clientset.Interface               { return fakeClient{c: c} }
func (c *cluster) SnapshotSharedLister() framework.SharedLister { return lister{c: c} }

// another is the key under which another plugin keeps what its PreFilter found, which its Filter needs.
const another = "another plugin"

type found struct{}

func (found) Clone() framework.StateData { return found{} }

func (c *cluster) RunPreFilterPlugins(ctx context.Context, state framework.CycleState, pod *v1.Pod) (*framework.PreFilterResult, *framework.Status, sets.Set[string]) {
	result, status := c.gather.PreFilter(ctx, state, pod, c.infos)
	state.Write(another, found{})
	if c.fails != nil {
		return nil, c.fails, nil
	}
	if status.IsSkip() {
		state.SetSkipFilterPlugins(sets.New(Name))
		status = nil
	}
	return result, status, nil
}

func (c *cluster) RunFilterPluginsWithNominatedPods(ctx context.Context, state framework.CycleState, pod *v1.Pod, info framework.NodeInfo) *framework.Status {
	with := info.(*nodeInfo).copy()
	for _, other := range c.NominatedPodsForNode(info.Node().Name) {
		if is := other.GetPod(); is.UID != pod.UID {
			with.add(is)
		}
	}
	return c.RunFilterPlugins(ctx, state, pod, with)
}

// RunFilterPlugins asks the filters of other plugins, and then Gather if all of them take the node.
func (c *cluster) RunFilterPlugins(ctx context.Context, state framework.CycleState, pod *v1.Pod, info framework.NodeInfo) *framework.Status {
	if _, err := state.Read(another); err != nil {
		c.t.Errorf("another plugin is asked to filter, and not before: %v", err)
	}
	n := info.Node()
	skip := state.GetSkipFilterPlugins().Has(Name)
	if skip {
		c.asked++
	}
	full := c.maxPods > 0 && len(info.GetPods()) >= c.maxPods
	if n.Spec.Unschedulable || len(n.Spec.Taints) > 0 || full || !c.takes(pod, n) {
		return framework.NewStatus(framework.UnschedulableAndUnresolvable, "another plugin")
	}
	if skip {
		return nil
	}
	return c.gather.Filter(ctx, state, pod, info)
}

// NominatedPodsForNode are those in the order of a map: any.
func (c *cluster) NominatedPodsForNode(node string) (nominated []framework.PodInfo) {
	for _, pod := range c.stored {
		if pod.Status.NominatedNodeName == node && pod.Spec.NodeName == "" {
			nominated = append(nominated, podInfo{pod: pod})
		}
	}
	return nominated
}

type nodeInfo struct {
	framework.NodeInfo
	c          *cluster
	node       *v1.Node
	pods       []*v1.Pod
	generation int64
}

type podInfo struct {
	framework.PodInfo
	pod *v1.Pod
}

func (p podInfo) GetPod() *v1.Pod { return p.pod }

func (n *nodeInfo) Node() *v1.Node       { return n.node }
func (n *nodeInfo) GetGeneration() int64 { return n.generation }
func (n *nodeInfo) GetPods() (there []framework.PodInfo) {
	for _, pod := range n.pods {
		there = append(there, podInfo{pod: pod})
	}
	return there
}
func (n *nodeInfo) copy() *nodeInfo {
	c := *n
	c.pods = slices.Clone(n.pods)
	return &c
}
func (n *nodeInfo) Snapshot() framework.NodeInfo { return n.copy() }
func (n *nodeInfo) changed() {
	n.c.changes++
	n.generation = n.c.changes
}
func (n *nodeInfo) SetNode(node *v1.Node) {
	n.node = node
	n.changed()
}
func (n *nodeInfo) add(pod *v1.Pod) {
	n.pods = append(n.pods, pod)
	n.changed()
}
func (n *nodeInfo) remove(uid types.UID) {
	n.pods = slices.DeleteFunc(n.pods, func(pod *v1.Pod) bool { return pod.UID == uid })
	n.changed()
}

type lister struct {
	framework.SharedLister
	framework.NodeInfoLister
	c *cluster
}

func (l lister) NodeInfos() framework.NodeInfoLister { return l }
func (l lister) Get(name string) (framework.NodeInfo, error) {
	if n := l.c.snapshot[name]; n != nil {
		return n, nil
	}
	return nil, errors.New("no such node")
}

type cycleState struct {
	framework.CycleState
	data  map[framework.StateKey]framework.StateData
	skip  sets.Set[string]
	group bool // a pod group is tried
}

func newState() *cycleState {
	return &cycleState{data: map[framework.StateKey]framework.StateData{}, skip: sets.New[string]()}
}

func (s *cycleState) Read(key framework.StateKey) (framework.StateData, error) {
	if data, found := s.data[key]; found {
		return data, nil
	}
	return nil, framework.ErrNotFound
}
func (s *cycleState) Write(key framework.StateKey, data framework.StateData) { s.data[key] = data }
func (s *cycleState) GetSkipFilterPlugins() sets.Set[string]                 { return s.skip }
func (s *cycleState) SetSkipFilterPlugins(skip sets.Set[string])             { s.skip = skip }
func (s *cycleState) IsPodGroupSchedulingCycle() bool                        { return s.group }
func (s *cycleState) Clone() framework.CycleState {
	c := &cycleState{data: map[framework.StateKey]framework.StateData{}, skip: s.skip, group: s.group}
	for key, data := range s.data {
		c.data[key] = data.Clone()
	}
	return c
}

type fakeClient struct {
	clientset.Interface
	core.CoreV1Interface
	core.PodInterface
	c *cluster
}

func (f fakeClient) CoreV1() core.CoreV1Interface  { return f }
func (f fakeClient) Pods(string) core.PodInterface { return f }

// Bind writes node and annotations as the API server does.
func (f fakeClient) Bind(_ context.Context, binding *v1.Binding, _ metav1.CreateOptions) error {
	pod := f.c.stored[binding.Name]
	if pod == nil || pod.UID != binding.UID || pod.Spec.NodeName != "" {
		return fmt.Errorf("no such pod waits: %+v", binding)
	}
	pod = pod.DeepCopy()
	pod.Spec.NodeName = binding.Target.Name
	for key, value := range binding.Annotations {
		metav1.SetMetaDataAnnotation(&pod.ObjectMeta, key, value)
	}
	f.c.stored[binding.Name] = pod
	return nil
}

// add makes a node with domains of so many cores, "4,8", none if it is empty.
func (c *cluster) add(name, domains string) {
	n := &nodeInfo{c: c, node: &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}}
	c.nodes[name] = n
	if domains != "" {
		c.annotate(name, api.DomainsAnnotation, domains)
		c.annotate(name, api.PublishedAnnotation, c.clock.Format(time.RFC3339))
	}
}

// annotate changes an annotation of a node; an empty one is removed.
func (c *cluster) annotate(name, key, value string) {
	n := c.nodes[name].node.DeepCopy()
	metav1.SetMetaDataAnnotation(&n.ObjectMeta, key, value)
	if value == "" {
		delete(n.Annotations, key)
	}
	c.nodes[name].SetNode(n)
}

// power switches a machine, and does with it what Kubernetes does then.
func (c *cluster) power(name string, on bool) {
	c.annotate(name, api.PowerAnnotation, map[bool]string{false: "off"}[on])
	n := c.nodes[name].node.DeepCopy()
	n.Spec.Unschedulable = !on
	n.Spec.Taints = nil
	if !on {
		n.Spec.Taints = []v1.Taint{{Key: v1.TaintNodeUnreachable, Effect: v1.TaintEffectNoSchedule}}
	}
	c.nodes[name].SetNode(n)
}

// pod makes one that asks for so many cores. Intensity ?: it says nothing.
func (c *cluster) pod(name, cores, intensity string) *v1.Pod {
	pod := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", UID: types.UID(name), Labels: map[string]string{api.IntensityLabel: intensity}},
		Spec: v1.PodSpec{Containers: []v1.Container{{
			Resources: v1.ResourceRequirements{Requests: v1.ResourceList{v1.ResourceCPU: resource.MustParse(cores)}},
		}}},
	}
	if intensity == "?" {
		pod.Labels = nil
	}
	c.stored[name] = pod
	return pod
}

// cycle is a scheduling cycle of a pod.
type cycle struct {
	c     *cluster
	pod   *v1.Pod
	state *cycleState
	node  string
}

// takeSnapshot has the nodes in the order of a map: any.
func (c *cluster) takeSnapshot() {
	c.snapshot, c.infos = map[string]*nodeInfo{}, nil
	for name, n := range c.nodes {
		c.snapshot[name] = n.copy()
		c.infos = append(c.infos, c.snapshot[name])
	}
}

// begin finds the node. Without one the error has the reasons, as kube-scheduler shows them.
func (c *cluster) begin(pod *v1.Pod) (*cycle, error) {
	c.takeSnapshot()
	return c.beginIn(pod)
}

// beginIn is begin in the snapshot that is there.
func (c *cluster) beginIn(pod *v1.Pod) (*cycle, error) {
	ctx := context.Background()
	y := &cycle{c: c, pod: pod, state: newState()}
	only, status, _ := c.RunPreFilterPlugins(ctx, y.state, pod)
	if !status.IsSuccess() {
		return nil, status.AsError()
	}
	all := c.infos
	if !only.AllNodes() {
		all = nil
		for name := range only.NodeNames {
			all = append(all, c.snapshot[name])
		}
	}
	var feasible []framework.NodeInfo
	why := map[string]int{}
	if n := c.snapshot[pod.Status.NominatedNodeName]; n != nil && c.RunFilterPlugins(ctx, y.state, pod, n).IsSuccess() {
		all = []framework.NodeInfo{n}
	}
	for _, n := range all {
		status := c.RunFilterPlugins(ctx, y.state, pod, n)
		switch {
		case status.IsSuccess():
			feasible = append(feasible, n)
		case status.IsRejected():
			why[status.Message()]++
		default:
			return nil, status.AsError()
		}
	}
	switch len(feasible) {
	case 0:
		pod.Status.NominatedNodeName = ""
		if result, status := c.gather.PostFilter(ctx, y.state, pod, nil); status.IsSuccess() && result.Mode() == framework.ModeOverride {
			pod.Status.NominatedNodeName = result.NominatedNodeName
			why[status.Message()]++
		}
		return nil, errors.New(strings.Join(slices.Sorted(maps.Keys(why)), "; "))
	default: // of those without domains others choose
		y.node = feasible[0].Node().Name
	}
	return y, nil
}

// reserve notes in the cache that the pod is there, and reserves.
func (y *cycle) reserve() error {
	assumed := y.pod.DeepCopy()
	assumed.Spec.NodeName = y.node
	y.c.nodes[y.node].add(assumed)
	status := y.c.gather.Reserve(context.Background(), y.state, assumed, y.node)
	if !status.IsSuccess() {
		y.unreserve()
	}
	return status.AsError()
}

func (y *cycle) unreserve() {
	y.c.gather.Unreserve(context.Background(), y.state, y.pod, y.node)
	y.c.nodes[y.node].remove(y.pod.UID)
}

// try and takeBack are reserve and unreserve in the trial of a pod group. That happens in the snapshot, whose generations
// stay the same.
func (y *cycle) try() error {
	assumed := y.pod.DeepCopy()
	assumed.Spec.NodeName = y.node
	n := y.c.snapshot[y.node]
	generation := n.generation
	n.add(assumed)
	n.generation = generation
	y.state.group = true
	return y.c.gather.Reserve(context.Background(), y.state, assumed, y.node).AsError()
}

func (y *cycle) takeBack() {
	y.c.gather.Unreserve(context.Background(), y.state, y.pod, y.node)
	n := y.c.snapshot[y.node]
	generation := n.generation
	n.remove(y.pod.UID)
	n.generation = generation
	y.state.group = false
}

func (y *cycle) bind() error {
	ctx := context.Background()
	status := y.c.gather.Bind(ctx, y.state, y.pod, y.node)
	switch {
	case status.IsSkip(): // for DefaultBinder
		bound := y.c.stored[y.pod.Name].DeepCopy()
		bound.Spec.NodeName = y.node
		y.c.stored[y.pod.Name] = bound
	case !status.IsSuccess():
		y.unreserve()
		return status.AsError()
	}
	bound := y.c.stored[y.pod.Name]
	if !y.c.lags {
		y.c.nodes[y.node].remove(bound.UID)
		y.c.nodes[y.node].add(bound)
	}
	y.c.gather.PostBind(ctx, y.state, y.pod, y.node)
	return nil
}

// arrive runs all of it, and says where the pod went: "node.domain", "node." without a domain, or "nowhere".
func (c *cluster) arrive(pod *v1.Pod) (string, error) {
	y, err := c.begin(pod)
	if err == nil {
		err = y.reserve()
	}
	if err != nil {
		return "nowhere", err
	}
	if err := y.bind(); err != nil {
		c.t.Fatal(err)
	}
	return c.place(pod.Name), nil
}

// place is what the API server says.
func (c *cluster) place(pod string) string {
	p := c.stored[pod]
	return p.Spec.NodeName + "." + p.Annotations[api.DomainAnnotation]
}

// show ends the lag: what the API server has of the pods is seen.
func (c *cluster) show() {
	for _, n := range c.nodes {
		for i, pod := range n.pods {
			n.pods[i] = c.stored[pod.Name]
		}
		n.changed()
	}
}

func (c *cluster) leave(name string) {
	pod := c.stored[name]
	delete(c.stored, name)
	if n := c.nodes[pod.Spec.NodeName]; n != nil {
		n.remove(pod.UID)
	}
	c.gather.forget(pod)
}

// wants checks where a pod goes, and what the reason is where it goes nowhere.
func (c *cluster) wants(pod *v1.Pod, place, why string) {
	c.t.Helper()
	went, err := c.arrive(pod)
	if went != place || (err != nil) != (why != "") || err != nil && !strings.Contains(err.Error(), why) {
		c.t.Fatalf("%s goes to %s (%v), not to %s (%s)", pod.Name, went, err, place, why)
	}
}

func (c *cluster) saysEvent(text string) {
	c.t.Helper()
	var said []string
	for len(c.recorder.Events) > 0 {
		said = append(said, <-c.recorder.Events)
	}
	if !slices.ContainsFunc(said, func(s string) bool { return strings.Contains(s, text) }) {
		c.t.Errorf("no event %q: %q", text, said)
	}
}
