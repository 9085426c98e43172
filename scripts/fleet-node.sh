#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# fleet-node.sh: runs gather-node with lop on folders that look like a machine with two memory domains, for a node of an API server with the rights of fleet/manifests/. Fails
# unless it publishes the domains, confines a pod, gives its CPUs back, also after kill -9, may write profiles that it measured, and may change no other node.
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
within 30 flock -n "$place/run/node.lock" true # lop's input has ended, and so has lop
pinned_to ''
agent
within 30 pinned_to 2-3
kill "${started[agent]}"
wait "${started[agent]}"
unset 'started[agent]'
pinned_to ''
echo 'a pod was confined and has its CPUs back; the node has published 2,2'

as_agent() { curl -sS --cacert "$place/apiserver.crt" -H "Authorization: Bearer $agent_token" "$server$1" "${@:2}" >"$place/answer"; }
said() { grep -qF "$1" "$place/answer" || { echo "fleet-node.sh: expected '$1': $2" >&2; cat "$place/answer" >&2; exit 1; }; }

# patched NODE PATCH ANSWER
patched() {
  as_agent "/api/v1/nodes/$1" -X PATCH -H 'Content-Type: application/merge-patch+json' --data "$2"
  said "$3" "$1 $2"
}
only='may change only the annotations'
patched elsewhere '{"metadata": {"annotations": {"fleet.lopsided/domains": "1"}}}' 'may change only the node that it runs on'
patched here '{"spec": {"unschedulable": true}}' "$only"
patched here '{"metadata": {"labels": {"a": "b"}}}' "$only"
patched here '{"metadata": {"finalizers": ["a/b"]}}' "$only"
patched here '{"metadata": {"annotations": {"fleet.lopsided/power": "off"}}}' "$only"
api /api/v1/nodes/here -X PATCH -H 'Content-Type: application/merge-patch+json' --data '{"metadata": {"annotations": {"of-somebody": "else"}}}' >/dev/null
patched here '{"metadata": {"annotations": {"of-somebody": "me"}}}' "$only"
patched here '{"metadata": {"annotations": {"of-somebody": null}}}' "$only"
patched here '{"metadata": {"annotations": {"fleet.lopsided/domains": "1"}}}' '"fleet.lopsided/domains": "1"'
echo 'it may change no other node, and nothing but its two annotations'

# profile NAME NODE ANSWER [FINALIZER]
profile() {
  as_agent /apis/fleet.lopsided/v1alpha1/namespaces/default/intensityprofiles -H 'Content-Type: application/yaml' --data-binary @- <<EOF
apiVersion: fleet.lopsided/v1alpha1
kind: IntensityProfile
metadata: {name: $1, finalizers: [${4:-}]}
spec: {owner: {kind: Deployment, name: web}, image: none, intensity: "0.4", source: counters of node $2, measuredAt: "2026-01-01T12:00:00Z"}
EOF
  said "$3" "profile $1 of $2"
}
profile measured-1 here '"intensity": "0.4"'
profile measured-2 elsewhere 'may write only profiles measured-'
profile mine here 'may write only profiles measured-'
profile measured-3 here 'may write only profiles measured-' a/b
echo 'it may write only profiles that it measured'
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
