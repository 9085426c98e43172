// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	fakedynamic "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/events"

	"lopsided/fleet/api"
)

// fakeMachine has eight CPUs in two domains.
type fakeMachine struct {
	is    answer
	asked []request
	err   error
}

func (m *fakeMachine) serve(r request) (answer, error) {
	m.asked = append(m.asked, r)
	return m.is, m.err
}

// world is an API server with the node n, and a machine with cgroups in a folder. The clock is its own.
type world struct {
	*agent
	t       *testing.T
	server  *fake.Clientset
	objects dynamic.Interface // profiles
	machine *fakeMachine
	clock   time.Time
	events  *events.FakeRecorder
	ctx     context.Context
}

func newWorld(t *testing.T, pods ...*v1.Pod) *world {
	cores := func(text string) v1.ResourceList { return v1.ResourceList{v1.ResourceCPU: resource.MustParse(text)} }
	n := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}, Status: v1.NodeStatus{Capacity: cores("8"), Allocatable: cores("7")}}
	w := &world{
		t: t, server: fake.NewClientset(n), clock: time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC), events: events.NewFakeRecorder(100), ctx: t.Context(),
		objects: fakedynamic.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{api.IntensityProfiles: "IntensityProfileList"}),
		machine: &fakeMachine{is: answer{Domains: []string{"0-3", "4-7"}, Cgroups: t.TempDir()}},
	}
	for _, pod := range pods {
		w.create(pod)
	}
	w.agent = &agent{
		node: "n", client: w.server, events: w.events, machine: w.machine, now: func() time.Time { return w.clock }, within: time.Hour, said: map[types.UID]string{},
	}
	w.profiles = newProfiler("n", w.objects, w.now)
	if _, err := w.watch(w.ctx); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *world) create(pod *v1.Pod) {
	if _, err := w.server.CoreV1().Pods(pod.Namespace).Create(w.ctx, pod, metav1.CreateOptions{}); err != nil {
		w.t.Fatal(err)
	}
}

// cgroup makes one.
func (w *world) cgroup(path string) string {
	if err := os.MkdirAll(filepath.Join(w.machine.is.Cgroups, path), 0o755); err != nil {
		w.t.Fatal(err)
	}
	return path
}

// looks looks once, and returns what the machine was asked last and the events since.
func (w *world) looks() (map[string]int, []string) {
	w.t.Helper()
	if err := w.look(w.ctx); err != nil {
		w.t.Fatal(err)
	}
	var said []string
	for len(w.events.Events) > 0 {
		said = append(said, <-w.events.Events)
	}
	return w.machine.asked[len(w.machine.asked)-1].Confine, said
}

func (w *world) annotations() string {
	n, err := w.server.CoreV1().Nodes().Get(w.ctx, "n", metav1.GetOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	return n.Annotations[api.DomainsAnnotation] + " " + n.Annotations[api.PublishedAnnotation]
}

func aPod(name, domain string) *v1.Pod {
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", UID: types.UID("uid-" + name)}, Spec: v1.PodSpec{NodeName: "n"}}
	if domain != "" {
		pod.Annotations = map[string]string{api.DomainAnnotation: domain}
	}
	return pod
}

func own(name, kind, cores string) *v1.Pod {
	pod, yes := aPod(name, ""), true
	pod.OwnerReferences = []metav1.OwnerReference{{Kind: kind, Name: "x", Controller: &yes}}
	pod.Spec.Containers = []v1.Container{{Resources: v1.ResourceRequirements{Requests: v1.ResourceList{v1.ResourceCPU: resource.MustParse(cores)}}}}
	return pod
}

func TestConfining(t *testing.T) {
	done := aPod("done", "0")
	done.Status.Phase = v1.PodSucceeded
	w := newWorld(t, aPod("a", "1"), aPod("b", "0"), aPod("free", ""), aPod("odd", "x"), aPod("early", "0"), done)
	a := w.cgroup("kubepods.slice/kubepods-burstable.slice/kubepods-burstable-poduid_a.slice")
	b := w.cgroup("kubepods/poduid-b")
	for _, other := range []string{"free", "odd", "done"} {
		w.cgroup("kubepods/poduid-" + other)
	}
	asked, said := w.looks()
	if !maps.Equal(asked, map[string]int{a: 1, b: 0}) {
		t.Error(asked)
	}
	if len(said) != 1 || !strings.Contains(said[0], `Warning NotConfined annotation fleet.lopsided/domain: expected a number from 0, found "x"`) {
		t.Error(said)
	}
	early := w.cgroup("kubelet/kubepods/besteffort/poduid-early")
	w.machine.is.Left = map[string]string{a: "somebody else"}
	asked, said = w.looks()
	if !maps.Equal(asked, map[string]int{a: 1, b: 0, early: 0}) {
		t.Error(asked)
	}
	if !slices.Equal(said, []string{"Warning NotConfined not confined to its memory domain: somebody else"}) {
		t.Error(said)
	}
	if _, said = w.looks(); len(said) != 0 {
		t.Error("said again", said)
	}
	w.machine.err = errors.New("it ended")
	if err := w.look(w.ctx); !errors.Is(err, w.machine.err) {
		t.Error(err)
	}
}

func TestPublishing(t *testing.T) {
	// The node keeps a core, and its own pods one and a half: of 8,8 cores less that of 8 is left.
	w := newWorld(t, own("of-set", "DaemonSet", "1"), own("static", "Node", "500m"), own("app", "ReplicaSet", "3"))
	looks := func(wait time.Duration, want string) {
		t.Helper()
		w.clock = w.clock.Add(wait)
		w.looks()
		if is := w.annotations(); is != want {
			t.Errorf("%s, not %s", is, want)
		}
	}
	looks(0, "2750m,2750m 2026-01-01T12:00:00Z")
	looks(publishEvery-time.Second, "2750m,2750m 2026-01-01T12:00:00Z")
	looks(time.Second, "2750m,2750m 2026-01-01T12:01:00Z")
	w.machine.is.Domains = []string{"0-3", "4-6"}
	looks(time.Second, "2571m,1928m 2026-01-01T12:01:01Z") // a seventh of 2500m for each CPU
	w.machine.is.Domains = []string{"0-3", ""}
	looks(time.Second, "1500m,0 2026-01-01T12:01:02Z") // all CPUs of the second are offline
	for _, nothing := range [][]string{{"0", "4"}, {"", ""}} {
		w.machine.is.Domains = nothing
		looks(publishEvery, "1500m,0 2026-01-01T12:01:02Z") // nothing is left, so it becomes old
	}
}

func TestChild(t *testing.T) {
	for _, test := range []struct{ script, wrong, wrongEnd string }{
		{`read line; [ "$line" = '{"confine":{"a":1},"count":["b"]}' ] && echo '{"domains":["0-3"],"cgroups":"/cg","counted":{"b":{"misses":1,"instructions":2}},"left":{"a":"why"}}'; read line; exit 0`, "", ""},
		{`read line; exit 0`, "no answer: EOF", ""},
		{`read line; echo hello; exit 3`, `answer "hello\n"`, "exit status 3"},
	} {
		c, err := start([]string{"sh", "-c", test.script}, time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		is, err := c.serve(request{map[string]int{"a": 1}, []string{"b"}})
		if !says(err, test.wrong) || err == nil && (is.Domains[0] != "0-3" || is.Cgroups != "/cg" || is.Left["a"] != "why" || is.Counted["b"] != (counts{1, 2})) {
			t.Errorf("%s: %+v, %v", test.script, is, err)
		}
		if err := c.close(); !says(err, test.wrongEnd) {
			t.Errorf("%s: %v", test.script, err)
		}
	}
	// None of these ever answers or ends, so it does not matter how soon they are killed.
	for _, within := range []time.Duration{0, time.Millisecond} {
		c, err := start([]string{"sleep", "infinity"}, within)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.serve(request{}); !says(err, "killed, since it did not answer within "+within.String()) {
			t.Error(err)
		}
		if err := c.close(); err == nil {
			t.Error("it was killed, and has restored nothing")
		}
	}
	if _, err := start([]string{"/nowhere/lop"}, time.Hour); !says(err, "comes with Lopsided") {
		t.Error(err)
	}
}

func says(err error, text string) bool {
	return err == nil && text == "" || err != nil && text != "" && strings.Contains(err.Error(), text)
}
