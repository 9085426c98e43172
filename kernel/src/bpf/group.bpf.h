/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
/*
 * Task groups as the fair class has them: cgroups with the cpu controller, and autogroup sessions. Each known task
 * group has a slot. A slot lives while tasks or child slots refer to it. A sleeping task may have left its group
 * without being looked at since, and the group may be gone, so a slot may outlive its group.
 */
#define LOP_DEAD_SLOT (1U << 31)
struct lop_group_slot {
	struct lop_group group;
	u64 key;       /* see key_of_group() */
	u32 refs;
};
struct lop_group_slot slots[LOP_PLACES] SEC(".data.groups");

/* No group has this key: regroup() looks for a slot again, after LOP_FULL_NS. */
#define LOP_UNKNOWN_GROUP (~0ULL)
/* Ancestors are followed to the outermost group, as the fair class follows them. */
#define LOP_DEEPEST_GROUP (1 << 20)

struct {
	__uint(type, BPF_MAP_TYPE_STACK);
	__uint(max_entries, LOP_PLACES);
	__uint(value_size, sizeof(u32));
} free_slots SEC(".maps");
static __always_inline struct lop_group_slot *slot_at(s32 slot) { return place_in(slots, slot, last_group); }
static __always_inline struct lop_group *lop_env_group(const struct lop_sched *s, s32 slot) { return &slot_at(slot)->group; }

/* After no slot was free, none is looked for during this time. */
#define LOP_FULL_NS 100000000ULL
u64 full_until_ns;
/* How often no slot was free. Tasks of such a group count in the nearest ancestor that has a slot. */
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

/* Kernels without autogroup lack these. */
struct autogroup___lop { unsigned long id; } __attribute__((preserve_access_index));
struct task_group___lop { struct autogroup___lop *autogroup; } __attribute__((preserve_access_index));

/*
 * A key that names a task group for as long as the machine runs: the serial number of its cgroup, or the id of its
 * session. The address is the last resort, since the kernel reuses it. 0: the root group.
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

/* The kernel keeps shares in 1024ths of a weight: 1024 << 10 for a cpu.weight of 100, 3 << 10 for cpu.idle. */
static __always_inline u32 weight_of_group(const struct task_group *group)
{
	u64 shares = group->shares;
	return (u32)lop_clamp(shares >> 10, 1, LOP_WEIGHT_MOST);
}

/*
 * Takes a reference, unless the slot is being freed or belongs to another group by now.
 * Invariant: while refs is above 0 and below LOP_DEAD_SLOT, the slot keeps its key.
 * Protocol: this increments refs, then checks the value before for LOP_DEAD_SLOT, then the key. release_slot() drops
 * the last reference, then sets LOP_DEAD_SLOT with a compare-and-swap that expects 0. So going from 0 to 1 is safe:
 * either the compare-and-swap fails and the slot stays, or the increment sees LOP_DEAD_SLOT and is undone. Without the
 * compare-and-swap the slot could be freed under its new holder.
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

/* A slot without references. It stays marked dead until new_slot() has filled it in. */
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

/* Drops a reference. The last one frees the slot, then drops its reference to its parent, and so on upwards. */
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

/* The slot of a known group, with a reference for the caller. LOP_NONE: it has none. */
static __always_inline s32 known_slot(u64 key)
{
	s32 *slot = bpf_map_lookup_elem(&slot_of_group, &key);
	return slot && hold_slot(*slot, key) ? *slot : LOP_NONE;
}

/*
 * A new slot below `parent`, with a reference for the caller. It takes over the caller's reference to `parent`.
 * LOP_NONE: no slot is free, or another CPU has just entered one for this group; the caller keeps its reference to
 * `parent`.
 */
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
 * The slot of a task group, with a reference for the caller. Creates it and those of its ancestors as needed. If no
 * slot is free (then `found` is false), or the group lies deeper than slots do, this is the slot of the nearest
 * ancestor that has one. So creating more groups than there are slots gains nothing: the extra groups share the
 * weight of the group that they were created in. The root group has no slot.
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
	/* The chain keeps the last LOP_MAX_GROUP_DEPTH groups seen: of a deeper hierarchy the outermost. */
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

/*
 * The kernel reports neither a changed nice value of a session nor a changed cpu.idle of a cgroup, so the weight is
 * compared here.
 */
static __always_inline void reweigh(const struct task_group *group, u64 key, s32 slot)
{
	struct lop_group *known = lop_env_group(&lopsided, slot);
	u32 weight = weight_of_group(group);
	if (slot_at(slot)->key == key && weight != lop_group_weight(known->load))
		lop_group_set_weight(&lopsided, known, weight, bpf_ktime_get_ns());
}

/* Since the last look the task may have moved to another group, or its group's weight may have changed. */
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
	if (t->task.weighs && t->group != LOP_NONE)
		lop_group_add(&lopsided, group_of(t), -weight, bpf_ktime_get_ns());
	release_slot(t->group);
	t->group = slot;
	t->group_key = found ? key : LOP_UNKNOWN_GROUP;
	if (t->task.weighs && slot != LOP_NONE)
		lop_group_add(&lopsided, group_of(t), weight, bpf_ktime_get_ns());
}

/*
 * Time on fast cores is charged to the user who started the task, whoever it works for. On machines with cores of one
 * kind it is not charged, and the user is not looked up.
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

/* Whether its owner says that nobody waits for it (policy/sets/background.h). Nothing reports a changed uclamp value or cpu.idle. */
static __noinline void note_owner(const struct task_struct *p, struct lop_task_state *t)
{
	bool nobody_waits, locked;
	if (!paces)
		return;
	nobody_waits = lop_owner_says_nobody_waits(&lopsided, &t->task, group_of(t), clamps_of(p).max);
	if (nobody_waits == t->task.nobody_waits)
		return;
	locked = log_begin();
	t->task.nobody_waits = nobody_waits;
	tell(LOP_RECORD_BACKGROUND, bpf_ktime_get_ns(), (u64)p, 0, nobody_waits);
	log_end(locked);
}
