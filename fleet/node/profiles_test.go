// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"lopsided/fleet/api"
)

// of makes a running pod of Deployment web with a container of each image, whose ID is c- and its number.
func of(name string, images ...string) *v1.Pod {
	pod, yes := aPod(name, ""), true
	pod.Labels = map[string]string{"pod-template-hash": "5d4f"}
	pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web-5d4f", UID: "set", Controller: &yes}}
	for n, image := range images {
		container := fmt.Sprint("c-", n)
		pod.Spec.Containers = append(pod.Spec.Containers, v1.Container{Name: container, Image: image})
		pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, v1.ContainerStatus{
			Name: container, ContainerID: "containerd://" + container + "-" + name, State: v1.ContainerState{Running: &v1.ContainerStateRunning{}},
		})
	}
	return pod
}

// container makes its cgroup.
func (w *world) container(pod string, n int) string {
	return w.cgroup(fmt.Sprintf("kubepods/poduid-%s/cri-containerd-c-%d-%s.scope", pod, n, pod))
}

// counts lets time pass and looks, with these counts of each cgroup; returns what the machine is to count.
func (w *world) counts(after time.Duration, counted map[string]counts) []string {
	w.t.Helper()
	w.clock = w.clock.Add(after)
	w.machine.is.Counted = counted
	w.looks()
	asked := w.machine.asked[len(w.machine.asked)-1].Count
	slices.Sort(asked)
	return asked
}

// profiled is all profiles: of whom, and what.
func (w *world) profiled() (found []string) {
	list, err := w.objects.Resource(api.IntensityProfiles).List(w.ctx, metav1.ListOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	for _, object := range list.Items {
		p := &api.IntensityProfile{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, p); err != nil {
			w.t.Fatal(err)
		}
		is := p.Spec
		found = append(found, fmt.Sprintf("%s %s %s: %s by %s at %s, goes with %s", is.Owner.Kind, is.Owner.Name, is.Image, is.Intensity, is.Source,
			is.MeasuredAt.UTC().Format("15:04:05"), p.OwnerReferences[0].UID))
	}
	slices.Sort(found)
	return found
}

func (w *world) expect(what string, is, want []string) {
	w.t.Helper()
	if !slices.Equal(is, want) {
		w.t.Errorf("%s: %q, not %q", what, is, want)
	}
}

func TestMeasuring(t *testing.T) {
	declared, alone := of("declared", "calm"), of("alone", "calm")
	declared.Labels[api.IntensityLabel], alone.OwnerReferences = "moderate", nil
	w := newWorld(t, of("a", "calm", "idle"), of("b", "calm"), declared, alone, own("of-set", "DaemonSet", "1"))
	for _, pod := range []string{"declared", "alone"} {
		w.container(pod, 0)
	}
	calm, idle := w.container("a", 0), w.container("a", 1)
	w.cgroup("kubepods/poduid-a/crio-conmon-c-0-a.scope")
	// The same Deployment and image, so one of both is enough; it has no cgroup yet.
	w.expect("before profiles were looked for", w.counts(0, nil), []string{})
	w.expect("counted first", w.counts(0, nil), []string{calm, idle})
	w.container("b", 0)
	w.expect("counted still", w.counts(10*time.Second, map[string]counts{calm: {5e5, 1e9}, idle: {1, 1e6}}), []string{calm, idle})
	w.expect("profiles before a minute", w.profiled(), nil)
	w.counts(50*time.Second, map[string]counts{calm: {7e5, 2e9}, idle: {1, 1e6}})
	// 1,200,000 misses in 3,000,000,000 instructions.
	first := []string{"Deployment web calm: 0.400 by counters of node n at 12:01:00, goes with set"}
	w.expect("profiles", w.profiled(), first)
	w.expect("counted after that", w.counts(time.Second, nil), []string{})
	w.counts(tryAgain, nil)
	w.expect("tried again", w.counts(0, nil), []string{idle})
	w.counts(countFor, map[string]counts{idle: {2e9, 1e9}})
	w.expect("no more than all", w.profiled(), append(first, "Deployment web idle: 1000.000 by counters of node n at 13:02:01, goes with set"))
	w.counts(measureAgain-tryAgain-countFor-time.Second, nil)
	w.expect("on the next day", w.counts(0, nil)[:1], []string{calm})
	w.counts(countFor, map[string]counts{calm: {0, 1e9}})
	w.expect("replaced", w.profiled()[:1], []string{"Deployment web calm: 0.000 by counters of node n at 12:02:00, goes with set"})
}

func TestProfilesOfOtherNodesAreEnough(t *testing.T) {
	w := newWorld(t, of("a", "calm"))
	calm := w.container("a", 0)
	p := &api.IntensityProfile{
		TypeMeta:   metav1.TypeMeta{APIVersion: "fleet.lopsided/v1alpha1", Kind: "IntensityProfile"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: container{of("a"), "calm", ""}.name()},
		Spec:       api.IntensityProfileSpec{MeasuredAt: metav1.NewTime(w.clock.Add(time.Hour - measureAgain))},
	}
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(p)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.objects.Resource(api.IntensityProfiles).Namespace("default").Create(w.ctx, &unstructured.Unstructured{Object: object}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	w.counts(0, nil)
	w.expect("new enough", w.counts(0, nil), []string{})
	w.counts(time.Hour, nil)
	w.expect("old", w.counts(0, nil), []string{calm})
}

// An API server that never answers.
func TestConfiningDoesNotWaitForTheServer(t *testing.T) {
	w := newWorld(t, of("a", "calm", "idle"), aPod("b", "1"))
	w.container("a", 0)
	idle := w.container("a", 1)
	b := w.cgroup("kubepods/poduid-b")
	asked := make(chan int, 100) // how often the machine had been, when the server was
	silent := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		asked <- len(w.machine.asked)
		<-r.Context().Done()
	}))
	defer silent.Close()
	objects, err := dynamic.NewForConfig(&rest.Config{Host: silent.URL})
	if err != nil {
		t.Fatal(err)
	}
	w.profiles.client = objects
	ctx, cancel := context.WithCancel(w.ctx)
	defer cancel()
	go func() {
		if n := <-asked; n != 2 { // for the mount point, and to confine
			t.Errorf("asked after %d requests to the machine", n)
		}
		cancel()
	}()
	if err := w.look(ctx); err != nil {
		t.Fatal(err)
	}
	w.profiles.client = w.objects
	w.counts(0, nil)
	w.expect("only the one that was asked for is put off", w.counts(0, nil), []string{idle})
	w.profiles.client = objects
	w.within = time.Millisecond
	w.clock = w.clock.Add(tryAgain)
	if confined, _ := w.looks(); !maps.Equal(confined, map[string]int{b: 1}) {
		t.Error(confined)
	}
}

func TestContainersThatEndBeforeTheyAreCounted(t *testing.T) {
	w := newWorld(t, of("a", "calm"))
	calm := w.container("a", 0)
	w.counts(0, nil)
	if err := os.Remove(filepath.Join(w.machine.is.Cgroups, calm)); err != nil {
		t.Fatal(err)
	}
	w.expect("ended", w.counts(0, nil), []string{})
	w.container("a", 0)
	w.counts(0, nil)
	w.expect("started anew", w.counts(0, nil), []string{calm})
}

func TestFewAtATimeAndNoneWithoutCounters(t *testing.T) {
	var images, cgroups []string
	for n := range mostCounted + 1 {
		images = append(images, fmt.Sprint("image-", n))
	}
	w := newWorld(t, of("a", images...))
	w.machine.is.Left = map[string]string{}
	for n := range images {
		cgroups = append(cgroups, w.container("a", n))
		w.machine.is.Left[cgroups[n]] = "no counters here"
	}
	w.counts(0, nil)
	w.expect("the first", w.counts(0, nil), cgroups[:mostCounted])
	w.expect("the rest", w.counts(0, nil), cgroups[mostCounted:])
	w.expect("none", w.counts(tryAgain-time.Second, nil), []string{})
	w.expect("profiles", w.profiled(), nil)
}
