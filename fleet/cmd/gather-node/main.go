// SPDX-License-Identifier: Apache-2.0

// gather-node publishes the memory domains of its node, has pods confined to those that the scheduler chose, and measures how intensively they use memory.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"lopsided/fleet/connect"
	"lopsided/fleet/node"
)

func main() {
	kubeconfig := flag.String("kubeconfig", "", "file that says how to reach the API server, for use outside the cluster")
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "usage: NODE_NAME=NAME gather-node [--kubeconfig FILE] [COMMAND...]\n\nCOMMAND is what serves it on this machine, by default: lop agent --node\n\nOptions:")
		flag.PrintDefaults()
	}
	flag.Parse()
	if err := run(*kubeconfig, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "gather-node:", err)
		os.Exit(1)
	}
}

func run(kubeconfig string, command []string) error {
	if len(command) == 0 {
		command = []string{"lop", "agent", "--node"}
	}
	self := os.Getenv("NODE_NAME")
	if self == "" {
		return fmt.Errorf("NODE_NAME is not set, so it is not known which node this machine is: set it to spec.nodeName by the downward API, as fleet/manifests does")
	}
	api, err := connect.To(kubeconfig)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return node.Run(ctx, api, self, command)
}
