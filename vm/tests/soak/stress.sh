# SPDX-License-Identifier: GPL-2.0-only
# stress.sh: stress-ng for a minute, and affinities that change under load. No task is lost, and delays are as under EEVDF.
# guest: --cpus 8 --memory-mb 3072 --instruction-ns 8 --timeout 5400 --bin stress-ng
# needs: stress-ng

# Kind, how many, and for how many seconds it is recorded: pipes switch tasks often; where few tasks wake, one that the emulator leaves
# waiting would be the 99.9th percentile by itself.
stressors=('cpu 16 4' 'fork 4 2' 'pipe 8 2' 'futex 8 2' 'affinity 8 6')

# stress KIND COUNT SECONDS
stress() { stress-ng --quiet "--$1" "$2" --timeout "$3"; }

for stressor in "${stressors[@]}"; do
  read -r kind count seconds <<<"$stressor"
  expect "stress-ng $kind under EEVDF" recorded eevdf "$kind" stress-ng --quiet "--$kind" "$count" --timeout "$seconds"
done
# Long enough for thousands of waits: few of them are longer than 50 ms, under either scheduler, and the percentile must not be one of these by chance.
expect "affinities that change under EEVDF" recorded eevdf churn lop-load affinity-churn --threads 24 --seconds 60
expect 'lop start' begin_lop
for stressor in "${stressors[@]}"; do
  read -r kind count seconds <<<"$stressor"
  expect "stress-ng $kind: 10 s" stress "$kind" "$count" 10
  expect "stress-ng $kind: $seconds s more, recorded" recorded lopsided "$kind" stress-ng --quiet "--$kind" "$count" --timeout "$seconds"
  figure "stress-ng $kind: none is lost" none_lost "$kind"
  # Of affinity's 128 tasks, each sent to another CPU over and over, few ever sleep: there the percentile is the longest wait of all.
  figure "stress-ng $kind: delay p99.9 below 100 ms where it is under EEVDF" delay_as_under_eevdf "$kind"
done
expect 'affinities that change: each task gets on, none outside of its own' recorded lopsided churn lop-load affinity-churn --threads 24 --seconds 60
figure 'affinities that change: none is lost' none_lost churn
figure 'affinities that change: delay p99.9 below 100 ms where it is under EEVDF' delay_as_under_eevdf churn
expect 'no watchdog exit, no restart' still_in_charge
expect 'Ctrl-C ends it' ended_by INT
expect 'no warning of the kernel' kernel_is_well
sum_up
