# SPDX-License-Identifier: GPL-2.0-only
# fair-class.sh: where the kernel's own scheduler runs six loads, beside where the simulated one does (`linux.placement = "fair-class"`, docs/model.md).
# guest: --cpus 4 --instruction-ns 4 --timeout 3600
# loads: half-sequential global-sum coupled registration fork-storm
# Behind lib.sh.

# The guest: an instruction takes 4 ns, and its CPUs share one thread of the emulator, so each of four busy ones does 1 / 4 / 4 ns / 2400 MHz of the
# reference core's work. 5,000 instructions of the kernel and the tracer a context switch: what registration takes beyond its work, over its switches
# and ticks.
cat >/tmp/guest.toml <<'END'
name = "guest"
description = "vm/run --cpus 4 --instruction-ns 4, all CPUs busy"
sources = []
notes = ["No power: only who runs where is compared."]
sockets = 1
clock_domain = "socket"
voltage_domain = "socket"
memory_domain = "socket"
base_w = 0
[cpufreq]
transition_us = 0
ondemand_period_ms = 20
schedutil_rate_limit_us = 2000
[cost]
context_switch_us = 80
migration_us = 0
memory_domain_us = 0
[[kind]]
name = "emulated"
cores = 4
speed = 0.0260417
opp = [{ mhz = 250, mv = 1000, idle_w = 0, busy_w = 1 }]
idle = [{ name = "halt", exit_us = 0, residency_us = 0 }]
END

# make as fork-storm is: it waits for any job and starts the next one. Nobody waits for the jobs of kernel-build's pool. A job costs make 3.6 ms and takes 68
# itself, by the recordings: with the start and the end of a process, 94 and 1770 us of the reference core.
cat >/tmp/make.toml <<'END'
name = "make"
description = "fork-storm --slots 6 --jobs 150 --mean-instructions 4e6 --chain single --variation 1"
[task.make]
steps = [
  { repeat = 6, steps = [{ run_us = 94 }, { fork = "job" }] },
  { repeat = 144, steps = [{ join = "any" }, { run_us = 94 }, { fork = "job" }] },
  { join = "all" },
  { fork = "end" },
  { join = "all" },
]
[task.job]
count = 0
steps = [{ run_us = { mean = 1770, cv = 1 } }]
[task.end]
count = 0
steps = [{ run_ms = 1.875 }]
END

# around VALUE: within 2 % of it. In the guest the first thread of half-sequential takes 8.2 ms alone, with a standard deviation of 1.2 % of that. Equal
# steps would meet at the same time over and over.
around() { awk -v value="$1" 'BEGIN { printf("{ min = %g, max = %g }", value * 0.98, value * 1.02) }'; }

# near COMMS COMMAND WORKLOAD KEY=VALUE...: whether the load, recorded three times, is placed as the workload with these settings is, in the mean of
# five runs. Phases of a single thread are a quarter as long in the workload, since the guest's CPUs are four times as fast then.
near() {
  local comms=$1 command=$2 workload=$3 number setting settings=() traces=() code=0
  shift 3
  needed scheduler_is_none || return
  for number in 1 2 3; do
    # shellcheck disable=SC2086  # words
    needed record "load-$number" $command || return
    traces+=("/tmp/load-$number.trace")
  done
  for setting in "$@"; do settings+=(--set "workload.$setting"); done
  needed lop simulate --machine /tmp/guest.toml --workload "$workload" --policy linux:performance --set linux.placement=fair-class --runs 5 \
    --format json "${settings[@]}" >/tmp/simulated || return
  lop-judge placement --comm "$comms" --simulated /tmp/simulated "${traces[@]}" >/tmp/verdict || code=$?
  tail -n +2 /tmp/verdict
  head -n 1 /tmp/verdict | sed 's/^placement: [^:]*: //'
  [ $code != 0 ] || loads_near=$((loads_near + 1))
  return $code
}
loads_near=0
all_near() { echo "$loads_near of 6 loads"; [ "$loads_near" = 6 ]; }

figure 'half-sequential' near lop-half-sequen 'half-sequential --threads 4 --pairs 60 --pair-instructions 4e6' half-sequential \
  task.main.steps.1.count=3 barrier.open.parties=4 task.leader.steps.0.steps.3.repeat=3 task.leader.steps.0.repeat=60 task.follower.steps.0.repeat=60 \
  "task.leader.steps.0.steps.0.run_ms=$(around 20)" "task.leader.steps.0.steps.2.run_ms=$(around 20)" \
  "task.follower.steps.0.steps.1.run_ms=$(around 20)" scale=0.0104167
figure 'global-sum' near lop-global-sum 'global-sum --threads 6 --rounds 50 --length-instructions 2e6' global-sum \
  task.main.steps.0.count=6 task.worker.steps.0.repeat=50 "task.worker.steps.0.steps.0.run_us=$(around 400)" \
  "task.worker.steps.0.steps.2.run_us=$(around 100)" scale=1.66667
figure 'barriers' near lop-global-sum 'global-sum --threads 6 --rounds 400 --length-instructions 2e5 --barrier-every 10' barriers \
  task.main.steps.0.count=6 barrier.step.parties=6 barrier.step.waiting=block task.worker.steps.0.repeat=40 \
  "task.worker.steps.0.steps.0.run_us=$(around 1000)" scale=0.83333
# Native threads do their own parts; a loop takes no uneven work, so what is uneven stands behind it.
coupled='[{ repeat = 60, steps = [{ loop = "compute" }, { run_us = { min = 0, max = 50 } }, { lock = "memory" }, { loop = "move" }, { unlock = "memory" },
  { barrier = "round" }] }]'
figure 'coupled' near lop-coupled \
  'coupled --threads 8 --intervals 60 --interval-instructions 8e6 --bandwidth-percent 5 --waiting block' coupled \
  loop.compute.schedule=static loop.move.schedule=static loop.compute.work_us=11.6 loop.move.work_us=0.625 mutex.memory.waiting=block \
  barrier.round.waiting=block "task.leader.steps=$coupled" "task.worker.steps=$coupled" scale=0.31746
figure 'registration' near lop-registratio 'registration --iteration-instructions 1.2e7' registration \
  "task.five.steps.0.steps.0.run_ms=$(around 100)" "task.six.steps.0.steps.0.run_ms=$(around 100)" \
  "task.seven.steps.0.steps.0.run_ms=$(around 100)" scale=0.05
figure 'fork-storm' near lop-fork-storm,lop-sh,lop-ld \
  'fork-storm --slots 6 --jobs 150 --mean-instructions 4e6 --chain single --variation 1' /tmp/make.toml
figure 'all are placed as in the simulator' all_near
expect 'the kernel has nothing to complain of' kernel_is_well
sum_up
