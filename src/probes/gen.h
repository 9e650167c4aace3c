/* SPDX-License-Identifier: MIT */
/*
 * The third stage: a unit of a checked program becomes instructions.
 *
 * Registers of a program: R6 the context, R8 the task, R9 the scratch memory (values that are too large for
 * the stack); R7 and R0 to R5 are for short use. A value is computed into R0. One thread at a time.
 */
#ifndef KPROFS_PROBES_GEN_H
#define KPROFS_PROBES_GEN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "bpf/code.h"
#include "bpf/emit.h"
#include "bpf/samples.h"
#include "bpf/types.h"
#include "probes/ast.h"
#include "probes/layout.h"
#include "probes/output.h"

/* What all programs of one text share with the server; each is a value of an array map. */
struct gen_control {
	/*
	 * The serial number of the programs that do something, gen_env.serial, as an int32_t; 0: none. exit()
	 * clears it. Programs that were turned off may be attached for a while beside those that are on.
	 */
	uint64_t running;
	uint64_t start_ns; /* CLOCK_MONOTONIC, of `elapsed` */
};

/* Of one CPU and unit, in steps of a cache line. */
struct gen_counts {
	uint64_t counted;  /* runs that passed the filter */
	uint64_t filtered; /* runs that did not */
	uint64_t dropped;  /* keys and stacks without room */
	uint64_t lost;     /* messages, actions and samples without room */
	uint64_t busy;	   /* runs that found no scratch memory (GEN_SCRATCH_PLACES) */
	uint64_t reserved[3];
};

/* The bytes of the scratch memory of one unit, at most. */
#define GEN_SCRATCH_MAX 32768u
/*
 * A thread can be preempted in a program of a uprobe (Linux 5.19), and another one runs the program on the
 * same CPU: so many may have scratch memory of a CPU at a time.
 */
#define GEN_SCRATCH_PLACES 4u
/* Where that memory begins in its place; the first word is not 0 while a program has it. */
#define GEN_SCRATCH_HEAD 8u
/* A stack that was seen: its hash is the key. */
struct gen_stack {
	uint64_t count;
	uint64_t frames[AST_FRAMES_MAX];
};

/* What the server does for a program: a record of the ring of actions, and behind it the key of an entry. */
struct gen_action {
	uint32_t serial; /* of the program */
	uint32_t output; /* in its outputs */
	uint64_t time_ns;
	uint64_t cpu;
};

/* What the instructions refer to. Descriptors of maps. */
struct gen_env {
	const struct emit_machine *machine;
	const struct types *types;
	const struct ast *ast;
	const int *maps;		     /* by the number of the ast_map */
	const int *caches;		     /* the same; -1 where the layout has no cache */
	const struct layout_map *layouts;    /* the same */
	int control;			     /* an array with one struct gen_control */
	int counts;			     /* an array with one value: struct gen_counts[units][cpus] */
	uint32_t cpus;			     /* of it: a power of two */
	int zeros;			     /* an array with one value of zeros, of LAYOUT_VALUE_MAX bytes */
	int stacks;			     /* hash -> struct gen_stack */
	int actions;			     /* a ring buffer */
	const struct samples *samples;	     /* of sample(); NULL if the text has no such call */
	uint32_t serial;		     /* of the program, in its records */
	uint32_t pid;			     /* only this process is seen; 0: all */
	struct outputs *outputs;	     /* where calls that print are added */
	/* of uaddr(): the address of a symbol, as the probed file says; NULL where no file is probed */
	int (*symbol)(void *arg, const char *name, uint64_t *address, struct err *err);
	void *symbol_arg;
	/* gen_unit() sets them: the program is for places with these arguments, or for this place, only */
	bool used_arguments, used_address;
};

/* What a program finds in its context, by the way it is attached. */
enum gen_context {
	GEN_NOTHING,	   /* BEGIN, END */
	GEN_RECORD,	   /* a classic tracepoint: the record of its format */
	GEN_SYSCALL_ENTER, /* the raw tracepoint of all system calls: registers, number */
	GEN_SYSCALL_EXIT,  /* the same: registers, result */
	GEN_WORDS,	   /* a raw tracepoint: its arguments, 8 bytes each */
	GEN_FUNCTION,	   /* fentry: the same */
	GEN_FUNCTION_EXIT, /* fexit: the same, and the result behind them */
	GEN_REGISTERS,	   /* kprobe, uprobe: struct pt_regs */
	GEN_PERF,	   /* a perf event: struct pt_regs first */
};

struct gen_source {
	enum gen_context context;
	uint32_t params;   /* FUNCTION_EXIT: the words of the parameters before the result */
	uint32_t pointers; /* FUNCTION, FUNCTION_EXIT, WORDS: a bit for each word that is a pointer */
	uint32_t target;   /* the number of the target where the program has one, */
	int targets;	   /* or, of system calls, an array map: number of the call -> target + 1; else -1 */
	int call;	   /* of system calls with one target: its number */
	bool by_cookie;	   /* or the cookie of the link is the target */
	/*
	 * On a CPU no other run of a program of the unit comes between the instructions of one: system calls,
	 * with all targets of the unit in this program. The kernel does not preempt it.
	 */
	bool is_alone;
	const char *arguments; /* of a static probe (struct attach_place) */
	uint64_t address;      /* of the place, as the file says; 0: not known */
	const char *provider, *event; /* of an event of a program */
};

/*
 * Makes the program of a unit. `code` is to be given to program_load(); the caller releases it, also
 * after a failure. scratch: an array of one value per CPU with *scratch_bytes, or -1 at the first call,
 * which only finds out how many are needed; 0: none, and the code is complete. Returns 0, or -EINVAL,
 * -EOPNOTSUPP with the place, -E2BIG, -ENOMEM.
 */
/* Whether programs of the unit can be preempted, so that their scratch memory has places. */
bool gen_is_preempted(const struct ast_unit *unit);

int gen_unit(struct gen_env *env, const struct ast_unit *unit, const struct gen_source *source,
	int scratch, uint32_t *scratch_bytes, struct emit *emit, struct err *err);

#endif
