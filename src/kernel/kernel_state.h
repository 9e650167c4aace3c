/* SPDX-License-Identifier: MIT */
/* The members of struct kernel, for kernel*.c. */
#ifndef KPROFS_KERNEL_KERNEL_STATE_H
#define KPROFS_KERNEL_KERNEL_STATE_H

#include <pthread.h>

#include "kernel/callnames.h"
#include "kernel/callprogram.h"
#include "kernel/calltext.h"
#include "bpf/emit.h"
#include "kernel/functionprogram.h"
#include "kernel/instance.h"
#include "kernel/kernel.h"
#include "kernel/pointprogram.h"

struct map_spec;

/* The switch of all system calls, and the beginning of the name of that of one. */
#define KERNEL_ALL_CALLS "syscalls"
#define KERNEL_ONE_CALL "syscall:"

/* That of a kernel without rings: no descriptor is open. */
extern const struct call_machine kernel_no_machine;

/* A switch that is on. */
struct kernel_setting {
	char *text;    /* the filter, NULL if there is none */
	struct filter *filter; /* the same; of tracepoints NULL: their program has it */
	bool stacks;
	int program, link;     /* of a tracepoint, else -1: what is attached */
	int array;	       /* of a tracepoint whose attached program is a stub, else -1 (stub.h) */
	uint32_t id;	       /* of the records of a tracepoint or function; 0: of no program */
	struct functionprogram *function; /* of a function, else NULL */
	bool uncounted; /* the kernel does not count all events that it leaves out */
	bool without_texts; /* those of its records can't be read */
};

/* Detaches the program of a tracepoint. */
void kernel_close_point(struct kernel_setting *setting);

/* What is written to a switch. */
struct kernel_choice {
	bool on, stacks;
	char *filter; /* NULL if there is none */
};

/*
 * kernel_choice.c: a word of switch_word.h, and where that switches on the words behind it. The filter is to
 * be freed. -EINVAL
 */
int kernel_parse_choice(const char *text, bool was_on, struct kernel_choice *choice, struct err *err);

/* i: invariant; c: under `changing`; l: under `lock`, and written under both */
struct kernel {
	uint32_t kb;		    /* i */
	uint64_t memory_bytes;	    /* i */
	struct callnames callnames; /* i */
	struct calltext *calltext;  /* i */
	/* Outer: held while the kernel attaches and detaches. No worker takes it. */
	pthread_mutex_t changing;
	struct call_machine machine; /* c */
	struct call_control *control; /* l: shared with the programs */
	struct kernel_keep *keep; /* i: NULL without the mount option */
	struct callprogram *program;  /* c: of system calls; NULL if none is on */
	uint8_t generation;	      /* c: of that program; not 0 if there is one */
	uint8_t point_generation;     /* c: of the newest program of a tracepoint or function */
	/* c: lists calls under way, -1 if the kernel can't; stays as long as rings are held */
	int begun_link;
	struct pidprogram *pidprogram; /* c: follows chosen processes; NULL if all are recorded */
	struct instance *instance; /* l: in place of all programs where there is no bpf(2); else NULL */
	int functions; /* c: the map of functionprogram.h, -1 until it is needed */
	uint64_t return_hook; /* c: functionprogram_spec; 0 until it is needed */
	bool noted_uncounted; /* l: kernel_note() */
	/* A leaf. */
	pthread_mutex_t lock;
	GHashTable *settings;	     /* l: name -> struct kernel_setting, of those that are on */
	GPtrArray *points;	     /* l: struct kernel_meaning by id - KERNEL_ID_TRACEPOINTS */
	GHashTable *probes;	     /* l: serial number -> struct kernel_meaning */
	/* l: numbers of ended programs whose records may be there, the oldest first */
	GQueue ended;
	GPtrArray *retired;	     /* l: struct kernel_meaning, freed when there is no reading */
	unsigned int readings;	     /* l: that may hold a meaning */
	int bell;		     /* i: rung when there is something that could be given back; -1 */
	const struct value_names_ops *names; /* i: NULL if no names are found */
	unsigned int holders;	     /* l: programs of probes/ that need the rings */
	GHashTable *calls;	     /* l: key of calltext.h -> struct kernel_meaning */
	struct rings *rings;	     /* l */
	unsigned int readers;	     /* l: of the rings */
	bool enabled;		     /* l */
	char *pids_text;	     /* l: the processes that are recorded; NULL for all */
	/* l: since when each call is recorded, if it is: as CLOCK_MONOTONIC */
	uint64_t calls_since_ns[CALLNAMES_NUMBERS], compat_since_ns, enabled_since_ns;
	uint64_t idle_ns;	     /* l: since when no event is on; 0 if one is, or there are no rings */
	struct rings_totals former;  /* l: of rings that were given back */
	uint64_t missed;	     /* l: of programs that were detached */
};

/* kernel_points.c */
int kernel_set_point(struct kernel *kernel, const char *name, const struct kernel_choice *choice,
	struct err *err);
bool kernel_has_point(const char *name);
void kernel_list_points(GPtrArray *names);
/* The fields of a tracepoint, read from tracefs now. */
int kernel_read_point(const char *name, struct point **point, struct err *err);

/*
 * A generation for a new program with this id, other than that of a program that may still be attached. The
 * program records once kernel_switch_point() names it, and the one before it then does so no more. Both run
 * one after the other for each event: only the event that a CPU is at in this moment may be recorded by
 * both or by none, one for each CPU and change. `id` 0 records nothing from then on.
 *
 * So a change of a setting does not use them where it can: the next program has the generation of the former
 * one and takes its place in the array of their stub (stub.h), which is exact.
 */
uint8_t kernel_choose_generation(struct kernel *kernel, uint32_t id);
uint8_t kernel_find_generation(struct kernel *kernel, uint32_t id);
void kernel_switch_point(struct kernel *kernel, const struct kernel_setting *former, uint32_t id,
	uint8_t generation);

/* kernel_functions.c */
int kernel_set_function(struct kernel *kernel, const char *name, const struct kernel_choice *choice,
	struct err *err);
bool kernel_is_function(const char *name);
bool kernel_has_function(const char *name);
/* Those that are on; all others would be some 60,000. */
void kernel_list_functions(struct kernel *kernel, GPtrArray *names);
/* The format of one that was on, and a copy of its description, or NULL. Both to be freed. */
char *kernel_format_function(struct kernel *kernel, const char *name, struct function **function);
const struct kernel_meaning *kernel_function_meaning(
	const struct kernel_meaning *meaning, const struct kernel_record *record);

/* kernel_instance.c, of a kernel that has one; a filter may be NULL. Tracepoints */
int kernel_trace_point(struct kernel *kernel, const char *name, const struct filter *filter, uint32_t id,
	struct err *err);
void kernel_untrace_point(struct kernel *kernel, const char *name);
/* The system calls that are on, and the filter of each or NULL, by their numbers. */
int kernel_trace_calls(struct kernel *kernel, const bool *on, const struct filter *const *filters,
	struct err *err);
/* Refuses what an instance can't do. */
int kernel_check_instance(const char *name, const struct kernel_choice *choice, struct err *err);

/* kernel_meanings.c */
void kernel_free_meaning(struct kernel_meaning *meaning);
/*
 * The id of a tracepoint or function: that which it had before if it is the same, or a new one. Takes the
 * meaning, also if it fails.
 */
int kernel_add_meaning(struct kernel *kernel, struct kernel_meaning *meaning, uint32_t *id, struct err *err);
/* That of a tracepoint's id, NULL if there is none. */
const struct kernel_meaning *kernel_point_meaning(struct kernel *kernel, uint32_t id);

/* kernel_probes.c */
/* Where tracefs has the types of a call's arguments: "syscalls:sys_enter_newstat". To be freed. */
char *kernel_call_tracepoint(const struct kernel *kernel, int number);
const struct kernel_meaning *kernel_probe_meaning(struct kernel *kernel, uint32_t serial);
/* With the lock held: no record is left. */
void kernel_retire_probes(struct kernel *kernel);
/* Returns KPROF_RECORD_*. */
uint32_t kernel_describe_probe(const struct kernel_meaning *meaning, const struct kernel_record *record,
	const struct value_names *names, GString *args);
/* Whether a record of a program has addresses that are printed. */
bool kernel_prints_addresses(const struct kernel_meaning *meaning, const struct kernel_record *record);

/* kernel_machine.c: with `changing` held */
int kernel_prepare(struct kernel *kernel, struct err *err);
int kernel_prepare_stacks(struct kernel *kernel, struct err *err);
void kernel_give_back(struct kernel *kernel);
/* Of a descriptor that may be -1, which it is afterwards. */
void kernel_close_fd(int *fd);

/* kernel.c: with `changing` held */
bool kernel_is_call(const struct kernel *kernel, const char *name);
int kernel_set_call(struct kernel *kernel, const char *name, const struct kernel_choice *wanted,
	struct err *err);
/* Records the calls whose switches are on, by new programs. */
int kernel_apply_calls(struct kernel *kernel, struct err *err);
/* Detaches all programs. */
void kernel_forget_settings(struct kernel *kernel);

/* kernel_set.c: a switch that was kept; system calls are recorded by kernel_apply_calls(). */
int kernel_restore(struct kernel *kernel, const char *name, const char *text, struct err *err);
/* kernel_pids.c: the same for the processes, whose threads are in the map. */
int kernel_restore_pids(struct kernel *kernel, const char *text, struct err *err);

/* NULL if there is no such tracepoint; as it is now. To be freed. */
struct kernel_meaning *kernel_describe_point(const char *name);
/* The same of a function; `limited`: with the parameters that are in registers. */
struct kernel_meaning *kernel_describe_function(const char *name, bool limited);

/* kernel_keep.c: the mount option keep; all but the counts with `changing` held */

/* A map of this description: that which is pinned if what is pinned is being taken over, else a new one. */
int kernel_keep_map(struct kernel *kernel, const char *name, const struct map_spec *spec, int *fd,
	struct err *err);
/* One that is made after kernel_keep_begin(): it is pinned. */
int kernel_keep_late_map(struct kernel *kernel, const char *name, const struct map_spec *spec, int *fd,
	struct err *err);
/* The same for the maps of system calls, after callprogram_create_maps(). */
int kernel_keep_call_maps(struct kernel *kernel, struct err *err);
/* Whether what is pinned is being taken over. */
bool kernel_keep_is_restoring(const struct kernel *kernel);
/* Then: the pinned rings. */
int kernel_keep_rings(struct kernel *kernel, struct rings **rings, struct err *err);
/* Pins what kernel_prepare() has made. 0 without the option. */
int kernel_keep_begin(struct kernel *kernel, struct err *err);
/* Removes all that is pinned; and the folder. */
void kernel_keep_end(struct kernel *kernel);
void kernel_keep_destroy(struct kernel *kernel);

/* After a change of a switch; of the programs of system calls; of the chosen processes. */
int kernel_keep_setting(struct kernel *kernel, const char *name, struct err *err);
int kernel_keep_calls(struct kernel *kernel, struct err *err);
int kernel_keep_pids(struct kernel *kernel, struct err *err);

/* trace.kernel.keep_refused */
void kernel_keep_print_stats(struct kernel *kernel, struct stats *stats);

/* kernel_pids.c: with `changing` held; detaches, and chooses all */
void kernel_forget_pids(struct kernel *kernel);

/* With the lock held: tells the programs what they record. */
void kernel_apply_enabled(struct kernel *kernel);
/* Under `changing`: notes whether anything is on, for the time when memory is given back. */
void kernel_note_use(struct kernel *kernel);
/* Both under `changing`; they take the lock. NULL removes the setting. */
void kernel_store(struct kernel *kernel, const char *name, struct kernel_setting *setting);
struct kernel_setting *kernel_find(struct kernel *kernel, const char *name);
/* With the lock held: what says whether this system call is recorded; NULL if it is not. */
const struct kernel_setting *kernel_call_setting(struct kernel *kernel, unsigned int number);
struct kernel_setting *kernel_make_setting(const struct kernel_choice *choice);
/* Its programs are detached already. */
void kernel_free_setting(struct kernel_setting *setting);
/* What a program that was detached has missed. */
void kernel_count_missed(struct kernel *kernel, uint64_t missed);

#endif
