// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	podresource "k8s.io/component-helpers/resource"

	"lopsided/fleet/api"
	"lopsided/fleet/gather"
)

var classes = map[string]gather.Class{"very-low": gather.VeryLow, "moderate": gather.Moderate, "intensive": gather.Intensive}

// parseIntensity reads what a label or a profile says.
func parseIntensity(text string) (gather.Intensity, error) {
	if class, found := classes[text]; found {
		return gather.Intensity{Declared: class}, nil
	}
	mpki, err := resource.ParseQuantity(text)
	if err != nil || mpki.Sign() < 0 || mpki.CmpInt64(1000) > 0 {
		return gather.Intensity{}, fmt.Errorf("%q is neither very-low, moderate, intensive nor a number from 0 to 1000", text)
	}
	return gather.Intensity{MPMI: uint32(mpki.MilliValue()), Measured: time.Second}, nil
}

// assumed is what a container counts with that asks for no CPU, as in kube-scheduler, and a pod that asks for 0: else a domain without CPUs would have room for it.
var assumed = v1.ResourceList{v1.ResourceCPU: resource.MustParse("100m")}

// application is what the rule sees of a pod.
func application(pod *v1.Pod, profiles *profiles) gather.Application {
	intensity, _ := profiles.intensity(pod) // PostBind says what is wrong
	asked := podresource.PodRequests(pod, podresource.PodResourcesOptions{
		UseStatusResources:          true,
		NonMissingContainerRequests: assumed,
	})
	return gather.Application{
		MilliCPU:  uint32(min(cmp.Or(asked.Cpu().MilliValue(), assumed.Cpu().MilliValue()), math.MaxUint32)),
		Intensity: intensity,
	}
}

// annotatedDomain is negative if the pod has none.
func annotatedDomain(pod *v1.Pod) int {
	domain, err := strconv.Atoi(pod.Annotations[api.DomainAnnotation])
	if err != nil {
		return -1
	}
	return domain
}
