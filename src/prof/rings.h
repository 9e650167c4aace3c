/* SPDX-License-Identifier: MIT */
/*
 * The perf events of one run on one CPU, and their rings: one for samples, which the events of
 * the CPU share, and one for tasks (fork, exec, mmap, exit), of a dummy event, so that many
 * samples cannot fill it.
 *
 * If several programs sample the same kind of software event at the same time, Linux gives all of
 * them the data that it made for the first, including the id by which the events of a ring are
 * distinguished (seen with 6.18; sys/perf.h). So a ring has at most one software event other than
 * the clocks, and a sample with an unknown id belongs to it; each further one gets a separate ring.
 *
 * Opened and closed by the control thread; drained by the holder of the sampler's drain lock.
 */
#ifndef KPROFS_PROF_RINGS_H
#define KPROFS_PROF_RINGS_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "bpf/samples.h"
#include "prof/events.h"
#include "prof/offcpu.h"
#include "prof/only_points.h"
#include "sys/perf.h"

/* What a run samples; start tries them in this order. */
enum scope {
	SCOPE_MACHINE,	/* every task, kernel and user space */
	SCOPE_USER,	/* every task, user space only */
	SCOPE_OWN,	/* tasks of one user and their children, user space only */
	/* all tasks that the user has at each moment: those of others are refused by `only` */
	SCOPE_FILTERED,
	SCOPE_COUNT,
};

const char *scope_name(enum scope scope);

/* The configuration of a run: the same for all its CPUs, invariant while it runs. */
struct rings_config {
	struct event_list events; /* expanded: see events_expand() */
	uint32_t numbers[EVENTS_MAX]; /* for `info` of a sample; both sides of a wall have one */
	enum scope scope;
	bool stack_kernel, stack_user;
	uint32_t stack_copied; /* bytes of each user stack to copy, for unwinding later; 0 if none */
	unsigned int depth;
	size_t ring_bytes; /* of samples, a power of two */
	struct perf_features features;
	struct offcpu *offcpu; /* the programs of offcpu and wall; NULL if there is no such event */
	/* what programs write to: those of probes/, and with `only` those of tracepoints; else NULL */
	struct samples *programs[EVENTS_MAX];
	struct only_points *points; /* the programs of tracepoints; NULL: the events are perf's */
	bool is_users;		 /* SCOPE_OWN: of this user, with that user's rights; else of the server's */
	struct sample_user user;
	bool hides_tasks; /* those without samples: see tasks_hide() */
	struct only_filter *only; /* checks what is sampled; NULL: nothing does */
	bool in_cgroup; /* only tasks of this cgroup are sampled, by perf's events for cgroups */
	int cgroup_fd;
	const char *proc; /* NULL for "/proc" */
};

static inline bool rings_is_offcpu(const struct rings_config *config, unsigned int index)
{
	const enum event_source source = config->events.events[index].away.source;

	return source == EVENT_OFFCPU || source == EVENT_WALL_OFFCPU;
}

/* Whether perf takes stacks of the event: of offcpu only those of user space. */
static inline bool rings_has_chain(const struct rings_config *config, unsigned int index)
{
	return config->stack_user || (config->stack_kernel && !rings_is_offcpu(config, index));
}

/* The event that wrote a record: from the kernel's id to the index in config->events. */
struct rings_id {
	uint64_t id;
	uint32_t index;
};

/* The kernel's counts for one event on one CPU, summed over its descriptors. */
struct rings_count {
	uint64_t value;
	uint64_t base; /* counted between its open and the last rings_reset() */
	uint64_t lost;
};

/* A ring of samples. */
struct rings_samples {
	struct perf_ring ring;
	int fd;	     /* the event that has the ring: poll(2) this one */
	int unknown; /* index of the event to which samples with an unknown id belong; -1 if none */
};

struct rings {
	unsigned int cpu;
	const struct offcpu *offcpu; /* counts the samples of event offcpu_index */
	struct samples *programs[EVENTS_MAX]; /* count those of other events that programs write */
	int offcpu_index; /* -1 if there is none */
	const struct only_filter *only; /* counts what it refused */
	struct offcpu_counts offcpu_base; /* as `base`, of the counts other than `taken` */
	GArray *fds[EVENTS_MAX]; /* of int; one, or in SCOPE_OWN one for each task */
	GArray *task_fds;	 /* of int */
	GArray *ids;		 /* of struct rings_id, sorted by id */
	unsigned int count;	 /* of samples[] */
	struct rings_samples samples[EVENTS_MAX];
	struct perf_ring tasks;
	uint64_t lost[EVENTS_MAX]; /* of PERF_FORMAT_LOST, as reported so far */
	/*
	 * The counts at the last rings_reset(): PERF_EVENT_IOC_RESET keeps what ended children of
	 * an inherited event had counted, so nothing is reset in the kernel. Changed under
	 * profiler.lock and the drain lock, read under either.
	 */
	uint64_t base[EVENTS_MAX];
	uint64_t refused_base[EVENTS_MAX]; /* the same, of what `only` refused */
	uint64_t others_base[EVENTS_MAX];  /* and of samples of other users than the session's owner */
	uint64_t lost_tasks;
};

/*
 * Opens everything for one CPU, disabled; the task ring is enabled already. Errors are those of
 * perf_open() and perf_ring_map(); *err says which event and why. -EPERM with *locked set: memory
 * for rings.
 */
int rings_open(const struct rings_config *config, unsigned int cpu, struct rings **rings,
	bool *locked, struct err *err);
/* Does nothing for NULL. */
void rings_close(const struct rings_config *config, struct rings *rings);

/* Has the samples checked by config->only from now on, of events that are open. Under profiler.lock. */
int rings_join_only(const struct rings_config *config, struct rings *rings, struct err *err);
int rings_enable(const struct rings_config *config, struct rings *rings);
void rings_disable(const struct rings_config *config, struct rings *rings);
/* Counts begin at 0 again; losses do not. */
void rings_reset(const struct rings_config *config, struct rings *rings);
/* Event `index` of the config. Losses are 0 if the kernel does not report them. */
void rings_read(const struct rings *rings, unsigned int index, struct rings_count *count);
/* How many samples of it `only` refused, since the last rings_reset(). They are in the count. */
uint64_t rings_refused(const struct rings *rings, unsigned int index);
/* The same of those that are not of the owner of the session. */
uint64_t rings_others(const struct rings *rings, unsigned int index);
/* How often tasks came back without a sample; false if it is another event. */
bool rings_read_offcpu(const struct rings *rings, unsigned int index, struct offcpu_counts *counts);
uint64_t rings_tasks_lost(const struct rings *rings);

/* The index in config->events of the event that wrote a record with this id; -1 if it is unknown. */
int rings_find(const struct rings *rings, const struct rings_samples *samples, uint64_t id);

/* How many rings of samples a CPU has. */
unsigned int rings_of_cpu(const struct rings_config *config);

/* The ring size in KiB that kernel.perf_event_mlock_kb would allow; 0 if none. */
uint64_t rings_fitting_kb(const struct rings_config *config);

#endif
