// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"context"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
	framework "k8s.io/kube-scheduler/framework"

	"lopsided/fleet/api"
	"lopsided/fleet/gather"
)

func TestDeclared(t *testing.T) {
	measured := func(mpmi uint32) gather.Intensity { return gather.Intensity{MPMI: mpmi, Measured: time.Second} }
	for _, test := range []struct {
		label string
		is    gather.Intensity
		wrong bool
	}{
		{"very-low", gather.Intensity{Declared: gather.VeryLow}, false},
		{"moderate", gather.Intensity{Declared: gather.Moderate}, false},
		{"intensive", gather.Intensity{Declared: gather.Intensive}, false},
		{"0.05", measured(50), false},
		{"25", measured(25000), false},
		{"0", measured(0), false},
		{"1000", measured(1000000), false},
		{"1001", gather.Intensity{}, true},
		{"-1", gather.Intensity{}, true},
		{"unknown", gather.Intensity{}, true},
		{"", gather.Intensity{}, true},
	} {
		pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{api.IntensityLabel: test.label}}}
		is, err := (&profiles{}).intensity(pod)
		if is != test.is || (err != nil) != test.wrong {
			t.Errorf("%q: %+v, %v", test.label, is, err)
		}
	}
	if is, err := (&profiles{}).intensity(&v1.Pod{}); is != (gather.Intensity{}) || err != nil {
		t.Errorf("no label: %+v, %v", is, err)
	}
}

func TestWhatPodsAskFor(t *testing.T) {
	asks := func(cores string) v1.Container {
		if cores == "" {
			return v1.Container{}
		}
		return v1.Container{Resources: v1.ResourceRequirements{Requests: v1.ResourceList{v1.ResourceCPU: resource.MustParse(cores)}}}
	}
	always := v1.ContainerRestartPolicyAlways
	declared := metav1.ObjectMeta{Labels: map[string]string{api.IntensityLabel: "moderate"}}
	sidecar := asks("200m")
	sidecar.RestartPolicy = &always
	for _, test := range []struct {
		why  string
		spec v1.PodSpec
		asks uint32
	}{
		{"all containers", v1.PodSpec{Containers: []v1.Container{asks("1"), asks("500m")}}, 1500},
		{"nothing", v1.PodSpec{Containers: []v1.Container{asks("")}}, 100},
		{"nothing, in so many words", v1.PodSpec{Containers: []v1.Container{asks("0")}}, 100},
		{"nothing for one of its containers", v1.PodSpec{Containers: []v1.Container{asks("0"), asks("1m")}}, 1},
		{"more while it begins", v1.PodSpec{InitContainers: []v1.Container{asks("3")}, Containers: []v1.Container{asks("1")}}, 3000},
		{"a sidecar", v1.PodSpec{InitContainers: []v1.Container{sidecar}, Containers: []v1.Container{asks("1")}}, 1200},
		{"overhead", v1.PodSpec{Containers: []v1.Container{asks("1")}, Overhead: v1.ResourceList{v1.ResourceCPU: resource.MustParse("250m")}}, 1250},
		{"more than anybody has", v1.PodSpec{Containers: []v1.Container{asks("10000000")}}, 1<<32 - 1},
	} {
		if is := application(&v1.Pod{Spec: test.spec, ObjectMeta: declared}, &profiles{}).MilliCPU; is != test.asks {
			t.Errorf("%s: %d, not %d", test.why, is, test.asks)
		}
	}
}

// A pod that was rejected is tried again if its node changed, not whenever it publishes.
func TestNodeChanged(t *testing.T) {
	c := newCluster(t)
	c.add("a", "4,4")
	before := c.nodes["a"].node
	for _, test := range []struct {
		why    string
		change func()
		hint   framework.QueueingHint
	}{
		{"the same, later", func() { c.annotate("a", api.PublishedAnnotation, c.clock.Add(5*time.Minute).Format(time.RFC3339)) }, framework.QueueSkip},
		{"after a pause that made it stale", func() {
			c.annotate("a", api.PublishedAnnotation, c.clock.Add(5*time.Minute+time.Second).Format(time.RFC3339))
		}, framework.Queue},
		{"other domains", func() { c.annotate("a", api.DomainsAnnotation, "4,5") }, framework.Queue},
		{"first domains", func() { before = &v1.Node{} }, framework.Queue},
		{"off", func() { c.annotate("a", api.PowerAnnotation, "off") }, framework.Queue},
		{"something else", func() { c.annotate("a", "something.else", "x") }, framework.QueueSkip},
	} {
		c.add("a", "4,4")
		before = c.nodes["a"].node
		test.change()
		if hint, err := c.gather.nodeChanged(klog.Logger{}, nil, before, c.nodes["a"].node); hint != test.hint || err != nil {
			t.Errorf("%s: %v, %v", test.why, hint, err)
		}
	}
	off := &v1.Node{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{api.PowerAnnotation: "off"}}}
	tainted := off.DeepCopy()
	tainted.Spec.Taints = []v1.Taint{{Key: "reserved", Effect: v1.TaintEffectNoSchedule}}
	for _, test := range []struct {
		why           string
		before, after any
		hint          framework.QueueingHint
	}{
		{"a new node", nil, before, framework.Queue},
		{"a node that is on goes", before, nil, framework.QueueSkip},
		{"one that is off goes", off, nil, framework.Queue},
		{"one that is off changes", off, tainted, framework.Queue},
	} {
		if hint, err := c.gather.nodeChanged(klog.Logger{}, nil, test.before, test.after); hint != test.hint || err != nil {
			t.Errorf("%s: %v, %v", test.why, hint, err)
		}
	}
	registered, err := c.gather.EventsToRegister(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	var of framework.ActionType // of nodes
	for _, event := range registered {
		if event.Event.Resource == framework.Node {
			of |= event.Event.ActionType
		}
	}
	for _, action := range []framework.ActionType{framework.Delete, framework.UpdateNodeTaint, framework.UpdateNodeLabel, framework.UpdateNodeAllocatable} {
		if of&action == 0 {
			t.Errorf("does not hear of %v", action)
		}
	}
}
