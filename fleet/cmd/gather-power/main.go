// SPDX-License-Identifier: Apache-2.0

// gather-power switches off the machines of nodes without pods, and on again those that pods wait for.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"k8s.io/client-go/rest"

	"lopsided/fleet/connect"
	"lopsided/fleet/power"
)

func main() {
	file := flag.String("config", "", "file that says how machines are switched (needed)")
	kubeconfig := flag.String("kubeconfig", "", "file that says how to reach the API server, for use outside the cluster")
	flag.Parse()
	if err := run(*file, *kubeconfig); err != nil {
		fmt.Fprintln(os.Stderr, "gather-power:", err)
		os.Exit(1)
	}
}

func run(file, kubeconfig string) error {
	if file == "" || flag.NArg() > 0 {
		return fmt.Errorf("usage: gather-power --config FILE [--kubeconfig FILE]")
	}
	config, err := power.Load(file)
	if err != nil {
		return err
	}
	api, self, err := place(kubeconfig)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return power.Lead(ctx, config, api, self)
}

// place says how to reach the API server, and on which node this runs: on none with a kubeconfig and without NODE_NAME.
func place(kubeconfig string) (*rest.Config, string, error) {
	api, err := connect.To(kubeconfig)
	if err != nil {
		return nil, "", err
	}
	self := os.Getenv("NODE_NAME")
	if self == "" && kubeconfig == "" {
		return nil, "", fmt.Errorf("NODE_NAME is not set, so it is not known which node never to switch off: set it to spec.nodeName by the downward API, as fleet/manifests does")
	}
	return api, self, nil
}
