// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"fmt"
	"testing"

	v1 "k8s.io/api/core/v1"

	"lopsided/fleet/api"
)

// What the plugin adds to the scheduling cycle of one pod, all its calls together: nodes of two domains of 32 cores, ten pods on
// each.
func BenchmarkArrival(b *testing.B) {
	for _, size := range []int{10, 100, 1000, 10000} {
		b.Run(fmt.Sprintf("nodes=%d", size), func(b *testing.B) {
			c := newCluster(b)
			for n := range size {
				name := fmt.Sprintf("n%05d", n)
				c.add(name, "32,32")
				for p := range 10 {
					pod := c.pod(fmt.Sprintf("%s-%d", name, p), "2", []string{"0.05", "0.5", "30"}[n%3])
					pod.Spec.NodeName = name
					pod.Annotations = map[string]string{api.DomainAnnotation: fmt.Sprint(p % 2)}
					c.nodes[name].add(pod)
				}
			}
			c.takeSnapshot()
			c.stored = map[string]*v1.Pod{} // the cluster looks through all of them for nominated ones, kube-scheduler does not
			pod := c.pod("arrives", "2", "0.5")
			for b.Loop() {
				y, err := c.beginIn(pod)
				if err != nil {
					b.Fatal(err)
				}
				if status := c.gather.Reserve(b.Context(), y.state, pod, y.node); !status.IsSuccess() {
					b.Fatal(status)
				}
				c.gather.Unreserve(b.Context(), y.state, pod, y.node)
			}
		})
	}
}
