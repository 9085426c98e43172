#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# fleet-cluster.sh: has pods placed by gather-scheduler on nodes without machines, one of them on a node that gather-power switched off. Fails unless they go
# where the rule puts them.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/fleet-setup.sh

# goes NAME PLACE: waits until it is placed, and says where it is.
goes() {
  within 60 placed "$1"
  local went
  went=$(placed "$1")
  printf '%-10s %s\n' "$1" "$went"
  [ "$went" = "$2" ] || { echo "fleet-cluster.sh: $1 was to go to $2" >&2; exit 1; }
}

# Node and domain, once it is bound.
placed() {
  api "/api/v1/namespaces/default/pods/$1" >"$place/pod"
  local node
  node=$(sed -n 's/^    "nodeName": "\(.*\)".*/\1/p' "$place/pod")
  [ -n "$node" ] && echo "$node.$(sed -n 's|.*"fleet.lopsided/domain": "\(.*\)".*|\1|p' "$place/pod")"
}

node a 4,4 8
node b 4,4 8
scheduler
echo 'pod        node.domain'
pod fierce 30 1
goes fierce a.0
pod moderate 0.5 1
goes moderate a.1
pod calm 0.05 1
goes calm a.0
restart scheduler
# The new scheduler, once the lease of the other one has run out, knows who is where: else fierce counts in both domains of a, and b is next.
pod second 0.5 1
goes second a.1
create /apis/fleet.lopsided/v1alpha1/namespaces/default/intensityprofiles <<EOF
apiVersion: fleet.lopsided/v1alpha1
kind: IntensityProfile
metadata: {name: profiled}
spec: {owner: {kind: Pod, name: profiled}, image: none, intensity: "0.05", source: this script, measuredAt: "$(date -u +%FT%TZ)"}
EOF
pod profiled '' 1
goes profiled a.0 # as unknown it would count as intensive, and go to b

# Node c alone has a domain for a large pod. It is empty, so its machine goes off.
cat >"$place/power.yaml" <<EOF
{idleFor: 1s, settle: 1s, minOff: 1s, minOn: 0, machines: [
  {nodes: c, off: {command: [sh, -c, "echo off {node} >>$place/switched"]}, on: {command: [sh, -c, "echo on {node} >>$place/switched"]}}]}
EOF
# has PATH TEXT: whether an answer has it.
has() {
  api "$1" >"$place/answer" || exit 1
  grep -qF "$2" "$place/answer"
}
c_has() { has /api/v1/nodes/c "$1"; }
node c 8 8
power
within 60 c_has '{\"state\":\"off\",'
grep -qx 'off c' "$place/switched"
# Somebody switches c on: it counts as on once it publishes, and goes off again for want of pods.
runs() {
  publish c
  has /apis/events.k8s.io/v1/namespaces/default/events '"note": "on: it runs'
}
off_again() { [ "$(grep -cx 'off c' "$place/switched")" = 2 ] && c_has '{\"state\":\"off\",'; }
within 60 runs
within 60 off_again
restart power
pod large 0.05 6
within 60 grep -qx 'on c' "$place/switched"
c_has '"fleet.lopsided/power": "off"'
# The machine is back once its agent has published.
back() {
  publish c
  ! c_has '"fleet.lopsided/power": "off"'
}
within 60 back
goes large c.0
! c_has '"unschedulable"' || { echo 'fleet-cluster.sh: c stays cordoned' >&2; exit 1; }
within 30 has /apis/events.k8s.io/v1/namespaces/default/events '"note": "switching-on: pod default/large"'
if grep -i forbidden "$place"/{scheduler,power}.log; then
  echo 'fleet-cluster.sh: fleet/manifests lacks a right' >&2
  exit 1
fi
