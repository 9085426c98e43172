// SPDX-License-Identifier: Apache-2.0

package api

import (
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// IntensityProfiles is the resource of IntensityProfile; manifests/intensityprofile.yaml defines it.
var IntensityProfiles = schema.GroupVersionResource{Group: "fleet.lopsided", Version: "v1alpha1", Resource: "intensityprofiles"}

// IntensityProfile is how intensively containers of one image use memory, in the pods of one owner in its namespace.
type IntensityProfile struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              IntensityProfileSpec `json:"spec"`
}

// IntensityProfileSpec says of whom, how intensively, and how that is known.
type IntensityProfileSpec struct {
	Owner      Owner       `json:"owner"`
	Image      string      `json:"image"`      // as in the pods' spec
	Intensity  string      `json:"intensity"`  // as in IntensityLabel
	Source     string      `json:"source"`     // who says so, for people
	MeasuredAt metav1.Time `json:"measuredAt"` // when that was known
}

// Owner is what pods come from.
type Owner struct {
	Kind string `json:"kind"`
	Name string `json:"name"`
}

// OwnerOf is the pod's controller, for a ReplicaSet of a Deployment that one, so that a profile outlives a rollout. A pod without one is its own.
func OwnerOf(pod *v1.Pod) Owner {
	controller := metav1.GetControllerOf(pod)
	if controller == nil {
		return Owner{"Pod", pod.Name}
	}
	// A Deployment names its ReplicaSets by this label, which it gives to their pods.
	hash := pod.Labels["pod-template-hash"]
	if name, is := strings.CutSuffix(controller.Name, "-"+hash); controller.Kind == "ReplicaSet" && hash != "" && is {
		return Owner{"Deployment", name}
	}
	return Owner{controller.Kind, controller.Name}
}

// DeepCopyObject copies the profile.
func (p *IntensityProfile) DeepCopyObject() runtime.Object {
	c := *p
	p.ObjectMeta.DeepCopyInto(&c.ObjectMeta)
	p.Spec.MeasuredAt.DeepCopyInto(&c.Spec.MeasuredAt)
	return &c
}
