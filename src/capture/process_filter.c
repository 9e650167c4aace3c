/* SPDX-License-Identifier: MIT */
/* A capture cut down to a process and its descendants: see subset.h. */
#include "capture/process_filter.h"

#include <glib.h>

/* A process that began. */
struct birth {
	uint64_t time_ns;
	uint32_t pid;
	uint32_t parent;
	bool belongs;
};

struct process_filter {
	uint32_t root;
	uint64_t begin;
	GArray *births;      /* struct birth; sorted by time at the first question */
	GHashTable *lives;   /* pid -> GArray of its struct birth, in order; made then */
	GHashTable *members; /* pids that belong at some time */
	GHashTable *events;  /* numbers that samples and losses of this run have, or that are new in
				it */
	GHashTable
		*earlier; /* numbers of events told in front of it: told again, they are not new */
	struct process_filter_counts counts;
};

static void free_array(gpointer array)
{
	g_array_free(array, TRUE);
}

struct process_filter *process_filter_create(uint32_t root, uint64_t begin)
{
	struct process_filter *subset = g_new0(struct process_filter, 1);

	subset->root = root;
	subset->begin = begin;
	subset->births = g_array_new(FALSE, FALSE, sizeof(struct birth));
	subset->members = g_hash_table_new(NULL, NULL);
	subset->events = g_hash_table_new(NULL, NULL);
	subset->earlier = g_hash_table_new(NULL, NULL);
	return subset;
}

void process_filter_destroy(struct process_filter *subset)
{
	if (!subset)
		return;
	g_array_free(subset->births, TRUE);
	if (subset->lives)
		g_hash_table_destroy(subset->lives);
	g_hash_table_destroy(subset->members);
	g_hash_table_destroy(subset->events);
	g_hash_table_destroy(subset->earlier);
	g_free(subset);
}

const struct process_filter_counts *process_filter_counts(const struct process_filter *subset)
{
	return &subset->counts;
}

static void note(GHashTable *numbers, uint64_t number)
{
	g_hash_table_add(numbers, GSIZE_TO_POINTER((gsize)number));
}

static bool has(GHashTable *numbers, uint64_t number)
{
	return g_hash_table_contains(numbers, GSIZE_TO_POINTER((gsize)number));
}

void process_filter_learn(struct process_filter *subset, const struct decode_record *record)
{
	const struct kprof_rec_fork *fork = &record->fork;
	const bool before = record->offset < subset->begin;

	switch (record->type) {
	case KPROF_REC_FORK:
		/* a thread is no process; and the root is whoever was started as that */
		if (fork->pid != fork->parent_pid && fork->pid != subset->root) {
			const struct birth birth = {
				fork->time_ns, fork->pid, fork->parent_pid, false};

			g_array_append_val(subset->births, birth);
		}
		break;
	case KPROF_REC_EVENT:
		if (before)
			note(subset->earlier, record->event.number);
		else if (!has(subset->earlier, record->event.number))
			note(subset->events, record->event.number);
		break;
	case KPROF_REC_KERN_TRACE:
	case KPROF_REC_USER_TRACE:
		if (!before)
			note(subset->events, record->trace.info);
		break;
	case KPROF_REC_LOST:
		if (!before)
			note(subset->events, record->lost.event);
		break;
	default:
		break;
	}
}

/*
 * ---- who belongs ------------------------------------------------------------------------------
 */

static gint compare_births(gconstpointer a, gconstpointer b)
{
	const struct birth *x = a, *y = b;

	return x->time_ns < y->time_ns ? -1 : x->time_ns > y->time_ns;
}

/* The last birth of a pid that is not after this time; NULL: none is known. */
static const struct birth *find_birth(
	const struct process_filter *subset, uint32_t pid, uint64_t time_ns)
{
	const GArray *lives = g_hash_table_lookup(subset->lives, GUINT_TO_POINTER(pid));
	guint low = 0, high = lives ? lives->len : 0;

	while (low < high) {
		guint middle = low + (high - low) / 2;

		if (g_array_index(lives, struct birth, middle).time_ns <= time_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? &g_array_index(lives, struct birth, low - 1) : NULL;
}

static bool belongs(const struct process_filter *subset, uint32_t pid, uint64_t time_ns)
{
	const struct birth *birth;

	if (subset->root == KPROF_PID_KERNEL || pid == subset->root)
		return true;
	birth = find_birth(subset, pid, time_ns);
	return birth && birth->belongs;
}

/* In the order of time, so that a parent's lives are known when its child's turn comes. */
static void settle(struct process_filter *subset)
{
	guint i;

	subset->lives = g_hash_table_new_full(NULL, NULL, NULL, free_array);
	g_array_sort(subset->births, compare_births);
	g_hash_table_add(subset->members, GUINT_TO_POINTER(subset->root));
	for (i = 0; i < subset->births->len; i++) {
		struct birth *birth = &g_array_index(subset->births, struct birth, i);
		GArray *lives = g_hash_table_lookup(subset->lives, GUINT_TO_POINTER(birth->pid));

		birth->belongs = belongs(subset, birth->parent, birth->time_ns);
		if (!lives) {
			lives = g_array_new(FALSE, FALSE, sizeof(struct birth));
			g_hash_table_insert(subset->lives, GUINT_TO_POINTER(birth->pid), lives);
		}
		g_array_append_val(lives, *birth);
		if (birth->belongs)
			g_hash_table_add(subset->members, GUINT_TO_POINTER(birth->pid));
	}
	subset->counts.processes = g_hash_table_size(subset->members);
}

/*
 * ---- which records ----------------------------------------------------------------------------
 */

static bool wants_sample(struct process_filter *subset, const struct kprof_rec_trace *sample)
{
	if (subset->root != KPROF_PID_KERNEL && sample->pid == KPROF_PID_GONE) {
		subset->counts.gone++;
		return false;
	}
	if (!belongs(subset, sample->pid, sample->time_ns)) {
		subset->counts.others++;
		return false;
	}
	subset->counts.samples++;
	return true;
}

static bool wants_user_stack(
	const struct process_filter *subset, const struct kprof_rec_user_stack *stack)
{
	return subset->root == KPROF_PID_KERNEL ||
	       (stack->pid != KPROF_PID_GONE && belongs(subset, stack->pid, stack->time_ns));
}

static bool wants_loss(struct process_filter *subset, const struct kprof_rec_lost *lost)
{
	uint64_t *sum =
		&subset->counts.lost[lost->reason < PROFILE_LOST_REASONS ? lost->reason : 0];

	if (__builtin_add_overflow(*sum, lost->count, sum))
		*sum = UINT64_MAX;
	return true;
}

/* What tells of a process is wanted whenever it was: the samples say who they are by the time. */
static bool wants_task(const struct process_filter *subset, uint32_t pid)
{
	return subset->root == KPROF_PID_KERNEL || pid == KPROF_PID_KERNEL ||
	       g_hash_table_contains(subset->members, GUINT_TO_POINTER(pid));
}

bool process_filter_wants(struct process_filter *subset, const struct decode_record *record)
{
	const bool before = record->offset < subset->begin;

	if (!subset->lives)
		settle(subset);
	switch (record->type) {
	case KPROF_REC_KERN_TRACE:
	case KPROF_REC_USER_TRACE:
		return !before && wants_sample(subset, &record->trace);
	case KPROF_REC_USER_STACK: /* goes with its sample */
		return !before && wants_user_stack(subset, &record->user_stack);
	case KPROF_REC_LOST:
		return !before && wants_loss(subset, &record->lost);
	case KPROF_REC_TASK: /* of others too: they end what an earlier one said of the CPU */
	case KPROF_REC_PERIOD:
	case KPROF_REC_THROTTLE:
		return !before;
	case KPROF_REC_EVENT:
		return has(subset->events, record->event.number);
	case KPROF_REC_MMAP:
	case KPROF_REC_KERNEL_MMAP:
		return wants_task(subset, record->mmap.pid);
	case KPROF_REC_NEW_PROCESS:
		return wants_task(subset, record->new_process.pid);
	case KPROF_REC_COMM:
		return wants_task(subset, record->comm.pid);
	case KPROF_REC_FORK:
	case KPROF_REC_EXIT:
		return wants_task(subset, record->fork.pid);
	case KPROF_REC_BUILD_ID:
		return wants_task(subset, record->build_id.pid);
	case KPROF_REC_FILE_ID:
		return wants_task(subset, record->file_id.pid);
	default:
		return true;
	}
}
