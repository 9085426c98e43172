#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# fleet-rate.sh: pods per second of gather-scheduler beside those of the default scheduler, in turn at one API server, NODES (1000) nodes without machines and
# PODS (10000) pods each time, ROUNDS (3) times. The pods are there before a scheduler starts. Prints rates, medians and their ratio, and judges nothing: a
# rate is that of this machine, busy as it is. CPU time is that of the scheduler, its start included.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/fleet-setup.sh
nodes=${NODES:-1000} pods=${PODS:-10000} rounds=${ROUNDS:-3}
export FLEET_SERVER=$server FLEET_TOKEN=$token FLEET_CA=$place/apiserver.crt

# Both are asked to write as fast as they can, as kube-scheduler's own benchmarks do, and neither waits for a lease.
connection="{kubeconfig: $place/gather-scheduler.kubeconfig, qps: 5000, burst: 5000}"
sed "s|staleAfter: 5m|staleAfter: 24h|; s|^leaderElection:|&\n  leaderElect: false|; \$a clientConnection: $connection" fleet/cmd/gather-scheduler/config.yaml >"$place/gather-scheduler.yaml"
cat >"$place/default-scheduler.yaml" <<YAML
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection: {leaderElect: false}
clientConnection: $connection
YAML
runs() { start scheduler "$bin/gather-scheduler" --config "$place/$1.yaml" --secure-port 0; }
stop() { { kill -9 "${started[$1]}" && wait "${started[$1]}"; } 2>/dev/null || true; }

python3 scripts/fleet-api.py nodes "$nodes" 8,8
declare -A rates
for ((round = 0; round < rounds; round++)); do
  for name in default-scheduler gather-scheduler; do
    python3 scripts/fleet-api.py pods "$pods" $name
    runs $name
    rate=$(python3 scripts/fleet-api.py rate "$pods")
    cpu=$(awk -v pods="$pods" -v ticks="$(getconf CLK_TCK)" '{ printf "%.2f", 1000 * ($14 + $15) / ticks / pods }' "/proc/${started[scheduler]}/stat")
    stop scheduler
    python3 scripts/fleet-api.py clear
    rates[$name]+="$rate "
    echo "$name $rate pods/s, $cpu ms of CPU time each"
  done
done
python3 - "${rates[default-scheduler]}" "${rates[gather-scheduler]}" <<'PY'
import statistics, sys
default, gather = (statistics.median(map(float, rates.split())) for rates in sys.argv[1:])
print(f"medians: default-scheduler {default:.1f}, gather-scheduler {gather:.1f} pods/s: {gather / default:.2f} of it")
PY
