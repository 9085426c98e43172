#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# fleet-setup.sh: sourced by scripts/fleet-*.sh. Builds gather-scheduler, gather-power, gather-node and the API server of Kubernetes, and starts the API server with etcd on
# loopback, with the accounts and rights of fleet/manifests/. The first build takes minutes. All that runs ends with the script.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/need.sh cc go etcd curl openssl python3
go=$(scripts/go.sh)
bin=$PWD/target/fleet
(cd fleet/cmd && CGO_ENABLED=1 "$go" build -trimpath -o "$bin/" ./gather-scheduler ./gather-power ./gather-node k8s.io/kubernetes/cmd/kube-apiserver)

place=$(mktemp -d)
declare -A started
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
  "${@:2}" >>"$place/$1.log" 2>&1 &
  started[$1]=$!
}

# restart NAME: after kill -9.
restart() {
  { kill -9 "${started[$1]}" && wait "${started[$1]}"; } 2>/dev/null || true
  "$1"
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
    [ $SECONDS -lt $end ] || { echo "${0##*/}: not within $1 s: ${*:2}" >&2; return 1; }
    sleep 0.2
  done
}

api() { curl -sSf --cacert "$place/apiserver.crt" -H "Authorization: Bearer $token" "$server$1" "${@:2}"; }
create() { api "$1" -H 'Content-Type: application/yaml' --data-binary @- >/dev/null; }

# apply FILE: creates all objects of a manifest, where each kind belongs.
apply() {
  local object objects kind namespace
  objects=$(mktemp -d -p "$place")
  csplit -s -z -f "$objects/" "$1" '/^---$/' '{*}'
  for object in "$objects"/*; do
    kind=$(sed -n 's/^kind: //p' "$object")
    namespace=$(sed -n 's/^metadata: {.*namespace: \([a-z-]*\).*/\1/p' "$object")
    case $kind in
      CustomResourceDefinition) kind=apis/apiextensions.k8s.io/v1/customresourcedefinitions ;;
      ClusterRole | ClusterRoleBinding) kind=apis/rbac.authorization.k8s.io/v1/${kind,,}s ;;
      Role | RoleBinding) kind=apis/rbac.authorization.k8s.io/v1/namespaces/$namespace/${kind,,}s ;;
      Deployment | DaemonSet) kind=apis/apps/v1/namespaces/$namespace/${kind,,}s ;;
      ValidatingAdmissionPolicy) kind=apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies ;;
      ValidatingAdmissionPolicyBinding) kind=apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings ;;
      *) kind=api/v1/namespaces/$namespace/${kind,,}s ;;
    esac
    sed '/^---$/d' "$object" | create "/$kind?fieldValidation=Strict"
  done
}

# kubeconfig NAME [TOKEN]: of that account.
kubeconfig() {
  cat >"$place/$1.kubeconfig" <<EOF
apiVersion: v1
kind: Config
clusters: [{name: fleet, cluster: {server: "$server", certificate-authority: "$place/apiserver.crt"}}]
users: [{name: $1, user: {token: "${2:-$token-$1}"}}]
contexts: [{name: fleet, context: {cluster: fleet, user: $1}}]
current-context: fleet
EOF
}

while p=$((20000 + SRANDOM % 10000)) && in_use $p $((p + 1)) $((p + 2)); do :; done
etcd=http://127.0.0.1:$p peers=http://127.0.0.1:$((p + 1)) api_port=$((p + 2))
server=https://127.0.0.1:$api_port
token=$(openssl rand -hex 16)
echo "$token,admin,admin,system:masters" >"$place/tokens"
for account in gather-scheduler gather-power; do
  echo "$token-$account,system:serviceaccount:kube-system:$account,$account,\"system:serviceaccounts,system:serviceaccounts:kube-system\"" >>"$place/tokens"
done
openssl genrsa -out "$place/key" 2048 2>/dev/null
etcd() {
  start etcd command etcd --data-dir "$place/etcd" --listen-client-urls "$etcd" --advertise-client-urls "$etcd" --listen-peer-urls "$peers" \
    --initial-advertise-peer-urls "$peers" --initial-cluster "default=$peers"
}
# Without a kubelet nodes stay not ready, and without its controller pods have no account.
apiserver() {
  start apiserver "$bin/kube-apiserver" --etcd-servers "$etcd" --bind-address 127.0.0.1 --secure-port "$api_port" --cert-dir "$place" \
    --token-auth-file "$place/tokens" --authorization-mode RBAC --service-account-issuer "$server" --service-account-key-file "$place/key" \
    --service-account-signing-key-file "$place/key" --disable-admission-plugins ServiceAccount,TaintNodesByCondition
}
etcd
apiserver
within 120 api /readyz
within 30 api /api/v1/namespaces/default

within 30 api /api/v1/namespaces/kube-system
for manifest in fleet/manifests/*.yaml; do apply "$manifest"; done
within 30 api /apis/fleet.lopsided/v1alpha1/intensityprofiles
kubeconfig gather-scheduler
kubeconfig gather-power

# node NAME DOMAINS CORES
node() {
  create /api/v1/nodes <<EOF
apiVersion: v1
kind: Node
metadata:
  name: $1
  annotations: {fleet.lopsided/domains: "$2", fleet.lopsided/published: "$(date -u +%FT%TZ)"}
status:
  allocatable: {cpu: "$3", memory: 16Gi, pods: "110"}
  capacity: {cpu: "$3", memory: 16Gi, pods: "110"}
  conditions: [{type: Ready, status: "True"}]
EOF
}
{
  cat fleet/cmd/gather-scheduler/config.yaml
  echo "clientConnection: {kubeconfig: $place/gather-scheduler.kubeconfig}"
} >"$place/config.yaml"
scheduler() { start scheduler "$bin/gather-scheduler" --config "$place/config.yaml" --secure-port 0; }
power() { start power "$bin/gather-power" --config "$place/power.yaml" --kubeconfig "$place/gather-power.kubeconfig"; }

# pod NAME INTENSITY CORES: without an intensity it says nothing.
pod() {
  local labels=''
  [ -z "$2" ] || labels="fleet.lopsided/intensity: \"$2\""
  create /api/v1/namespaces/default/pods <<EOF
apiVersion: v1
kind: Pod
metadata: {name: $1, labels: {$labels}}
spec:
  schedulerName: gather-scheduler
  containers: [{name: main, image: none, resources: {requests: {cpu: $3}}}]
EOF
}

# publish NODE: as its agent would.
publish() {
  api "/api/v1/nodes/$1" -X PATCH -H 'Content-Type: application/merge-patch+json' \
    --data "{\"metadata\": {\"annotations\": {\"fleet.lopsided/published\": \"$(date -u +%FT%TZ)\"}}}" >/dev/null
}
