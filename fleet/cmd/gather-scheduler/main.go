// SPDX-License-Identifier: Apache-2.0

// gather-scheduler is kube-scheduler with the plugin Gather.
package main

import (
	"os"

	"k8s.io/component-base/cli"
	"k8s.io/kubernetes/cmd/kube-scheduler/app"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/scheme"
	configv1 "k8s.io/kubernetes/pkg/scheduler/apis/config/v1"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"

	"lopsided/fleet/scheduler"
)

func main() {
	utilruntime.Must(scheduler.AddToScheme(scheme.Scheme))
	utilruntime.Must(scheduler.AddToScheme(configv1.GetPluginArgConversionScheme()))
	os.Exit(cli.Run(app.NewSchedulerCommand(app.WithPlugin(scheduler.Name, scheduler.New))))
}
