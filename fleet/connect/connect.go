// SPDX-License-Identifier: Apache-2.0

// Package connect is how the programs of fleet/ that are not kube-scheduler reach the API server.
package connect

import (
	"context"
	"fmt"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/events"
)

// To says how: as the file does, or without one as the cluster tells a pod.
func To(kubeconfig string) (*rest.Config, error) {
	if kubeconfig != "" {
		return clientcmd.BuildConfigFromFlags("", kubeconfig)
	}
	to, err := rest.InClusterConfig()
	if err != nil {
		return nil, fmt.Errorf("%w: outside a cluster --kubeconfig is needed", err)
	}
	return to, nil
}

// Recorder writes events by the program of this name, until the context ends or the function is called.
func Recorder(ctx context.Context, client kubernetes.Interface, name string) (events.EventRecorder, func(), error) {
	broadcaster := events.NewBroadcaster(&events.EventSinkImpl{Interface: client.EventsV1()})
	if err := broadcaster.StartRecordingToSinkWithContext(ctx); err != nil {
		broadcaster.Shutdown()
		return nil, nil, err
	}
	return broadcaster.NewRecorder(scheme.Scheme, name), broadcaster.Shutdown, nil
}
