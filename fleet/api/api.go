// SPDX-License-Identifier: Apache-2.0

// Package api is what node agent, scheduler and power controller say to each other through the API server of Kubernetes:
// annotations and labels, and which pods count.
package api

import (
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// On a node.
const (
	// DomainsAnnotation is what applications may ask for in each memory domain, in cores: "8,8", or "7500m,8"; 0 while its CPUs are offline. Who
	// publishes it leaves out what the node keeps for itself and its DaemonSets.
	DomainsAnnotation = "fleet.lopsided/domains"
	// PublishedAnnotation is when the domains were last looked at, as in RFC 3339.
	PublishedAnnotation = "fleet.lopsided/published"
	// PowerAnnotation is PowerOff while the machine is switched off by somebody who switches it on for pods that wait. Who
	// does that removes it once the machine is on and has published again: until then its figures are old.
	PowerAnnotation = "fleet.lopsided/power"
	PowerOff        = "off"
)

// On a pod.
const (
	// DomainAnnotation is the memory domain it is to run in, counted from 0 in the order in which its node published
	// them. The scheduler writes it as it binds the pod; gather-node confines the pod to it.
	DomainAnnotation = "fleet.lopsided/domain"
	// ReasonAnnotation says to people what decided, and how much CPU the domain had left.
	ReasonAnnotation = "fleet.lopsided/reason"
	// IntensityLabel is its owner's word on its use of memory: very-low, moderate or intensive, or misses of the
	// last-level cache per 1,000 instructions that were measured elsewhere, such as 0.4.
	IntensityLabel = "fleet.lopsided/intensity"
)

// IsNodesOwn says whether a pod belongs to its node, as those of a DaemonSet and static ones do. A node that has no
// other pods is empty.
func IsNodesOwn(pod *v1.Pod) bool {
	owner := metav1.GetControllerOf(pod)
	return owner != nil && (owner.Kind == "DaemonSet" || owner.Kind == "Node")
}
