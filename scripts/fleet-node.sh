#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# fleet-node.sh: runs gather-node with lop on folders that look like a machine with two memory domains, for a node of an API server with the rights of fleet/manifests/. Fails
# unless it publishes the domains, confines a pod, gives its CPUs back, also after kill -9, may write profiles, and may change no other node.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/fleet-setup.sh
lop=$(scripts/built.sh)/lop

put() { mkdir -p "$(dirname "$place/$1")" && echo "$2" >"$place/$1"; }
put proc/self/mountinfo '42 24 0:39 / /cg rw - cgroup2 cgroup2 rw'
put cg/cgroup.controllers 'cpuset cpu'
put cg/kubepods.slice/cpuset.cpus.effective 0-3
put sys/devices/system/cpu/present 0-3
put sys/devices/system/cpu/online 0-3
for cpu in 0 1 2 3; do
  cache=sys/devices/system/cpu/cpu$cpu/cache/index0
  put $cache/level 3
  put $cache/type Unified
  put $cache/shared_cpu_list $((cpu / 2 * 2))-$((cpu / 2 * 2 + 1))
done

node here 1 4
node elsewhere 1 4
create /api/v1/namespaces/default/pods <<'EOF'
apiVersion: v1
kind: Pod
metadata: {name: pinned, annotations: {fleet.lopsided/domain: "1"}}
spec: {nodeName: here, containers: [{name: main, image: none, resources: {requests: {cpu: 1}}}]}
EOF
uid=$(api /api/v1/namespaces/default/pods/pinned | sed -n 's/^    "uid": "\(.*\)".*/\1/p')
cpus=cg/kubepods.slice/kubepods-pod${uid//-/_}.slice/cpuset.cpus
put "$cpus" ''

# A token as kubelet gives it to the agent's pod, which names its node.
create /api/v1/namespaces/kube-system/pods <<'EOF'
apiVersion: v1
kind: Pod
metadata: {name: gather-node-1}
spec: {nodeName: here, serviceAccountName: gather-node, containers: [{name: main, image: none}]}
EOF
agent_token=$(api /api/v1/namespaces/kube-system/serviceaccounts/gather-node/token -H 'Content-Type: application/yaml' --data-binary @- <<'EOF' |
apiVersion: authentication.k8s.io/v1
kind: TokenRequest
spec: {boundObjectRef: {apiVersion: v1, kind: Pod, name: gather-node-1}}
EOF
  sed -n 's/^    "token": "\(.*\)".*/\1/p')
kubeconfig gather-node "$agent_token"
agent() {
  NODE_NAME=here start agent "$bin/gather-node" --kubeconfig "$place/gather-node.kubeconfig" "$lop" agent --node --root "$place" --run-dir "$place/run"
}
has() { api "/api/v1/nodes/$1" | grep -qF "$2"; }
pinned_to() { [ "$(cat "$place/$cpus")" = "$1" ]; }

agent
within 30 pinned_to 2-3
within 30 has here '"fleet.lopsided/domains": "2,2"'
{ kill -9 "${started[agent]}" && wait "${started[agent]}"; } 2>/dev/null || true
within 30 flock -n "$place/run/node.journal" true # lop's input has ended, and so has lop
pinned_to ''
agent
within 30 pinned_to 2-3
kill "${started[agent]}"
wait "${started[agent]}"
unset 'started[agent]'
pinned_to ''
echo 'a pod was confined and has its CPUs back; the node has published 2,2'

# refused NODE PATCH WHY
refused() {
  curl -sS --cacert "$place/apiserver.crt" -H "Authorization: Bearer $agent_token" "$server/api/v1/nodes/$1" -X PATCH \
    -H 'Content-Type: application/merge-patch+json' --data "$2" >"$place/answer"
  grep -qF "$3" "$place/answer" || { echo "fleet-node.sh: not refused: $1 $2" >&2; exit 1; }
}
refused elsewhere '{"metadata": {"annotations": {"fleet.lopsided/domains": "1"}}}' 'may change only the node that it runs on'
refused here '{"spec": {"unschedulable": true}}' 'may change only annotations'
echo 'it may change no other node, and nothing but annotations'
for verb in get create update; do
  curl -sSf --cacert "$place/apiserver.crt" -H "Authorization: Bearer $agent_token" "$server/apis/authorization.k8s.io/v1/selfsubjectaccessreviews" \
    -H 'Content-Type: application/yaml' --data-binary @- >"$place/answer" <<EOF
apiVersion: authorization.k8s.io/v1
kind: SelfSubjectAccessReview
spec: {resourceAttributes: {namespace: default, group: fleet.lopsided, resource: intensityprofiles, verb: $verb}}
EOF
  grep -qF '"allowed": true' "$place/answer" || { echo "fleet-node.sh: may not $verb profiles" >&2; exit 1; }
done
if grep -i forbidden "$place/agent.log"; then
  echo 'fleet-node.sh: fleet/manifests lacks a right' >&2
  exit 1
fi
