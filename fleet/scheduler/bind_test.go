// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"context"
	"testing"
	"testing/synctest"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientset "k8s.io/client-go/kubernetes"
	core "k8s.io/client-go/kubernetes/typed/core/v1"
	framework "k8s.io/kube-scheduler/framework"
)

// slow is an API server that answers one request for each answer that it is given.
type slow struct {
	framework.Handle
	clientset.Interface
	core.CoreV1Interface
	core.PodInterface
	asked, answers chan struct{}
}

func (s slow) APICacher() framework.APICacher { return nil }
func (s slow) ClientSet() clientset.Interface { return s }
func (s slow) CoreV1() core.CoreV1Interface   { return s }
func (s slow) Pods(string) core.PodInterface  { return s }
func (s slow) Bind(context.Context, *v1.Binding, metav1.CreateOptions) error {
	s.asked <- struct{}{}
	<-s.answers
	return nil
}

func TestBindingsUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := slow{asked: make(chan struct{}, 1000), answers: make(chan struct{})}
		g := &Gather{handle: server, binding: make(chan struct{}, maxBinding)}
		ctx, cancel := context.WithCancel(context.Background())
		var bound, cancelled int
		ended := make(chan error, 1000)
		for range maxBinding + 10 {
			go func() { ended <- g.bind(ctx, &v1.Binding{}) }()
		}
		wants := func(when string, asked, wantBound, wantCancelled int) {
			t.Helper()
			synctest.Wait()
			for len(ended) > 0 {
				if err := <-ended; err == nil {
					bound++
				} else {
					cancelled++
				}
			}
			if len(server.asked) != asked || bound != wantBound || cancelled != wantCancelled {
				t.Errorf("%s: %d asked for, %d bound, %d cancelled", when, len(server.asked), bound, cancelled)
			}
		}
		wants("at first", maxBinding, 0, 0)
		server.answers <- struct{}{}
		wants("after an answer", maxBinding+1, 1, 0)
		cancel()
		wants("at the end", maxBinding+1, 1, 9)
		for range maxBinding {
			server.answers <- struct{}{}
		}
		wants("when all are answered", maxBinding+1, maxBinding+1, 9)
	})
}

// Profiles of one process share its client, so they share the bound, too.
func TestProfilesBindTogether(t *testing.T) {
	first, second := newCluster(t).gather, newCluster(t).gather
	if first.binding != second.binding || cap(first.binding) != maxBinding {
		t.Errorf("bounds of %d and %d", cap(first.binding), cap(second.binding))
	}
}
