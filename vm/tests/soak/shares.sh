# SPDX-License-Identifier: GPL-2.0-only
# shares.sh: what busy tasks get beside each other, compared with the kernel's own fair scheduler in the same boot: apart by at most 5 % of
# what it gives, or by 2 points of all CPU time where that is more (0.2 points for SCHED_IDLE). Of tasks that
# share several CPUs the kernel's gives what is due by weight within some points, other ones each time: there it is how far apart from what lies between
# the two. Coarse instructions: only how time is divided counts here.
# guest: --cpus 4 --instruction-ns 16 --timeout 5400
# Behind lib.sh.

names=() ; declare -A what

# scenario NAME WHAT TASK...: what `lop-load shares` is to run.
scenario() {
  names+=("$1")
  what[$1]=$2
  local name=$1 task
  shift 2
  : >"/tmp/$name.tasks"
  for task in "$@"; do echo "--task=$task" >>"/tmp/$name.tasks"; done
}

# A busy task is a process of the shell in a cgroup below others; what each used within the window, as lop-load shares says it.
nested_groups="outer.a/inner.x:300 outer.a/inner.y:100 outer.b/inner.z:100"
group_of() { echo "/sys/fs/cgroup/${1%:*}"; }
used_us() { sed -n 's/^usage_usec //p' "$(group_of "$1")/cpu.stat"; }

make_nested() {
  local group outer
  for outer in outer.a:100 outer.b:300; do
    mkdir -p "$(group_of $outer)" && echo "${outer#*:}" >"$(group_of $outer)/cpu.weight" &&
      echo +cpu >"$(group_of $outer)/cgroup.subtree_control" || return
  done
  for group in $nested_groups; do
    mkdir -p "$(group_of "$group")" && echo "${group#*:}" >"$(group_of "$group")/cpu.weight" || return
  done
}

nested_shares() {
  local group busy=() before=() after=() index=0
  make_nested || return
  for group in $nested_groups; do
    taskset -c 0 sh -c "echo \$\$ >'$(group_of "$group")/cgroup.procs'; while :; do :; done" &
    busy+=($!)
  done
  sleep 1
  for group in $nested_groups; do before+=("$(used_us "$group")"); done
  sleep 4
  for group in $nested_groups; do after+=("$(used_us "$group")"); done
  kill "${busy[@]}"
  wait "${busy[@]}" 2>/dev/null
  for group in $nested_groups; do echo "$group $((after[index] - before[index]))"; index=$((index + 1)); done | shares_as_json
}

# Six new groups share CPU 0 alike, an eighth to a fifth each, though one may lie where one of weight 10000 was, which a task left while it slept.
new_groups() {
  local group busy=() before=() used=() sleeper sum=0
  mkdir /sys/fs/cgroup/old && echo 10000 >/sys/fs/cgroup/old/cpu.weight || return
  sh -c 'echo $$ >/sys/fs/cgroup/old/cgroup.procs; exec sleep 1000' &
  sleeper=$!
  sleep 0.5
  echo $sleeper >/sys/fs/cgroup/cgroup.procs && rmdir /sys/fs/cgroup/old || return
  sleep 0.5
  for group in 1 2 3 4 5 6; do
    mkdir "/sys/fs/cgroup/new$group" && echo 100 >"/sys/fs/cgroup/new$group/cpu.weight" || return
    taskset -c 0 sh -c "echo \$\$ >/sys/fs/cgroup/new$group/cgroup.procs; while :; do :; done" &
    busy+=($!)
  done
  sleep 1
  for group in 1 2 3 4 5 6; do before+=("$(used_us "new$group")"); done
  sleep 4
  for group in 1 2 3 4 5 6; do used+=($(($(used_us "new$group") - before[group - 1]))); done
  kill "${busy[@]}" $sleeper
  wait "${busy[@]}" $sleeper 2>/dev/null
  echo "${used[*]} us"
  for group in "${used[@]}"; do sum=$((sum + group)); done
  for group in "${used[@]}"; do [ $((group * 8)) -ge $sum ] && [ $((group * 5)) -le $sum ] || return; done
}

# Two busy sessions on CPU 0; one is given nice 10 while it runs: 110 to 1024 of the kernel's weights, 9.7 %.
nice_session() {
  local one other before used
  setsid taskset -c 0 sh -c 'while :; do :; done' & one=$!
  setsid taskset -c 0 sh -c 'while :; do :; done' & other=$!
  sleep 1
  echo 10 >/proc/$one/autogroup
  sleep 1
  before=$(ticks_of $one)
  sleep 4
  used=$(($(ticks_of $one) - before))
  kill $one $other
  wait $one $other 2>/dev/null
  echo "$used of 400 ticks"
  [ $used -ge 28 ] && [ $used -le 60 ]
}

shares_as_json() {
  awk '{ name[NR] = $1; us[NR] = $2; sum += $2 }
    END { printf "{\"tasks\":["
      for (i = 1; i <= NR; i++) printf("%s{\"task\":\"%s\",\"cpu_ms\":%.3f,\"share\":%.6f}", (i > 1 ? "," : ""), name[i], us[i] / 1000, us[i] / sum)
      print "]}" }'
}

# SCHED_IDLE beside nice -20 would have a slice in three minutes by weight: it waits for 10 s, and little longer.
light_hogs() { lop-load hogs "$1" --policy idle --seconds 26 --max-gap-ms 12500 "${@:2}" >"/tmp/light.$1"; }
lightest_waits() {
  local heavy name light=() options=() code=0
  for name in a b c d e f; do options+=("--task=nice=-20,name=$name"); done
  light_hogs 6 & light+=($!)
  light_hogs 2 --cpus 1,2 & light+=($!)
  light_hogs 1 --cpus 3 & light+=($!)
  lop-load shares --seconds 30 "${options[@]}" >/tmp/heavy & heavy=$!
  for name in "${light[@]}"; do wait "$name" || code=1; done
  needed wait $heavy || code=1
  echo "longest waits $(sed -n 's/.*"longest_gap_ms": \([0-9.]*\),/\1 ms/p' /tmp/light.6 /tmp/light.2 /tmp/light.1 | paste -sd ' ')"
  sed -n 's/.*"share": /share of one of nice -20: /p' /tmp/heavy | head -n 1
  return $code
}

# Where tasks share several CPUs, or one has little, 4 s hold too few of its slices.
seconds_of() { case $1 in nice2 | throng | idle) echo 16 ;; *) echo 4 ;; esac; }

# run_all KIND: every scenario; outputs as /tmp/NAME.KIND
run_all() {
  local name
  for name in "${names[@]}"; do
    mapfile -t tasks <"/tmp/$name.tasks"
    lop-load shares --seconds "$(seconds_of "$name")" --warm-up-ms 500 "${tasks[@]}" >"/tmp/$name.$1" || return
  done
  nested_shares >"/tmp/nested.$1"
}

# Where little is given 2 points are much.
points_of() { case $1 in idle) echo 0.002 ;; *) echo 0.02 ;; esac; }

# What is due to each task by the kernel's weights: 335 is nice 5, 110 nice 10, 18 and 15 nice 18 and 19, 3 SCHED_IDLE.
weights_of() {
  case $1 in
    nice) echo 1024,335,110 ;;
    nice2) echo 1024,1024,1024,335 ;;
    cgroup) echo 1,3 ;;
    crowd | autogroup | batch) echo 1,1 ;;
    fifo) echo 1,1,1 ;;
    fifos) echo 1,1,1,1 ;;
    affinity) echo 1,1,2,2 ;;
    lighter) echo 18,15 ;;
    lightest) echo 15,3 ;;
    throng) echo 1,10 ;;
    idle) echo 3,1024 ;;
    nested) echo 3,1,12 ;;
  esac
}

# Every share, the judge's word, then all of them as `0.754/0.748`.
compare() {
  local weights
  weights=$(weights_of "$1")
  lop-judge shares "/tmp/$1.eevdf" "/tmp/$1.lopsided" --within 0.05 --or-of-all "$(points_of "$1")" ${weights:+--weights "$weights"} >/tmp/verdict
  local code=$?
  grep -E '"(task|reference|share|difference)"' /tmp/verdict | tr -d ' ' | paste - - - -
  head -n 1 /tmp/verdict
  relative_error <"/tmp/verdict"
  return $code
}

relative_error() {
  awk '/"reference"/ { gsub(/[^0-9.e-]/, "", $2); reference = $2 } /"share"/ { gsub(/[^0-9.e-]/, "", $2); share = $2 }
    /"difference"/ { gsub(/[^0-9.e-]/, "", $2); if (reference > 0) { error = $2 / reference; if (error < 0) error = -error; if (error > worst) worst = error } 
      said = said sprintf(" %.3f/%.3f", reference, share) }
    END { if (match(said, /./)) printf "EEVDF/ours:%s, largest relative error %.1f %%\n", said, worst * 100 }' 
}

scenario nice 'nice 0, 5 and 10 on one CPU' nice=0,cpus=0 nice=5,cpus=0 nice=10,cpus=0
scenario nice2 'nice 0, 0, 0 and 5 on two CPUs' nice=0,cpus=0-1,name=a nice=0,cpus=0-1,name=b nice=0,cpus=0-1,name=c nice=5,cpus=0-1
scenario cgroup 'cpu.weight 100 and 300' cgroup=light:100,cpus=0 cgroup=heavy:300,cpus=0
scenario crowd 'cpu.weight 100 with three tasks beside 100 with one' cgroup=many:100,cpus=0,threads=3 cgroup=few:100,cpus=0
scenario affinity 'affinity lists' cpus=0,name=a cpus=0,name=b cpus=1+3,name=c cpus=2-3,name=d
scenario autogroup 'autogroup: sessions of one and three threads' session,threads=1,cpus=0 session,threads=3,cpus=0
scenario fifo 'a SCHED_FIFO task beside two ordinary ones on three CPUs' policy=fifo,cpus=0-2 cpus=0-2,name=a cpus=0-2,name=b
scenario fifos 'two SCHED_FIFO tasks beside two ordinary ones, four CPUs' policy=fifo,name=a policy=fifo,name=b name=c name=d
scenario batch 'SCHED_BATCH beside ordinary' policy=batch,cpus=0 policy=other,cpus=0
scenario lighter 'nice 18 and 19' nice=18,cpus=0 nice=19,cpus=0
scenario lightest 'nice 19 and SCHED_IDLE' nice=19,cpus=0 policy=idle,cpus=0
scenario throng 'cpu.weight 10 with forty threads beside 100 with one' cgroup=throng:10,cpus=0,threads=40 cgroup=one:100,cpus=0
scenario idle 'SCHED_IDLE beside ordinary' policy=idle,cpus=0 policy=other,cpus=0

expect 'shares under EEVDF' run_all eevdf
expect 'attached' begin_lop --policy highlow-spare
expect 'shares under lopsided' run_all lopsided
rule="shares within 5 % of EEVDF's, or 2 points of all CPU time where that is more"
for name in "${names[@]}"; do figure "$rule: ${what[$name]}" compare "$name"; done
figure "$rule: groups within groups" compare nested
figure 'new groups share alike where an old one was' new_groups
figure 'a session that is given nice 10 gets a tenth' nice_session
figure 'tasks of SCHED_IDLE beside nice -20 run every 10 s, whatever their affinity' lightest_waits
expect 'ended' ended_by INT
expect 'the kernel has nothing to complain of' kernel_is_well
sum_up
