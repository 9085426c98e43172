/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
/*
 * Groups as the fair class has them: cgroups with the cpu controller, and the sessions of autogroup. Both are task groups of
 * the kernel, and each that is known has a slot. A slot lives while tasks or groups refer to it: a task that sleeps
 * may have left its group and not have been looked at since, and the group be gone.
 */
#define LOP_DEAD_SLOT (1U << 31)
struct lop_group_slot {
	struct lop_group group;
	u64 key;       /* see key_of_group() */
	u32 refs;
};
struct lop_group_slot slots[LOP_PLACES] SEC(".data.groups");

/* No task group's name: looked for again the next time. */
#define LOP_UNKNOWN_GROUP (~0ULL)
/* Groups that lie in one another are followed to the outermost, as the fair class follows them. */
#define LOP_DEEPEST_GROUP (1 << 20)

struct {
	__uint(type, BPF_MAP_TYPE_STACK);
	__uint(max_entries, LOP_PLACES);
	__uint(value_size, sizeof(u32));
} free_slots SEC(".maps");
static __always_inline struct lop_group_slot *slot_at(s32 slot) { return place_in(slots, slot, last_group); }
static __always_inline struct lop_group *lop_env_group(const struct lop_sched *s, s32 slot) { return &slot_at(slot)->group; }

/* After no slot was found, nobody looks for one for this long. */
#define LOP_FULL_NS 100000000ULL
u64 full_until_ns;
/* How often none was found: tasks of such a group count in the nearest one around it that has a slot. */
u64 groups_left_out;

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, LOP_PLACES);
	__type(key, u64);
	__type(value, s32);
} slot_of_group SEC(".maps");

static __always_inline struct task_group *group_at(u64 address)
{
	return bpf_rdonly_cast((void *)address, bpf_core_type_id_kernel(struct task_group));
}

/* Kernels without sessions of their own lack these. */
struct autogroup___lop { unsigned long id; } __attribute__((preserve_access_index));
struct task_group___lop { struct autogroup___lop *autogroup; } __attribute__((preserve_access_index));

/*
 * What names a task group as long as the machine runs (its address serves another one when it is gone): the serial number of its
 * cgroup, or that of its session. 0: the root group.
 */
static __always_inline u64 key_of_group(const struct task_group *group)
{
	const struct task_group___lop *session = (const void *)group;
	if (!group->parent)
		return 0;
	if (group->css.cgroup)
		return group->css.serial_nr << 1;
	if (bpf_core_field_exists(session->autogroup) && session->autogroup)
		return (u64)session->autogroup->id << 1 | 1;
	return (u64)group;
}

/* Shares as the kernel keeps them, in 1024ths of a weight: 1024 << 10 for a cpu.weight of 100; 3 << 10 for cpu.idle. */
static __always_inline u32 weight_of_group(const struct task_group *group)
{
	u64 shares = group->shares;
	return (u32)lop_clamp(shares >> 10, 1, LOP_WEIGHT_MOST);
}

/*
 * One more reference, unless the slot is being given up or has become another group's. From none to one is fine: who let go
 * of the last one gives the slot up only if it still finds none.
 */
static __always_inline bool hold_slot(s32 slot, u64 key)
{
	struct lop_group_slot *about = slot_at(slot);
	u32 refs = lop_atomic_add(&about->refs, 1);
	if (refs < LOP_DEAD_SLOT && about->key == key)
		return true;
	lop_atomic_add(&about->refs, -1);
	return false;
}

/* A slot that nobody refers to, marked dead until it is ready. */
static __always_inline s32 take_slot(void)
{
	s32 slot;
	if (bpf_map_pop_elem(&free_slots, &slot))
		return LOP_NONE;
	lop_atomic_add(&slot_at(slot)->refs, LOP_DEAD_SLOT);
	return slot;
}

static __always_inline void free_slot(s32 slot)
{
	slot_at(slot)->key = 0;
	lop_atomic_add(&slot_at(slot)->refs, -LOP_DEAD_SLOT);
	bpf_map_push_elem(&free_slots, &slot, 0);
}

/* Lets go of a slot; the last one gives it up, and with it the reference to its parent, and so on. */
static __noinline void release_slot(s32 slot)
{
	int n;
	bpf_for(n, 0, LOP_MAX_GROUP_DEPTH) {
		struct lop_group_slot *about;
		u64 key;
		s32 parent;
		if (slot == LOP_NONE)
			break;
		about = slot_at(slot);
		if (lop_atomic_add(&about->refs, -1) != 1 || lop_atomic_cas(&about->refs, 0, LOP_DEAD_SLOT))
			break;
		key = about->key;
		parent = about->group.parent;
		bpf_map_delete_elem(&slot_of_group, &key);
		free_slot(slot);
		slot = parent;
	}
}

/* The slot of a group that is known, with one more reference; LOP_NONE. */
static __always_inline s32 known_slot(u64 key)
{
	s32 *slot = bpf_map_lookup_elem(&slot_of_group, &key);
	return slot && hold_slot(*slot, key) ? *slot : LOP_NONE;
}

/* A new slot below `parent`, whose reference it takes over. LOP_NONE: no room, or another CPU was quicker and is about to be. */
static __noinline s32 new_slot(u64 key, u32 weight, s32 parent)
{
	u64 now_ns = bpf_ktime_get_ns();
	struct lop_group *group;
	s32 slot;
	if (now_ns < full_until_ns)
		return LOP_NONE;
	slot = take_slot();
	if (slot == LOP_NONE) {
		full_until_ns = now_ns + LOP_FULL_NS;
		lop_atomic_add(&groups_left_out, 1);
		return LOP_NONE;
	}
	group = lop_env_group(&lopsided, slot);
	group->load = (u64)weight << 32;
	group->mean_1024 = 0;
	group->parent = parent;
	slot_at(slot)->key = key;
	if (bpf_map_update_elem(&slot_of_group, &key, &slot, BPF_NOEXIST)) {
		free_slot(slot);
		return LOP_NONE;
	}
	lop_atomic_add(&slot_at(slot)->refs, -(LOP_DEAD_SLOT - 1));
	return slot;
}

/*
 * The slot of a task group with a reference, made with those of its ancestors if need be. Without room for it (`found` is false then), or where it lies
 * deeper than slots do, it is that of its nearest ancestor with a slot: whoever makes more groups than there is room for gets no more for it than those
 * weigh that he made them in. The root group has none.
 */
static __noinline s32 slot_for(u64 address, bool *found)
{
	struct task_group *group = group_at(address);
	u64 chain[LOP_MAX_GROUP_DEPTH] = {};
	s32 slot = known_slot(key_of_group(group));
	int depth = 0, n;
	*found = true;
	if (slot != LOP_NONE)
		return slot;
	/* Of a longer one the outermost stay in the chain. */
	bpf_for(n, 0, LOP_DEEPEST_GROUP) {
		struct task_group *parent = group->parent;
		if (!parent)
			break;
		chain[n & (LOP_MAX_GROUP_DEPTH - 1)] = (u64)group;
		depth = n + 1;
		group = parent;
	}
	bpf_for(n, 0, LOP_MAX_GROUP_DEPTH) {
		s32 own;
		u64 key;
		if (n >= depth)
			break;
		group = group_at(chain[(depth - 1 - n) & (LOP_MAX_GROUP_DEPTH - 1)]);
		key = key_of_group(group);
		own = known_slot(key);
		if (own != LOP_NONE)
			release_slot(slot);
		else
			own = new_slot(key, weight_of_group(group), slot);
		*found = own != LOP_NONE;
		if (!*found)
			break;
		slot = own;
	}
	return slot;
}

static __always_inline struct lop_group *group_of(struct lop_task_state *t)
{
	return t->group == LOP_NONE ? 0 : lop_env_group(&lopsided, t->group);
}

/* The nice value of a session and cpu.idle of a cgroup change without a word. */
static __always_inline void reweigh(const struct task_group *group, u64 key, s32 slot)
{
	struct lop_group *known = lop_env_group(&lopsided, slot);
	u32 weight = weight_of_group(group);
	if (slot_at(slot)->key == key && weight != lop_group_weight(known->load))
		lop_group_set_weight(&lopsided, known, weight, bpf_ktime_get_ns());
}

/* The task may have come to another group since it was looked at last, or the group have another weight. */
static __always_inline void regroup(struct task_struct *p, struct lop_task_state *t)
{
	struct task_group *group = p->sched_task_group;
	u64 key = group ? key_of_group(group) : 0;
	s32 weight = (s32)t->task.weight, slot = LOP_NONE;
	bool found = true;
	if (key == t->group_key) {
		if (group && t->group != LOP_NONE)
			reweigh(group, key, t->group);
		return;
	}
	if (t->group_key == LOP_UNKNOWN_GROUP && bpf_ktime_get_ns() < full_until_ns)
		return;
	if (key)
		slot = slot_for((u64)group, &found);
	if (t->task.counted && t->group != LOP_NONE)
		lop_group_add(&lopsided, group_of(t), -weight, bpf_ktime_get_ns());
	release_slot(t->group);
	t->group = slot;
	t->group_key = found ? key : LOP_UNKNOWN_GROUP;
	if (t->task.counted && slot != LOP_NONE)
		lop_group_add(&lopsided, group_of(t), weight, bpf_ktime_get_ns());
}

/*
 * Who pays for its time on fast cores: the user who started it, whoever it acts for. Where all cores are of one kind nobody pays, and nobody looks.
 */
static __always_inline void note_user(const struct task_struct *p, struct lop_task_state *t)
{
	u32 user, weight;
	bool locked;
	if (!ranks || lopsided.topology.nr_tiers < 2)
		return;
	user = lop_user_index(p->cred->uid.val);
	weight = lop_weight_of_user(&lopsided, &t->task, group_of(t));
	if (user == t->task.user && weight == t->task.user_weight)
		return;
	locked = log_begin();
	lop_belong(&t->task, user, weight);
	tell(LOP_RECORD_USER, bpf_ktime_get_ns(), (u64)p, (s32)user, weight);
	log_end(locked);
}
