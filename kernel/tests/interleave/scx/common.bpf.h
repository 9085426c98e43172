/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
/*
 * What the BPF program takes from the kernel and its BPF headers, for a native build: types with the fields that it
 * reads, and the functions of kernel.c, queues.c and program.c.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#define __VMLINUX_H__
typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef int32_t s32;
typedef int64_t s64;
typedef uint64_t u64;

#define MODEL_CPUS 64
#define MODEL_TASKS 192

#undef __always_inline
#define __always_inline inline __attribute__((always_inline))
#define __noinline __attribute__((noinline))
#define __weak __attribute__((weak))
#define __arg_nonnull
#define __ksym
#define SEC(name)
#define __uint(name, value) int (*name)[value]
#define __type(name, value) __typeof__(value) *name
#define __array(name, value) __typeof__(value) *name[1]
#define BPF_STRUCT_OPS(name, ...) name(__VA_ARGS__)
#define BPF_STRUCT_OPS_SLEEPABLE(name, ...) name(__VA_ARGS__)
#define SCX_OPS_DEFINE(name, ...)
#define UEI_DEFINE(name) int name
#define UEI_RECORD(name, info) ((void)(info))
#define bpf_for(i, from, to) for ((i) = (from); (i) < (to); (i)++)

enum { BPF_MAP_TYPE_HASH, BPF_MAP_TYPE_ARRAY, BPF_MAP_TYPE_HASH_OF_MAPS, BPF_MAP_TYPE_LRU_HASH, BPF_MAP_TYPE_RINGBUF, BPF_MAP_TYPE_STACK, BPF_MAP_TYPE_TASK_STORAGE };
enum { BPF_F_NO_PREALLOC = 1, BPF_F_MMAPABLE = 2, BPF_ANY = 0, BPF_NOEXIST = 1, BPF_LOCAL_STORAGE_GET_F_CREATE = 1, CLOCK_MONOTONIC = 1 };
enum { BPF_RB_NO_WAKEUP = 1, BPF_RB_FORCE_WAKEUP = 2 };
#define READ_ONCE(x) (*(const volatile __typeof__(x) *)&(x))
enum { EPERM = 1, ENOENT = 2, ESRCH = 3, ENOMEM = 12, EEXIST = 17, ECANCELED = 125 };
enum { PF_IDLE = 2, PF_KTHREAD = 0x200000 };
enum { SCX_TASK_QUEUED = 1, SCX_KICK_IDLE = 1, SCX_KICK_PREEMPT = 2 };
#define SCX_ENQ_WAKEUP 1ULL
#define SCX_ENQ_PREEMPT (1ULL << 32)
#define SCX_ENQ_IMMED (has_immed ? 1ULL << 42 : 0)
#define SCX_ENQ_REENQ (1ULL << 40)
#define SCX_ENQ_LAST (1ULL << 41)
#define SCX_DSQ_LOCAL (1ULL << 63 | 2)
#define SCX_DSQ_LOCAL_ON (3ULL << 62)
#define SCX_ECODE_ACT_RESTART (1ULL << 48)
#define SCX_ECODE_RSN_HOTPLUG (1ULL << 32)

struct cpumask { u64 bits[8]; };
struct sched_dl_entity { u64 runtime; };
struct kernfs_node { u64 id; };
struct cgroup {
	int level;
	struct cgroup *ancestors[2];
	struct kernfs_node *kn;
	void *subsys[1];
};
enum { cpu_cgrp_id };
struct task_group {
	struct task_group *parent;
	struct { struct cgroup *cgroup; u64 serial_nr; } css;
	u64 shares;
};

struct cred { struct { u32 val; } uid, euid; };

struct upid { int nr; };
struct pid {
	u32 level;
	struct upid numbers[1];
};

struct task_struct {
	struct task_struct *group_leader;
	struct pid *thread_pid;
	u64 self_exec_id;
	u32 flags, policy, __state;
	s32 pid, tgid, prio, static_prio;
	u16 migration_disabled;
	int nr_cpus_allowed;
	struct cpumask mask, *cpus_ptr;
	struct { unsigned long bits[1]; } mems_allowed;
	struct { u32 flags; u64 slice, dsq_vtime; } scx;
	struct task_group *sched_task_group;
	const struct cred *cred;
	struct { struct cgroup *dfl_cgrp; } *cgroups;
	u64 start_time;
	struct { u64 sum_exec_runtime; } se;
	struct { u64 run_delay; } sched_info;
	struct model_task *model;
};

struct rq {
	struct task_struct *curr;
	u32 nr_running;
	struct { u32 nr_running; } scx;
};

struct scx_dump_ctx { int unused; };
struct scx_exit_info { int unused; };
struct scx_init_task_args { bool fork; };
struct scx_exit_task_args { bool cancelled; };
struct scx_cpu_release_args { struct task_struct *task; };
struct bpf_timer { int unused; };
struct seq_file;
struct bpf_iter_meta { struct seq_file *seq; };
struct bpf_iter__task { struct bpf_iter_meta *meta; struct task_struct *task; };

/* A walk over a DSQ (bpf_for_each(scx_dsq)). */
struct walk { u64 queue, seen, last_vtime, last_seen; bool begun; };
struct walk walk_begin(u64 queue, u64 flags);
struct task_struct *walk_next(struct walk *walk);
#define bpf_for_each(kind, p, ...) for (struct walk walk_here = walk_begin(__VA_ARGS__); ((p) = walk_next(&walk_here));)
#define BPF_FOR_EACH_ITER (&walk_here)

u64 bpf_ktime_get_ns(void);
const u32 *preempt_count_here(void);
u32 bpf_get_smp_processor_id(void);
struct task_struct *bpf_get_current_task_btf(void);
struct rq *rq_of(s32 cpu);
void *storage_of(const void *map, struct task_struct *p);
void *look_up(const void *map, const void *key, size_t size);
long put(const void *map, const void *key, size_t size, u32 value);
void drop(const void *map, const void *key, size_t size);
long pop(const void *map, u32 *value);
long push(const void *map, const u32 *value);
void timer_start(u64 delay_ns);
bool timer_is_set(void);
extern int (*timer_callback)(void *map, int *key, struct bpf_timer *timer);
extern bool has_ext_server, has_immed;

#define __TARGET_ARCH_x86
#define bpf_ksym_exists(symbol) true
#define bpf_this_cpu_ptr(symbol) preempt_count_here()
#define bpf_per_cpu_ptr(queues, cpu) rq_of(cpu)
#define bpf_task_storage_get(map, p, value, flags) storage_of(map, p)
#define bpf_map_lookup_elem(map, key) look_up(map, key, sizeof(*(key)))
#define bpf_map_update_elem(map, key, value, flags) put(map, key, sizeof(*(key)), *(const u32 *)(value))
#define bpf_map_delete_elem(map, key) drop(map, key, sizeof(*(key)))
#define bpf_map_pop_elem(map, value) pop(map, value)
#define bpf_map_push_elem(map, value, flags) push(map, value)
#define bpf_timer_init(timer, map, clock) ((void)(timer))
#define bpf_timer_set_callback(timer, function) (timer_callback = (void *)(function))
#define bpf_timer_start(timer, delay_ns, flags) timer_start(delay_ns)
#define bpf_ringbuf_reserve(map, size, flags) ((void *)0)
#define bpf_ringbuf_submit(record, flags) ((void)(record))
#define bpf_ringbuf_discard(record, flags) ((void)(record))
#define bpf_seq_write(seq, data, size) ((void)(data))
#define bpf_get_func_arg(ctx, at, value) ((void)(value))
#define bpf_get_current_pid_tgid() 0ULL
#define bpf_local_irq_save(flags) ((void)(flags))
#define bpf_local_irq_restore(flags) ((void)(flags))
#define bpf_core_read(to, size, from) memcpy(to, from, size)
#define bpf_task_from_pid(pid) ((struct task_struct *)0)
#define bpf_task_from_vpid(pid) no_task(pid)
#define bpf_task_release(p) ((void)(p))
#define bpf_rdonly_cast(p, type) ((void *)(p))
#define bpf_core_type_id_kernel(type) 0
#define bpf_core_type_size(type) sizeof(type)
/* ext_server is the only field that the modelled kernel has or lacks. It has no other optional field. */
#define bpf_core_field_exists(field) (__builtin_strstr(#field, "ext_server") && has_ext_server)
#define bpf_cpumask_test_cpu(cpu, set) ((set)->bits[(cpu) / 64] >> (cpu) % 64 & 1)
#define is_migration_disabled(p) ((p)->migration_disabled)
#define READ_2(from, a) ((from)->a)
#define READ_3(from, a, b) ((from)->a->b)
#define READ_CHOSEN(from, a, b, chosen, ...) chosen
#define BPF_CORE_READ(...) READ_CHOSEN(__VA_ARGS__, READ_3, READ_2)(__VA_ARGS__)
#define BPF_CORE_READ_BITFIELD(from, field) ((from)->field)

const struct cpumask *scx_bpf_get_online_cpumask(void);
#define scx_bpf_put_cpumask(mask) ((void)(mask))
s32 scx_bpf_task_cpu(const struct task_struct *p);
bool scx_bpf_task_running(const struct task_struct *p);
void scx_bpf_kick_cpu(s32 cpu, u64 flags);
void scx_bpf_task_set_slice(struct task_struct *p, u64 slice_ns);
void scx_bpf_dsq_insert(struct task_struct *p, u64 queue, u64 slice_ns, u64 flags);
void scx_bpf_dsq_insert_vtime(struct task_struct *p, u64 queue, u64 slice_ns, u64 vtime, u64 flags);
bool scx_bpf_dsq_move(struct walk *walk, struct task_struct *p, u64 queue, u64 flags);
bool scx_bpf_dsq_move_to_local(u64 queue, u64 flags);
s32 scx_bpf_dsq_nr_queued(u64 queue);
u32 scx_bpf_reenqueue_local(void);
void fails(const char *why, ...) __attribute__((noreturn, format(printf, 1, 2)));
#define scx_bpf_create_dsq(queue, node) 0
#define scx_bpf_error(...) fails(__VA_ARGS__)
#define scx_bpf_exit(code, ...) fails(__VA_ARGS__)
#define scx_bpf_dump(...) ((void)0)
#define scx_bpf_cpuperf_cap(cpu) ((void)(cpu), 1024)
#define scx_bpf_cpuperf_set(cpu, perf) ((void)(perf))
