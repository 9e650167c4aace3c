/* SPDX-License-Identifier: MIT */
/* What the files attach*.c share: the unit that is being attached. */
#ifndef KPROFS_PROBES_ATTACH_STATE_H
#define KPROFS_PROBES_ATTACH_STATE_H

#include "bpf/program.h"
#include "bpf/types.h"
#include "probes/attach.h"

/* What is being attached. */
struct attaching {
	const struct attach_machine *machine;
	struct gen_env *env;
	const struct ast_unit *unit;
	const struct ast_target *target; /* the one that is made now */
	struct attached *attached;
	struct err *err;
	guint outputs; /* of the table before this unit: all its programs have the same */
};

/* Makes and loads a program, which is the unit's. */
int attach_load(struct attaching *attaching, const struct gen_source *source, const struct program_spec *spec,
	int *program);
/* A link is the unit's from now on. */
void attach_keep_link(struct attaching *attaching, int link);
/* What a program of the target has as its context. */
struct gen_source attach_source(const struct attaching *attaching, enum gen_context context);

/* gen_source.pointers of a function or raw tracepoint. */
uint32_t attach_pointers(const struct types_function *function);
/* What was loaded behind the mark is closed: another way is tried. */
struct attach_mark {
	guint programs;
	uint32_t uncounted;
};
struct attach_mark attach_mark(const struct attaching *attaching);
void attach_back(struct attaching *attaching, struct attach_mark mark);
/* A sentence for kperr about what is attached. */
void attach_note(struct attaching *attaching, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* attach_function.c: functions of the kernel; those of kprobe and kretprobe all of the unit */
int attach_function(struct attaching *attaching);
int attach_kprobes(struct attaching *attaching);
/* attach_event.c: events of programs, all of the unit */
int attach_events(struct attaching *attaching);
void attach_forget_events(struct attached *attached);
/* attach_file.c: functions and static probes of programs and libraries */
int attach_in_file(struct attaching *attaching);

#endif
