// SPDX-License-Identifier: Apache-2.0

package node

import (
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	podresource "k8s.io/component-helpers/resource"
	"k8s.io/utils/cpuset"

	"lopsided/fleet/api"
)

// capacity is the value of DomainsAnnotation: the CPUs of each domain without what the node keeps for itself (its capacity less what is allocatable) and
// what its own pods request. These may run anywhere, so each domain gives its share of that.
func capacity(n *v1.Node, pods []*v1.Pod, domains []string) (string, error) {
	kept := n.Status.Capacity.Cpu().MilliValue() - n.Status.Allocatable.Cpu().MilliValue()
	for _, pod := range pods {
		if api.IsNodesOwn(pod) && !ended(pod) {
			requests := podresource.PodRequests(pod, podresource.PodResourcesOptions{UseStatusResources: true})
			kept += requests.Cpu().MilliValue()
		}
	}
	var sizes []int64
	var all int64
	for _, text := range domains {
		cpus, err := cpuset.Parse(text)
		if err != nil {
			return "", fmt.Errorf("memory domain %q: %w", text, err)
		}
		sizes = append(sizes, int64(cpus.Size()))
		all += int64(cpus.Size())
	}
	if all == 0 || kept >= all*1000 {
		return "", fmt.Errorf("nothing is left for applications: of %d CPUs the node and its own pods keep %dm", all, kept)
	}
	var texts []string
	for _, size := range sizes {
		left := size*1000 - (size*kept+all-1)/all // rounded down
		texts = append(texts, resource.NewMilliQuantity(left, resource.DecimalSI).String())
	}
	return strings.Join(texts, ","), nil
}

func ended(pod *v1.Pod) bool {
	return pod.Status.Phase == v1.PodSucceeded || pod.Status.Phase == v1.PodFailed
}
