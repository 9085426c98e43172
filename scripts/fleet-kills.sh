#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# fleet-kills.sh [SEED]: ends scheduler, power controller, API server and etcd by kill -9, 50 times in all, while pods come and go on machines that are switched off and on.
# Fails if a machine is off with a pod on it, if a memory domain gives more than it has, if a pod that is placed changes node or domain, or unless all are placed in the end.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/fleet-setup.sh

# A machine is on while its file is there. Of those that are on an agent publishes.
mkdir "$place/on"
machines=(m1 m2 m3 m4 m5)
for n in "${machines[@]}"; do
  node "$n" 4,4 8
  touch "$place/on/$n"
done
agent() {
  local file
  while sleep 1; do
    for file in "$place"/on/*; do [ ! -e "$file" ] || publish "${file##*/}" || true; done
  done
}
start agent agent
cat >"$place/power.yaml" <<EOF
{idleFor: 3s, settle: 2s, minOff: 2s, minOn: 1, maxSwitches: 3, machines: [
  {nodes: "m*", off: {command: [rm, -f, "$place/on/{node}"]}, on: {command: [touch, "$place/on/{node}"]}}]}
EOF
scheduler
power

pods=/api/v1/namespaces/default/pods
# there: a line for each pod: name, node or -, domain or -, cores.
there() {
  api $pods >"$place/answer"
  python3 - "$place/answer" <<'EOF'
import json, sys
for pod in json.load(open(sys.argv[1]))["items"]:
    print(pod["metadata"]["name"], pod["spec"].get("nodeName", "-"), pod["metadata"].get("annotations", {}).get("fleet.lopsided/domain", "-"),
          pod["spec"]["containers"][0]["resources"]["requests"]["cpu"])
EOF
}
# Nobody but this script deletes pods, and no two have the same name, so what is bound stays bound, and where it is.
: >"$place/before"
judge() {
  there >"$place/there"
  awk -v before="$place/before" 'FILENAME == before { if ($2 != "-") was[$1] = $2 " " $3; next }
    ($1 in was) && was[$1] != $2 " " $3 { print "fleet-kills.sh: placed twice, before on " was[$1] ": " $0; wrong = 1 } END { exit wrong }' "$place/before" "$place/there" >&2
  cp "$place/there" "$place/before"
  local name node
  while read -r name node _; do
    [ "$node" = - ] || [ -e "$place/on/$node" ] || { echo "fleet-kills.sh: $name is on $node, which is off" >&2; exit 1; }
  done <"$place/there"
  awk '$2 != "-" && ($3 == "-" || (given[$2 " " $3] += $4) > 4) { print "fleet-kills.sh: too much, or no domain: " $0; wrong = 1 } END { exit wrong }' "$place/there" >&2
}
placed() { there >"$place/there" && ! grep -q ' - ' "$place/there"; }

RANDOM=${1:-$((seed = SRANDOM % 32768))}
echo "fleet-kills.sh ${1:-$seed}: draws the same again"
switched=0 waiting=0
for kill in {1..50}; do
  victims=(scheduler power scheduler power apiserver etcd)
  victim=${victims[RANDOM % ${#victims[@]}]}
  if ((RANDOM % 3 == 0)); then
    there | sort -R --random-source=<(yes "$RANDOM") | tail -n +$((1 + RANDOM % 4)) | while read -r name _; do
      api "$pods/$name?gracePeriodSeconds=0" -X DELETE >/dev/null
    done
  elif [ "$(there | wc -l)" -lt 7 ]; then
    for n in 1 2 3; do pod "p$kill-$n" $((RANDOM % 2 ? 30 : 1)) $((1 + RANDOM % 3)); done
  fi
  ! there | grep -q ' - ' || waiting=$((waiting + 1))
  restart "$victim"
  # Without a lease of one that is gone the next one goes on at once.
  within 120 api /readyz
  case $victim in scheduler | power) api "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/gather-$victim" -X DELETE >/dev/null || true ;; esac
  # Both end by themselves if the API server does not answer for long: what runs them in a cluster starts them again.
  for name in scheduler power; do kill -0 "${started[$name]}" 2>/dev/null || "$name"; done
  sleep $((RANDOM % 6))
  judge
  on=$(cd "$place/on" && echo *)
  [ "$on" = "${last:-$on}" ] || switched=$((switched + 1))
  last=$on
  printf '%2d  %-10s %2d pods  on: %s\n' "$kill" "$victim" "$(wc -l <"$place/there")" "$on"
done
within 180 placed
judge
[ $switched -ge 3 ] || { echo "fleet-kills.sh: machines were switched $switched times only, so this tried nothing" >&2; exit 1; }
[ $waiting -ge 3 ] || { echo "fleet-kills.sh: pods waited at $waiting kills only, so this tried nothing" >&2; exit 1; }
echo "50 kills, $waiting of them while pods waited, machines on changed $switched times; no pod was placed twice, and all are placed"
