// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	configv1 "k8s.io/kube-scheduler/config/v1"
)

// GatherArgs is the plugin's part of a KubeSchedulerConfiguration: the args of a pluginConfig with the name Gather.
type GatherArgs struct {
	metav1.TypeMeta `json:",inline"`

	// StaleAfter is how old what a node published may be, and how far its clock may differ. 5m if it is not set. Nodes
	// should publish at least twice as often.
	StaleAfter metav1.Duration `json:"staleAfter"`

	// ProfileStaleAfter is the same for an IntensityProfile. 720h, which is 30 days, if it is not set.
	ProfileStaleAfter metav1.Duration `json:"profileStaleAfter"`
}

// DeepCopyObject copies the args.
func (a *GatherArgs) DeepCopyObject() runtime.Object {
	c := *a
	return &c
}

func (a *GatherArgs) setDefaults() {
	if a.StaleAfter.Duration == 0 {
		a.StaleAfter.Duration = 5 * time.Minute
	}
	if a.ProfileStaleAfter.Duration == 0 {
		a.ProfileStaleAfter.Duration = 720 * time.Hour
	}
}

func (a *GatherArgs) validate() error {
	if a.StaleAfter.Duration < time.Second {
		return fmt.Errorf("staleAfter: %v: nodes can't publish that often, 1s is the least", a.StaleAfter.Duration)
	}
	if a.ProfileStaleAfter.Duration < time.Second {
		return fmt.Errorf("profileStaleAfter: %v: 1s is the least", a.ProfileStaleAfter.Duration)
	}
	return nil
}

// AddToScheme makes a scheme know the args. kube-scheduler has two: by one it decodes configurations, by the other it fills
// in what is not set. One type stands for the external and the internal version.
func AddToScheme(s *runtime.Scheme) error {
	internal := schema.GroupVersion{Group: configv1.GroupName, Version: runtime.APIVersionInternal}
	for _, version := range []schema.GroupVersion{configv1.SchemeGroupVersion, internal} {
		s.AddKnownTypes(version, &GatherArgs{})
	}
	s.AddTypeDefaultingFunc(&GatherArgs{}, func(a any) { a.(*GatherArgs).setDefaults() })
	return nil
}
