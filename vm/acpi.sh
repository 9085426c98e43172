#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# acpi.sh MHZ,MHZ,...: writes to standard output the ACPI table that gives each CPU of the guest (the first MHZ is CPU 0)
# operating points for acpi-cpufreq: the maximum, three quarters and half of it. A clock domain per CPU.
set -euo pipefail
# Ports that keep what was written: four of pc-testdev, and the scratch registers of four UARTs.
ports=(0xe0 0xe1 0xe2 0xe3 0x3ff 0x2ff 0x3ef 0x2ef)

# Frequency (MHz), power (mW, assumed to fall with the square of speed), latencies (us), code to write, code to read.
points() {
  local max=$1 quarters
  for quarters in 4 3 2; do
    echo "Package () { $((max * quarters / 4)), $((max * quarters * quarters / 16)), 10, 10, $((4 - quarters)), $((4 - quarters)) },"
  done
}

scope() {
  local cpu=$1 max=$2 port=${ports[$1]} device
  device=$(printf '\\_SB.CPUS.C%03X' "$cpu")
  cat <<EOF
External ($device, DeviceObj)
Scope ($device)
{
  Method (_PPC, 0) { Return (0) }
  Name (_PCT, Package () {
    ResourceTemplate () { Register (SystemIO, 8, 0, $port) },
    ResourceTemplate () { Register (SystemIO, 8, 0, $port) } })
  Name (_PSS, Package () { $(points "$max") })
  Name (_PSD, Package () { Package () { 5, 0, $cpu, 0xFC, 1 } })
}
EOF
}

source_text() {
  local cpu
  echo 'DefinitionBlock ("", "SSDT", 2, "LOP", "CPUFREQ", 1) {'
  for cpu in "$@"; do scope "${cpu%%:*}" "${cpu#*:}"; done
  echo '}'
}

IFS=, read -r -a max_mhz <<<"$1"
[ ${#max_mhz[@]} -le ${#ports[@]} ] || { echo "acpi.sh: ${#max_mhz[@]} CPUs, but only ${#ports[@]} writable ports" >&2; exit 1; }
cpus=()
for i in "${!max_mhz[@]}"; do cpus+=("$i:${max_mhz[i]}"); done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
source_text "${cpus[@]}" >"$work/ssdt.dsl"
iasl -p "$work/ssdt" "$work/ssdt.dsl" >"$work/log" 2>&1 || { cat "$work/log" >&2; exit 1; }
cat "$work/ssdt.aml"
