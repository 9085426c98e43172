#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Tests machines-from-source.py and distribution.py with trees, a table and results written for this test: watts and speeds are computed by hand in the
# comments, `lop machine show` takes each machine, and a malformed input is named with file, line and reason. LOP: the command (default: lop).
set -euo pipefail
cd "$(dirname "$0")/.."
lop=${LOP:-lop}
trial=$(mktemp -d)
trap 'rm -rf "$trial"' EXIT
trees=$trial/source/arch/arm64/boot/dts/trial
failures=0
checks=0

# Makes a source folder without trees, and a folder for donors.
start() {
  rm -rf "$trial/source" "$trial/out" "$trial/donors"
  mkdir -p "$trees" "$trial/source/scripts/dtc/include-prefixes" "$trial/donors"
  ln -s ../../../arch/arm64/boot/dts "$trial/source/scripts/dtc/include-prefixes/arm64"
}

# convert: runs the converter; its output goes to log.
convert() {
  rm -rf "$trial/out"
  python3 scripts/machines-from-source.py "$trial/source" "$trial/donors" "$trial/out" >"$trial/log" 2>&1 || echo "exit code $?" >>"$trial/log"
}

# has FILE LINE: the file has this line; spaces at its begin do not count.
has() {
  checks=$((checks + 1))
  sed 's/^ *//' "$trial/$1" 2>/dev/null | grep -qxF -e "$2" && return
  echo "machines-from-source-test.sh: check $checks: $1 lacks the line: $2"
  cat "$trial/$1" 2>/dev/null || echo 'no such file'
  failures=$((failures + 1))
}

# is_refused REASON NAME: the tree on stdin is not converted, for that reason, which begins with file and line.
is_refused() {
  start
  cat >"$trees/$2"
  convert
  has log "skipped: arch/arm64/boot/dts/trial/$1"
}

# is_taken NAME: lop takes the machine.
is_taken() {
  checks=$((checks + 1))
  "$lop" machine show "$trial/out/$1.toml" >"$trial/shown" 2>&1 && return
  echo "machines-from-source-test.sh: check $checks: lop machine show refuses $1:"
  cat "$trial/shown"
  failures=$((failures + 1))
}

# Two kinds; the board completes the operating points, takes one of the big cores away and changes a residency.
start
cat >"$trees/clocks.h" <<'DTS'
#define MHZ(n) (n * (1 << 6) * 15625)
DTS
cat >"$trees/two-kinds.dtsi" <<'DTS'
/dts-v1/;
#include "clocks.h"
/ {
	#address-cells = <2>;
	cpus {
		big0: cpu@0 { compatible = "arm,cortex-a76"; capacity-dmips-mhz = <1024>; dynamic-power-coefficient = <400>;
			operating-points-v2 = <&big_points>; cpu-idle-states = <&nap &sleep>; };
		big1: cpu@1 { compatible = "arm,cortex-a76"; capacity-dmips-mhz = <1024>; dynamic-power-coefficient = <400>;
			operating-points-v2 = <&big_points>; cpu-idle-states = <&nap &sleep>; };
		big2: cpu@2 { compatible = "arm,cortex-a76"; };
		cpu@100 { compatible = "arm,cortex-a55"; capacity-dmips-mhz = <0x200>; dynamic-power-coefficient = <100>;
			operating-points-v2 = <&little_points>; power-domains = <&domain>; };
		cpu@101 { compatible = "arm,cortex-a55"; capacity-dmips-mhz = <512>;
			operating-points-v2 = <&little_points>; power-domains = <&domain>; };
		cpu@102 { compatible = "arm,cortex-a55"; status = "disabled"; };
		idle-states {
			nap: nap { exit-latency-us = <50>; min-residency-us = <200>; };
			sleep: sleep { exit-latency-us = <(300 + 100)>; min-residency-us = <2000>; };
		};
	};
	domain: power-domain { domain-idle-states = <&sleep>; #power-domain-cells = <0>; };
	little_points: little-points {
		opp-shared;
		/* The voltage never falls: 800 mV at both. */
		opp-2 { opp-hz = /bits/ 64 <MHZ(1000)>; opp-microvolt = <790000 700000 900000>; };
		opp-1 { opp-hz = <0 MHZ(500)>; opp-microvolt-fast = <600000>; opp-microvolt-slow = <610000>; };
		opp-3 { opp-hz = /bits/ 64 <MHZ(800)>; opp-microvolt = <800000>; };
		opp-4 { opp-hz = /bits/ 64 <MHZ(3000)>; opp-microvolt = <800000>; turbo-mode; };
	};
};
DTS
cat >"$trees/board.dts" <<'DTS'
#include "two-kinds.dtsi"
/include/ "points.dtsi"
/delete-node/ &big2;
&sleep { min-residency-us = <2500>; };
DTS
cat >"$trees/points.dtsi" <<'DTS'
/ {
	big_points: big-points {
		opp-shared;
		slow { opp-hz = /bits/ 64 <1000000000>; opp-microvolt = <700000>; };
		fast { opp-hz = /bits/ 64 <2000000000>; opp-microvolt = <1000000>; };
	};
};
DTS
convert
has log 'device trees: 1 seen, 1 machines, 0 skipped'
has out/two-kinds.toml 'sources = ["Linux: arch/arm64/boot/dts/trial/two-kinds.dtsi in source, as board.dts completes it"]'
has out/two-kinds.toml 'governor = "eas"'
has out/two-kinds.toml 'clock_domain = "kind"'
has out/two-kinds.toml 'exit_us = 400'
# Little: 0.39 x 1 GHz. Big: 0.39 x 1024 / 512 x 2 GHz.
has out/two-kinds.toml 'speed = 0.39'
has out/two-kinds.toml 'speed = 1.56'
# Busy: 400 x 1000 x 0.7^2 = 0.196 W, 400 x 2000 x 1^2 = 0.8 W. Idle: 3 % of 0.8 W, and 0.7^2 of that.
has out/two-kinds.toml '{ mhz = 1000, mv = 700, idle_w = 0.01176, busy_w = 0.196 },'
has out/two-kinds.toml '{ mhz = 2000, mv = 1000, idle_w = 0.024, busy_w = 0.8 },'
# 100 x 500 x 0.6^2 = 0.018 W, 100 x 800 x 0.8^2 = 0.0512 W, 100 x 1000 x 0.8^2 = 0.064 W. Idle: 0.00192 W, and (0.6 / 0.8)^2 of that.
has out/two-kinds.toml '{ mhz = 500, mv = 600, idle_w = 0.00108, busy_w = 0.018 },'
has out/two-kinds.toml '{ mhz = 800, mv = 800, idle_w = 0.00192, busy_w = 0.0512 },'
has out/two-kinds.toml '{ mhz = 1000, mv = 800, idle_w = 0.00192, busy_w = 0.064 },'
# On a line from 0.01176 W to 0.0005 W.
has out/two-kinds.toml '{ name = "nap", exit_us = 50, residency_us = 200, w = 0.00613 },'
has out/two-kinds.toml '{ name = "sleep", exit_us = 400, residency_us = 2500, w = 0.0005 },'
checks=$((checks + 1))
[ "$(grep -c '^cores = 2$' "$trial/out/two-kinds.toml")" = 2 ] || { echo 'machines-from-source-test.sh: expected two kinds of two cores'; failures=$((failures + 1)); }
is_taken two-kinds

# Without voltages: 0.6, 0.825 and 1.05 V. 200 x 500 x 0.36 = 0.036 W, 200 x 1000 x 0.680625 = 0.136125 W, 200 x 1500 x 1.1025 = 0.33075 W.
start
cat >"$trees/alike.dts" <<'DTS'
/ { cpus {
	cpu@0 { compatible = "arm,cortex-a57"; dynamic-power-coefficient = <200>; operating-points-v2 = <&points>; };
	cpu@1 { compatible = "arm,cortex-a57"; dynamic-power-coefficient = <200>; operating-points-v2 = <&points>; };
	};
	points: points { a { opp-hz = <0 500000000>; }; b { opp-hz = <0 1000000000>; }; c { opp-hz = <0 1500000000>; }; };
};
DTS
convert
has out/alike.toml 'governor = "schedutil"'
has out/alike.toml 'clock_domain = "core"'
has out/alike.toml 'speed = 1.125'
has out/alike.toml '"Voltages of cortex-a57, which the tree leaves to the firmware: assumed, a line from 0.6 to 1.05 V over the clocks of the kind.",'
checks=$((checks + 1))
if grep -qF '[park]' "$trial/out/alike.toml"; then echo 'machines-from-source-test.sh: cores without idle states are parked'; failures=$((failures + 1)); fi
grep -o 'mv = .*' "$trial/out/alike.toml" | sed 's/idle_w = [0-9.]*, //' >"$trial/points"
has points 'mv = 600, busy_w = 0.036 },'
has points 'mv = 825, busy_w = 0.136125 },'
has points 'mv = 1050, busy_w = 0.33075 },'
is_taken alike

cpu='compatible = "arm,cortex-a53"; dynamic-power-coefficient = <100>;'
is_refused "tree.dts:2: /cpus/cpu@0: no operating points (operating-points-v2)" tree.dts <<<"/ { cpus {
cpu@0 { $cpu }; }; };"
has log 'device trees: 1 seen, 0 machines, 1 skipped; 1 no operating points'
is_refused 'tree.dts:1: /cpus/cpu@0: no dynamic-power-coefficient' tree.dts <<<'/ { cpus { cpu@0 { capacity-dmips-mhz = <1024>; }; }; };'
is_refused 'tree.dts:2: /cpus/cpu@0: operating-points-v2 refers to &nowhere, which is not in the tree' tree.dts <<<"/ { cpus { cpu@0 { $cpu
operating-points-v2 = <&nowhere>; }; }; };"
is_refused "tree.dts:3: expected ';', found '}; }; };'" tree.dts <<<"/ { cpus { cpu@0 { $cpu
operating-points-v2 = <&nowhere>
}; }; };"
is_refused "tree.dts:2: expected a property or a node, found 'the end of the file'" tree.dts <<<"/ { cpus { cpu@0 { $cpu }; };"
is_refused 'tree.dts:2: &soc is not in the tree' tree.dts <<<"/ { cpus { cpu@0 { $cpu }; }; };
&soc { };"
is_refused 'tree.dts:1: no file nowhere.dtsi' tree.dts <<<"/include/ \"nowhere.dtsi\" / { cpus { cpu@0 { $cpu }; }; };"
is_refused 'tree.dts:1: nowhere.h: No such file or directory' tree.dts <<<"#include \"nowhere.h\"
/ { cpus { cpu@0 { $cpu }; }; };"
is_refused 'tree.dts:1: the file includes itself' tree.dts <<<"/include/ \"tree.dts\" / { cpus { cpu@0 { $cpu }; }; };"
is_refused 'tree.dts:2: /cpus/cpu@0: dynamic-power-coefficient is not a list of numbers' tree.dts <<<'/ { cpus { cpu@0 {
dynamic-power-coefficient = <(1 +)>; }; }; };'
is_refused 'tree.dts:2: /cpus/cpu@0/sleep: an idle state without exit-latency-us' tree.dts <<<"/ { cpus { cpu@0 { $cpu operating-points = <1000000 900000>;
cpu-idle-states = <&{/cpus/cpu@0/sleep}>; sleep { min-residency-us = <1>; }; }; }; };"
is_refused 'tree.dts:3: /points/a: opp-hz has no clock' tree.dts <<<"/ { cpus { cpu@0 { $cpu operating-points-v2 = <&points>; }; };
points: points { a {
opp-hz = <0 0>; }; }; };"
is_refused 'tree.dts:1: /cpus/cpu@1: no capacity-dmips-mhz beside cores of another kind' tree.dts <<<"/ { cpus { cpu@0 { $cpu capacity-dmips-mhz = <512>; operating-points = <1000000 900000>; }; cpu@1 { compatible = \"arm,cortex-a57\"; dynamic-power-coefficient = <1>; operating-points = <1000000 900000>; }; }; };"

# Tables of intel_idle: one for a client and a server, one that the driver chooses at run time, one that no processor uses, one that is malformed.
start
mkdir -p "$trial/source/drivers/idle"
cat >"$trial/source/drivers/idle/intel_idle.c" <<'C'
static struct cpuidle_state one_cstates[] __initdata = {
	{ .name = "C1", .flags = MWAIT2flg(0x00) | CPUIDLE_FLAG_UNUSABLE, .exit_latency = 1, .target_residency = 1, },
	{ .name = "C1E", .flags = MWAIT2flg(0x01), .exit_latency = 3, .target_residency = 6, },
	{ .name = "C6", .exit_latency = 100, .target_residency = 300, },
	{ .name = "C7", .exit_latency = 120, .target_residency = 300, },
	{ .name = "C8", .exit_latency = 200, .target_residency = 900, },
	{ .enter = NULL }
};
static struct cpuidle_state one_cstates_4s[] __initdata = {
	{ .name = "C1", .exit_latency = 2, .target_residency = 2, },
	{ .enter = NULL }
};
static struct cpuidle_state lost_cstates[] __initdata = {
	{ .name = "C1", .exit_latency = 2, .target_residency = 2, },
	{ .enter = NULL }
};
static struct cpuidle_state falls_cstates[] __initdata = {
	{ .name = "C1", .exit_latency = 2, .target_residency = 2, },
	{ .name = "C6", .exit_latency = 20, .target_residency = 20, },
	{ .name = "C7", .exit_latency = 30, .target_residency = 10, },
	{ .enter = NULL }
};
static struct cpuidle_state bare_cstates[] __initdata = {
	{ .name = "C1", .target_residency = 2, },
};
static const struct idle_cpu idle_cpu_one __initconst = { .state_table = one_cstates, };
static const struct idle_cpu idle_cpu_one_x __initconst = { .state_table = one_cstates, };
	X86_MATCH_VFM(INTEL_ONE_L, &idle_cpu_one),
	X86_MATCH_VFM(INTEL_ONE_X, &idle_cpu_one_x),
C
for donor in laptop-hybrid server-2x64; do
  cat >"$trial/donors/$donor.toml" <<'TOML'
name = "donor"
description = "donor"
processor = "donor"
notes = [
  "donor",
]
sockets = 1
clock_domain = "core"
voltage_domain = "core"
base_w = 1

[cpufreq]
transition_us = 10
schedutil_rate_limit_us = 1000

[cost]
context_switch_us = 1
migration_us = 1
memory_domain_us = 1

[park]
exit_us = 9
w = 0.02

[[kind]]
name = "a"
cores = 1
speed = 2
opp = [
  { mhz =  800, mv = 700, idle_w = 0.100, busy_w = 1 },
  { mhz = 1500, mv = 760, idle_w = 0.148, busy_w = 2 },
]
idle = [
  { name = "old", exit_us = 2, residency_us = 0 },
  { name = "older", exit_us = 170, residency_us = 500, w = 0.02 },
]

[[kind]]
name = "b"
cores = 1
speed = 1
opp = [
  { mhz =  800, mv = 700, idle_w = 0.040, busy_w = 1 },
]
idle = [
  { name = "older", exit_us = 170, residency_us = 500, w = 0.01 },
]
TOML
done
convert
has log 'intel_idle tables: 5 seen, 4 machines, 3 skipped; 1 residencies that fall; 1 incomplete idle states; 1 no processor'
has log 'skipped: drivers/idle/intel_idle.c:20: a residency of 10 us after 20 us'
has log 'skipped: drivers/idle/intel_idle.c:24: a state without .exit_latency'
has log 'skipped: drivers/idle/intel_idle.c:13: no processor uses lost_cstates'
for place in client server; do
  is_taken "intel-one-4s-$place"
  has "out/intel-one-$place.toml" "name = \"intel-one-$place\""
  has "out/intel-one-$place.toml" 'exit_us = 200'
  has "out/intel-one-$place.toml" '{ name = "C1E", exit_us = 3, residency_us = 0, holds_voltage = false },'
  # Half-way from 0.1 to 0.02 W, and from 0.04 to 0.01 W. C6, with the residency of C7, is not used.
  has "out/intel-one-$place.toml" '{ name = "C7", exit_us = 120, residency_us = 300, w = 0.06 },'
  has "out/intel-one-$place.toml" '{ name = "C7", exit_us = 120, residency_us = 300, w = 0.025 },'
  has "out/intel-one-$place.toml" '{ name = "C8", exit_us = 200, residency_us = 900, w = 0.02 },'
  checks=$((checks + 1))
  if grep -qE '\<old|processor = |"C6"' "$trial/out/intel-one-$place.toml"; then
    echo "machines-from-source-test.sh: intel-one-$place keeps what the table replaces"
    failures=$((failures + 1))
  fi
  is_taken "intel-one-$place"
done

# Five cells. Energy 0.5, 1, 1.01, 2; time 1, 0.5, 1.01, 1.1, the last by responses. The fifth has a mean response of 0.2 s at the highest clocks.
python3 - >"$trial/results.json" <<'PY'
import json
def cell(name, energy, time, response=None, highest=0.01):
    for policy, e, t in (("linux", 1, 1), ("linux:performance", 1, 1), ("auto", energy, time)):
        counters = {"mean_response_s": (highest if policy == "linux:performance" else t), "response_us": {"p99": 10 * t}} if response else {}
        yield {"policy": policy, "point": {"machine": name, "workload": "w"}, "time_s": 1 if response else t, "system_energy_j": e, "counters": counters}
results = [*cell("a", 0.5, 1), *cell("b", 1, 0.5), *cell("c", 1.01, 1.01), *cell("d", 2, 1.1, True), *cell("e", 9, 9, True, 0.2)]
print(json.dumps({"results": results}))
PY
python3 scripts/distribution.py "$trial/results.json" >"$trial/log"
has log 'auto over what is shipped: 5 cells of 5 machines, modelled'
has log 'left out: 1 cells whose work comes faster than the machine at its highest clocks does it'
# Geometric mean: (0.5 x 1 x 1.01 x 2)^(1/4) = 1.01^(1/4) = 1.0025. Time: (1 x 0.5 x 1.01 x 1.1)^(1/4) = 0.5555^(1/4) = 0.8633.
has log 'energy      0.500    0.650    0.875    1.005    1.258    1.703    2.000    1.002'
has log 'time        0.500    0.650    0.875    1.005    1.032    1.073    1.100    0.863'
has log 'of 4 cells: 3 free, 1 dearer, 1 later (1 of them dearer and later)'
has log 'of 1 cells with responses: 1 with a 99th percentile above 1.05 of that shipped'

[ "$failures" = 0 ] || { echo "machines-from-source-test.sh: $failures of $checks checks failed"; exit 1; }
echo "machines-from-source.py: $checks checks held"
