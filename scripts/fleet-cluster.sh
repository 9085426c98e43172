#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# fleet-cluster.sh: builds gather-scheduler and the API server of Kubernetes, starts both with etcd on loopback, adds two nodes without machines, and has
# pods placed on them. Fails unless they go where the rule puts them. The first build takes minutes. All that runs ends with the script.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/need.sh cc go etcd curl openssl
go=$(scripts/go.sh)
bin=$PWD/target/fleet
(cd fleet/cmd && CGO_ENABLED=1 "$go" build -trimpath -o "$bin/" ./gather-scheduler k8s.io/kubernetes/cmd/kube-apiserver)

place=$(mktemp -d)
started=()
finish() {
  local code=$?
  [ ${#started[@]} = 0 ] || { kill -9 "${started[@]}" && wait; } 2>/dev/null || true # without etcd the API server waits for minutes
  [ $code = 0 ] || tail -n 5 "$place"/*.log >&2
  rm -rf "$place"
  exit $code
}
trap finish EXIT

# start NAME COMMAND...: with its output in a file.
start() {
  "${@:2}" >"$place/$1.log" 2>&1 &
  started+=($!)
}

# in_use PORT...: whether somebody listens on one of these on loopback.
in_use() {
  local port
  for port; do (: </dev/tcp/127.0.0.1/"$port") 2>/dev/null && return; done
  return 1
}

# within SECONDS COMMAND...: tries until it succeeds.
within() {
  local end=$((SECONDS + $1))
  until "${@:2}" >/dev/null 2>&1; do
    [ $SECONDS -lt $end ] || { echo "fleet-cluster.sh: not within $1 s: ${*:2}" >&2; return 1; }
    sleep 0.2
  done
}

api() { curl -sSf --cacert "$place/apiserver.crt" -H "Authorization: Bearer $token" "$server$1" "${@:2}"; }
create() { api "$1" -H 'Content-Type: application/yaml' --data-binary @- >/dev/null; }

while p=$((20000 + SRANDOM % 10000)) && in_use $p $((p + 1)) $((p + 2)); do :; done
etcd=http://127.0.0.1:$p peers=http://127.0.0.1:$((p + 1)) api_port=$((p + 2))
server=https://127.0.0.1:$api_port
token=$(openssl rand -hex 16)
echo "$token,admin,admin,system:masters" >"$place/tokens"
openssl genrsa -out "$place/key" 2048 2>/dev/null
start etcd etcd --data-dir "$place/etcd" --listen-client-urls "$etcd" --advertise-client-urls "$etcd" --listen-peer-urls "$peers" \
  --initial-advertise-peer-urls "$peers" --initial-cluster "default=$peers"
# Without a kubelet nodes stay not ready, and without its controller pods have no account.
start apiserver "$bin/kube-apiserver" --etcd-servers "$etcd" --bind-address 127.0.0.1 --secure-port "$api_port" --cert-dir "$place" \
  --token-auth-file "$place/tokens" --authorization-mode RBAC --service-account-issuer "$server" --service-account-key-file "$place/key" \
  --service-account-signing-key-file "$place/key" --disable-admission-plugins ServiceAccount,TaintNodesByCondition
within 120 api /readyz
within 30 api /api/v1/namespaces/default

cat >"$place/kubeconfig" <<EOF
apiVersion: v1
kind: Config
clusters: [{name: fleet, cluster: {server: "$server", certificate-authority: "$place/apiserver.crt"}}]
users: [{name: admin, user: {token: "$token"}}]
contexts: [{name: fleet, context: {cluster: fleet, user: admin}}]
current-context: fleet
EOF
for node in a b; do
  create /api/v1/nodes <<EOF
apiVersion: v1
kind: Node
metadata:
  name: $node
  annotations: {fleet.lopsided/domains: "4,4", fleet.lopsided/published: "$(date -u +%FT%TZ)"}
status:
  allocatable: {cpu: "8", memory: 16Gi, pods: "110"}
  capacity: {cpu: "8", memory: 16Gi, pods: "110"}
EOF
done
{
  cat fleet/cmd/gather-scheduler/config.yaml
  echo "clientConnection: {kubeconfig: $place/kubeconfig}"
} >"$place/config.yaml"
scheduler() { start scheduler "$bin/gather-scheduler" --config "$place/config.yaml" --secure-port 0 --leader-elect=false; }
scheduler

# pod NAME INTENSITY PLACE: has a pod of one core placed, and says where it is.
pod() {
  create /api/v1/namespaces/default/pods <<EOF
apiVersion: v1
kind: Pod
metadata: {name: $1, labels: {fleet.lopsided/intensity: "$2"}}
spec:
  schedulerName: gather-scheduler
  containers: [{name: main, image: none, resources: {requests: {cpu: 1}}}]
EOF
  within 60 placed "$1"
  local went
  went=$(placed "$1")
  printf '%-10s %10s   %s\n' "$1" "$2" "$went"
  [ "$went" = "$3" ] || { echo "fleet-cluster.sh: $1 was to go to $3" >&2; exit 1; }
}
# Node and domain, once it is bound.
placed() {
  api "/api/v1/namespaces/default/pods/$1" >"$place/pod"
  local node
  node=$(sed -n 's/^    "nodeName": "\(.*\)".*/\1/p' "$place/pod")
  [ -n "$node" ] && echo "$node.$(sed -n 's|.*"fleet.lopsided/domain": "\(.*\)".*|\1|p' "$place/pod")"
}

echo 'pod         intensity   node.domain'
pod fierce 30 a.0
pod moderate 0.5 a.1
pod calm 0.05 a.0
{ kill -9 "${started[-1]}" && wait "${started[-1]}"; } 2>/dev/null || true
unset 'started[-1]'
scheduler
pod second 0.5 a.1 # the new scheduler knows who is where: else fierce counts in both domains of a, and b is next
