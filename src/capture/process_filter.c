/* SPDX-License-Identifier: MIT */
/* Filters a capture for a process and its descendants: see process_filter.h. */
#include "capture/process_filter.h"

#include <glib.h>

#include "base/bisect.h"
#include "capture/pair_map.h"

/* A process that began. */
struct process_filter_birth {
	uint64_t time_ns;
	uint32_t pid;
	uint32_t parent;
	bool belongs;
};

struct process_filter {
	uint32_t root;
	uint64_t begin;
	uint64_t from_ns;    /* earlier samples are left out */
	GHashTable *roots;   /* pids: further roots */
	GHashTable *threads; /* tids that belong though their process does not */
	struct pair_map tasks; /* (cpu, pid) -> tid of the current task */
	GArray *births;      /* struct process_filter_birth; sorted by time by the first match */
	GHashTable *lives;   /* pid -> GArray of its births, sorted; made by the first match */
	GHashTable *members; /* pids that belong at some time */
	GHashTable *woken;   /* waker -> GHashTable of the pids that it woke */
	GHashTable *wakers;  /* pids that woke members, and their ancestors; made by the first match */
	GHashTable *events;  /* numbers of events that this run samples, loses or defines */
	uint64_t earlier_run_ns; /* when the last run before `begin` started */
	GHashTable *earlier; /* numbers of events defined before `begin`, so not new in this run */
	struct process_filter_counts counts;
};

static void free_array(gpointer array)
{
	g_array_free(array, TRUE);
}

static void free_table(gpointer table)
{
	g_hash_table_destroy(table);
}

struct process_filter *process_filter_create(uint32_t root, uint64_t begin)
{
	struct process_filter *filter = g_new0(struct process_filter, 1);

	filter->root = root;
	filter->begin = begin;
	filter->births = g_array_new(FALSE, FALSE, sizeof(struct process_filter_birth));
	filter->roots = g_hash_table_new(NULL, NULL);
	filter->threads = g_hash_table_new(NULL, NULL);
	pair_map_init(&filter->tasks);
	filter->members = g_hash_table_new(NULL, NULL);
	filter->woken = g_hash_table_new_full(NULL, NULL, NULL, free_table);
	filter->wakers = g_hash_table_new(NULL, NULL);
	filter->events = g_hash_table_new(NULL, NULL);
	filter->earlier = g_hash_table_new(NULL, NULL);
	return filter;
}

void process_filter_destroy(struct process_filter *filter)
{
	if (!filter)
		return;
	g_array_free(filter->births, TRUE);
	if (filter->lives)
		g_hash_table_destroy(filter->lives);
	g_hash_table_destroy(filter->roots);
	g_hash_table_destroy(filter->threads);
	pair_map_fini(&filter->tasks);
	g_hash_table_destroy(filter->members);
	g_hash_table_destroy(filter->woken);
	g_hash_table_destroy(filter->wakers);
	g_hash_table_destroy(filter->events);
	g_hash_table_destroy(filter->earlier);
	g_free(filter);
}

const struct process_filter_counts *process_filter_counts(const struct process_filter *filter)
{
	return &filter->counts;
}

static void add_number(GHashTable *numbers, uint64_t number)
{
	g_hash_table_add(numbers, GSIZE_TO_POINTER((gsize)number));
}

static bool has_number(GHashTable *numbers, uint64_t number)
{
	return g_hash_table_contains(numbers, GSIZE_TO_POINTER((gsize)number));
}

static bool is_root(const struct process_filter *filter, uint32_t pid)
{
	return pid == filter->root || has_number(filter->roots, pid);
}

void process_filter_add_process(struct process_filter *filter, uint32_t pid)
{
	add_number(filter->roots, pid);
}

void process_filter_add_thread(struct process_filter *filter, uint32_t tid)
{
	add_number(filter->threads, tid);
}

void process_filter_begin_at(struct process_filter *filter, uint64_t time_ns)
{
	filter->from_ns = time_ns;
}

static void learn_waker(struct process_filter *filter, const struct kprof_rec_away *away)
{
	const gpointer waker = GUINT_TO_POINTER(away->waker_pid);
	GHashTable *pids = g_hash_table_lookup(filter->woken, waker);

	if (away->waker_pid >= KPROF_PID_GONE)
		return;
	if (!pids) {
		pids = g_hash_table_new(NULL, NULL);
		g_hash_table_insert(filter->woken, waker, pids);
	}
	add_number(pids, away->pid);
}

void process_filter_learn(struct process_filter *filter, const struct decode_record *record)
{
	const struct kprof_rec_fork *fork = &record->fork;
	const bool before = record->offset < filter->begin;

	switch (record->type) {
	case KPROF_REC_FORK:
		/* threads don't count; and a root belongs whatever it was forked from */
		if (fork->pid != fork->parent_pid && !is_root(filter, fork->pid)) {
			const struct process_filter_birth birth = {
				fork->time_ns, fork->pid, fork->parent_pid, false};

			g_array_append_val(filter->births, birth);
		}
		break;
	case KPROF_REC_EVENT:
		if (before)
			add_number(filter->earlier, record->event.number);
		else if (!has_number(filter->earlier, record->event.number))
			add_number(filter->events, record->event.number);
		break;
	case KPROF_REC_CPU_TIMES:
		if (before)
			filter->earlier_run_ns = MAX(filter->earlier_run_ns, record->cpu_times.since_ns);
		break;
	case KPROF_REC_TASK:
		if (has_number(filter->threads, record->task.tid))
			add_number(filter->members, record->task.pid);
		break;
	case KPROF_REC_KERN_TRACE:
	case KPROF_REC_USER_TRACE:
		if (before)
			break;
		add_number(filter->events, record->trace.info);
		/* no TASK is written for a process of which only the first thread was seen */
		if (has_number(filter->threads, record->trace.pid))
			add_number(filter->members, record->trace.pid);
		break;
	case KPROF_REC_AWAY:
		if (!before)
			learn_waker(filter, &record->away);
		break;
	case KPROF_REC_LOST:
		if (!before)
			add_number(filter->events, record->lost.event);
		break;
	default:
		break;
	}
}

/* ---- which processes ------------------------------------------------------------------------- */

static gint compare_births(gconstpointer a, gconstpointer b)
{
	const struct process_filter_birth *x = a, *y = b;

	return x->time_ns < y->time_ns ? -1 : x->time_ns > y->time_ns;
}

static bool is_born_by(const void *birth, const void *time_ns)
{
	return ((const struct process_filter_birth *)birth)->time_ns <= *(const uint64_t *)time_ns;
}

/* The last birth of a pid up to this time; NULL if none is known. */
static const struct process_filter_birth *find_birth(
	const struct process_filter *filter, uint32_t pid, uint64_t time_ns)
{
	const GArray *lives = g_hash_table_lookup(filter->lives, GUINT_TO_POINTER(pid));
	size_t born = lives ? bisect(lives->data, lives->len, sizeof(struct process_filter_birth),
				      is_born_by, &time_ns)
			    : 0;

	return born ? &g_array_index(lives, struct process_filter_birth, born - 1) : NULL;
}

static bool belongs(const struct process_filter *filter, uint32_t pid, uint64_t time_ns)
{
	const struct process_filter_birth *birth;

	if (filter->root == KPROF_PID_KERNEL || is_root(filter, pid))
		return true;
	birth = find_birth(filter, pid, time_ns);
	return birth && birth->belongs;
}

/* Goes by time, so that it is known whether a parent belongs before its child is looked at. */
static void find_members(struct process_filter *filter)
{
	GHashTableIter iter;
	gpointer root;
	guint i;

	filter->lives = g_hash_table_new_full(NULL, NULL, NULL, free_array);
	g_array_sort(filter->births, compare_births);
	if (filter->root != PROCESS_FILTER_NO_ROOT)
		add_number(filter->members, filter->root);
	g_hash_table_iter_init(&iter, filter->roots);
	while (g_hash_table_iter_next(&iter, &root, NULL))
		g_hash_table_add(filter->members, root);
	for (i = 0; i < filter->births->len; i++) {
		struct process_filter_birth *birth =
			&g_array_index(filter->births, struct process_filter_birth, i);
		GArray *lives = g_hash_table_lookup(filter->lives, GUINT_TO_POINTER(birth->pid));

		birth->belongs = belongs(filter, birth->parent, birth->time_ns);
		if (!lives) {
			lives = g_array_new(FALSE, FALSE, sizeof(struct process_filter_birth));
			g_hash_table_insert(filter->lives, GUINT_TO_POINTER(birth->pid), lives);
		}
		g_array_append_val(lives, *birth);
		if (birth->belongs)
			g_hash_table_add(filter->members, GUINT_TO_POINTER(birth->pid));
	}
	filter->counts.processes = g_hash_table_size(filter->members);
}

static bool has_member(const struct process_filter *filter, GHashTable *pids)
{
	GHashTableIter iter;
	gpointer pid;

	g_hash_table_iter_init(&iter, pids);
	while (g_hash_table_iter_next(&iter, &pid, NULL))
		if (g_hash_table_contains(filter->members, pid))
			return true;
	return false;
}

/* Ancestors too: a process has the name and the mappings of its parent until it changes them. */
static void find_wakers(struct process_filter *filter)
{
	GQueue left = G_QUEUE_INIT;
	GHashTableIter iter;
	gpointer pid, pids;

	g_hash_table_iter_init(&iter, filter->woken);
	while (g_hash_table_iter_next(&iter, &pid, &pids))
		if (has_member(filter, pids) && g_hash_table_add(filter->wakers, pid))
			g_queue_push_tail(&left, pid);
	while (!g_queue_is_empty(&left)) {
		const GArray *lives = g_hash_table_lookup(filter->lives, g_queue_pop_head(&left));

		for (guint i = 0; lives && i < lives->len; i++) {
			pid = GUINT_TO_POINTER(g_array_index(lives, struct process_filter_birth, i).parent);
			if (g_hash_table_add(filter->wakers, pid))
				g_queue_push_tail(&left, pid);
		}
	}
}

/* ---- which records --------------------------------------------------------------------------- */

/* Whether the task that runs there is one of the threads. */
static bool is_of_thread(const struct process_filter *filter, uint32_t cpu, uint32_t pid)
{
	const uint64_t *tid = pair_map_find(&filter->tasks, cpu, pid);

	return has_number(filter->threads, tid ? *tid : pid);
}

static bool matches_sample(struct process_filter *filter, const struct kprof_rec_trace *sample)
{
	if (filter->root != KPROF_PID_KERNEL && sample->pid == KPROF_PID_GONE) {
		filter->counts.gone++;
		return false;
	}
	if (sample->time_ns < filter->from_ns) {
		filter->counts.early++;
		return false;
	}
	if (!belongs(filter, sample->pid, sample->time_ns) &&
		!is_of_thread(filter, sample->cpu, sample->pid)) {
		filter->counts.others++;
		return false;
	}
	filter->counts.samples++;
	return true;
}

/* What belongs to the next sample is kept if that is. */
static bool matches_next(
	const struct process_filter *filter, uint64_t time_ns, uint32_t pid, uint16_t cpu)
{
	if (time_ns < filter->from_ns)
		return false;
	return filter->root == KPROF_PID_KERNEL ||
	       (pid != KPROF_PID_GONE &&
		       (belongs(filter, pid, time_ns) || is_of_thread(filter, cpu, pid)));
}

static bool count_loss(struct process_filter *filter, const struct kprof_rec_lost *lost)
{
	uint64_t *sum =
		&filter->counts.lost[lost->reason < PROFILE_LOST_REASONS ? lost->reason : 0];

	if (__builtin_add_overflow(*sum, lost->count, sum))
		*sum = UINT64_MAX;
	return true;
}

/*
 * Records about a process are kept whatever their time: samples are assigned to processes by time.
 */
static bool matches_task(const struct process_filter *filter, uint32_t pid)
{
	return filter->root == KPROF_PID_KERNEL || pid == KPROF_PID_KERNEL ||
	       g_hash_table_contains(filter->members, GUINT_TO_POINTER(pid)) ||
	       g_hash_table_contains(filter->wakers, GUINT_TO_POINTER(pid));
}

bool process_filter_matches(struct process_filter *filter, const struct decode_record *record)
{
	const bool before = record->offset < filter->begin;

	if (!filter->lives) {
		find_members(filter);
		find_wakers(filter);
	}
	switch (record->type) {
	case KPROF_REC_KERN_TRACE:
	case KPROF_REC_USER_TRACE:
		return !before && matches_sample(filter, &record->trace);
	case KPROF_REC_USER_STACK:
		return !before && matches_next(filter, record->user_stack.time_ns,
			record->user_stack.pid, record->user_stack.cpu);
	case KPROF_REC_AWAY:
		return !before &&
		       matches_next(filter, record->away.time_ns, record->away.pid, record->away.cpu);
	case KPROF_REC_LOST:
		return !before && count_loss(filter, &record->lost);
	case KPROF_REC_TASK: /* of others too: each replaces an earlier one of the CPU */
		pair_map_set(&filter->tasks, record->task.cpu, record->task.pid, record->task.tid);
		return !before;
	case KPROF_REC_PERIOD:
	case KPROF_REC_THROTTLE:
		return !before;
	case KPROF_REC_CPU_TIMES: /* of the machine; the times of earlier runs are repeated */
		return !before && record->cpu_times.since_ns > filter->earlier_run_ns;
	case KPROF_REC_EVENT:
		return has_number(filter->events, record->event.number);
	case KPROF_REC_MMAP:
	case KPROF_REC_KERNEL_MMAP:
		return matches_task(filter, record->mmap.pid);
	case KPROF_REC_NEW_PROCESS:
		return matches_task(filter, record->new_process.pid);
	case KPROF_REC_COMM:
		return matches_task(filter, record->comm.pid);
	case KPROF_REC_USER:
		return matches_task(filter, record->user.pid);
	case KPROF_REC_FORK:
	case KPROF_REC_EXIT:
		return matches_task(filter, record->fork.pid);
	case KPROF_REC_BUILD_ID:
		return matches_task(filter, record->build_id.pid);
	case KPROF_REC_FILE_ID:
		return matches_task(filter, record->file_id.pid);
	default:
		return true;
	}
}
