// SPDX-License-Identifier: Apache-2.0

package power

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"lopsided/fleet/connect"
)

const (
	name           = "gather-power"
	leaseNamespace = "kube-system"
)

// Lead runs a controller while this process is the one that holds the lease, until the context ends. An error says that the lease is lost.
func Lead(ctx context.Context, config *Config, to *rest.Config, self string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	to = rest.AddUserAgent(rest.CopyConfig(to), name)
	to.QPS, to.Burst = 50, 100 // as kube-scheduler: at first all nodes may have to be written to
	client, err := kubernetes.NewForConfig(to)
	if err != nil {
		return err
	}
	recorder, shutdown, err := connect.Recorder(ctx, client, name)
	if err != nil {
		return err
	}
	defer shutdown()
	factory := informers.NewSharedInformerFactory(client, 0)
	c, err := New(config, client, factory, recorder, self)
	if err != nil {
		return err
	}
	host, err := os.Hostname()
	if err != nil {
		return err
	}
	// While it is not the leader it knows nothing, so that what it knows when it becomes that is not older than the lease.
	run := func(ctx context.Context) {
		factory.Start(ctx.Done())
		c.Run(ctx)
	}
	leaderelection.RunOrDie(ctx, leaderelection.LeaderElectionConfig{
		Lock: &resourcelock.LeaseLock{
			LeaseMeta:  metav1.ObjectMeta{Namespace: leaseNamespace, Name: name},
			Client:     client.CoordinationV1(),
			LockConfig: resourcelock.ResourceLockConfig{Identity: fmt.Sprintf("%s_%s", host, uuid.NewUUID())},
		},
		LeaseDuration: 15 * time.Second, RenewDeadline: 10 * time.Second, RetryPeriod: 2 * time.Second,
		Callbacks: leaderelection.LeaderCallbacks{OnStartedLeading: run, OnStoppedLeading: func() {}},
	})
	if ctx.Err() == nil {
		return errors.New("lease " + leaseNamespace + "/" + name + " is lost: another one leads now, or the API server did not answer for 10 s")
	}
	return nil
}

// Run looks whenever something has changed, once a second at most, and every five seconds anyway, until the context ends.
func (c *Controller) Run(ctx context.Context) {
	if !cache.WaitForCacheSync(ctx.Done(), c.synced...) {
		return
	}
	ticker := time.NewTicker(5 * time.Second)
	defer ticker.Stop()
	for ctx.Err() == nil {
		c.look(ctx)
		select {
		case <-ctx.Done():
		case <-time.After(time.Second):
		}
		select {
		case <-ctx.Done():
		case <-c.changed:
		case <-ticker.C:
		case o := <-c.ended:
			c.end(ctx, o)
		}
		for more := true; more; {
			select {
			case o := <-c.ended:
				c.end(ctx, o)
			default:
				more = false
			}
		}
	}
}
