// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"
)

// placed is counted once a pod is bound.
var placed = metrics.NewCounterVec(&metrics.CounterOpts{
	Subsystem:      "lopsided_gather",
	Name:           "placements_total",
	Help:           "Pods bound, by what decided on the memory domain",
	StabilityLevel: metrics.ALPHA,
}, []string{"place"})

func init() { legacyregistry.MustRegister(placed) }
