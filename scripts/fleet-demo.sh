#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# fleet-demo.sh: kube-scheduler as it is shipped, with MostAllocated, and with Gather place the same arrivals on MACHINES (20) nodes without machines, ten for each,
# drawn from SEED (1): those of `lop reproduce fleet`. They run in simulated time, so that hours take minutes. Prints a verdict and a table; fails unless Gather's outcome
# is that of the simulator.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/need.sh rust bpf
cargo build --locked -q -p lop-simulator --example fleet_demo
. scripts/fleet-setup.sh
machines=${MACHINES:-20} seed=${SEED:-1}
export FLEET_SERVER=$server FLEET_TOKEN=$token FLEET_CA=$place/apiserver.crt

# One process with a profile for each. What nodes published stays valid in real time.
sed "s|staleAfter: 5m|staleAfter: 24h|; s|^leaderElection:|&\n  leaderElect: false|" fleet/cmd/gather-scheduler/config.yaml >"$place/demo.yaml"
cat >>"$place/demo.yaml" <<YAML
  - schedulerName: default-scheduler
  - schedulerName: probe
  - schedulerName: most-allocated
    pluginConfig:
      - name: NodeResourcesFit
        args: {scoringStrategy: {type: MostAllocated, resources: [{name: cpu, weight: 1}]}}
clientConnection: {kubeconfig: $place/gather-scheduler.kubeconfig, qps: 5000, burst: 5000}
YAML
python3 scripts/fleet-api.py nodes "$machines" 4,4
start scheduler "$bin/gather-scheduler" --config "$place/demo.yaml" --secure-port 0
target/debug/examples/fleet_demo "$machines" "$seed" default-scheduler:on default-scheduler:off most-allocated:off gather-scheduler:off
