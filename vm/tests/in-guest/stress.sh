# stress.sh: stress-ng for a minute, and affinities that change under load. Nobody is lost, and delays are what they are under EEVDF.
# guest: --cpus 8 --memory-mb 3072 --instruction-ns 8 --timeout 900 --bin stress-ng
# needs: stress-ng

stressors=('cpu 16' 'fork 4' 'pipe 8' 'futex 8' 'affinity 8')

# stress KIND COUNT SECONDS
stress() { stress-ng --quiet "--$1" "$2" --timeout "$3"; }

# The part of a stressor's 12 seconds that is recorded is short: pipes switch tasks often.
for stressor in "${stressors[@]}"; do
  read -r kind count <<<"$stressor"
  expect "stress-ng $kind under EEVDF" recorded eevdf "$kind" stress-ng --quiet "--$kind" "$count" --timeout 2
done
expect "affinities that change under EEVDF" recorded eevdf churn lop-load affinity-churn --threads 24 --seconds 4
expect 'lop start' begin_lop
for stressor in "${stressors[@]}"; do
  read -r kind count <<<"$stressor"
  expect "stress-ng $kind: 10 s" stress "$kind" "$count" 10
  expect "stress-ng $kind: 2 s more, recorded" recorded lopsided "$kind" stress-ng --quiet "--$kind" "$count" --timeout 2
  expect "stress-ng $kind: none is lost" none_lost "$kind"
  expect "stress-ng $kind: delay p99.9 below 100 ms where it is under EEVDF" delay_as_under_eevdf "$kind"
done
expect 'affinities that change: each task gets on, none outside of its own' recorded lopsided churn lop-load affinity-churn --threads 24 --seconds 4
expect 'affinities that change: none is lost' none_lost churn
expect 'affinities that change: delay p99.9 below 100 ms where it is under EEVDF' delay_as_under_eevdf churn
expect 'no watchdog exit, no restart' still_in_charge
expect 'Ctrl-C ends it' ended_by INT
expect 'no warning of the kernel' kernel_is_well
sum_up
