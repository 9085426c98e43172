// SPDX-License-Identifier: Apache-2.0

package gather

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// One arrival on machines of two domains of 32 cores, of which three quarters have applications.
func BenchmarkPlace(b *testing.B) {
	for _, size := range []int{1, 10, 100, 1000, 10000} {
		b.Run(fmt.Sprintf("machines=%d", size), func(b *testing.B) {
			r := rand.New(rand.NewPCG(1, 24))
			fleet := make([]*Machine, size)
			for n := range fleet {
				fleet[n] = NewMachine(32000, 32000)
				for range 12 * min(1, n%4) {
					fleet[n].Add(r.IntN(2), drawApplication(r))
				}
			}
			arriving := make([]Application, 1024)
			for n := range arriving {
				arriving[n] = drawApplication(r)
			}
			n := 0
			for b.Loop() {
				Place(fleet, arriving[n%len(arriving)])
				n++
			}
		})
	}
}
