/* SPDX-License-Identifier: MIT */
/*
 * Programs of a unit: made for each of its targets, loaded, and attached. It takes up to some ms for
 * each, and detaching as long: not in a thread that must not wait. One thread at a time for each unit.
 */
#ifndef KPROFS_PROBES_ATTACH_H
#define KPROFS_PROBES_ATTACH_H

#include <glib.h>
#include <stdint.h>

#include "base/err.h"
#include "bpf/perf_link.h"
#include "probes/ast.h"
#include "probes/gen.h"
#include "probes/targets.h"

/* A function, a static probe, or a symbol of a file. */
struct attach_place {
	const char *name;      /* of a static probe PROVIDER:NAME */
	const char *arguments; /* of a static probe, as <sys/sdt.h> writes them; else "" */
	uint64_t offset;       /* of its first byte in the file */
	uint64_t address;      /* the same in memory, as the file says */
	uint64_t counter;      /* the place in the file of a static probe's semaphore; 0: none */
};

enum attach_wanted {
	ATTACH_FUNCTIONS,
	ATTACH_STATIC_PROBES,
	ATTACH_SYMBOLS, /* of functions and objects */
};

/* A file whose functions are probed. */
struct attach_file {
	const char *path;    /* absolute */
	const char *pattern; /* of the names; "" for none */
	enum attach_wanted wanted;
	int pid; /* below whose root the path is; 0: below the server's */
	int (*each)(void *arg, const struct attach_place *place);
	void *arg;
};

/* What the rest of the server knows. Each may be NULL. */
struct attach_hooks {
	void *arg;
	/* the number of a system call by the name that its tracepoint has, or -ENOENT */
	int (*call_number)(void *arg, const char *name);
	/* a counter by the name that `event` of kpctl takes, each `count` of it; 0: its default rate */
	int (*event)(void *arg, const char *name, uint64_t count, struct perf_link_event *event,
		struct err *err);
	/*
	 * Opens a file and calls each() for its functions until it returns other than 0. *fd becomes
	 * the file, which the caller closes, or stays as it is. The value of each(), or an error with
	 * its sentence.
	 */
	int (*functions)(void *arg, const struct attach_file *file, int *fd, struct err *err);
	/*
	 * Events of programs that are linked with libkprof. Calls each() with the path of the file that
	 * has the library, and a process below whose root it is, for the programs that run.
	 */
	void (*programs)(void *arg, void (*each)(void *arg, const char *path, int pid), void *each_arg);
	/* PROVIDER:NAME is wanted by one more, which waits until programs know it, or by one less. */
	void (*want_event)(void *arg, const char *label, bool more);
};

struct attach_machine {
	const struct targets *targets;
	const struct types *types;
	const struct attach_hooks *hooks;
	struct file_links *links; /* NULL: nothing is attached in files */
	uint64_t group;		  /* what the caller detaches these by */
};

/* Descriptors; -1 where one is not used. */
struct attached {
	GArray *programs, *links, *maps;
	struct file_links *file_links; /* i: has the links in files, */
	uint64_t group;		       /* i: in this group */
	uint32_t in_files;	       /* how many */
	GPtrArray *events; /* of programs, PROVIDER:NAME: that are wanted, as the hooks know */
	/*
	 * of programs: path and mount namespace, with how often it was tried in vain if it is tried again;
	 * device and number, with how many programs are attached there. NULL without events
	 */
	GHashTable *files;
	const struct attach_hooks *hooks; /* NULL without events */
	bool has_more; /* files of programs were left for attach_new_files(), */
	bool is_full;  /* or are left out, and this was said */
	GPtrArray *notes; /* sentences for kperr: how functions were attached, and why not otherwise */
	uint32_t probes; /* places that it is attached to */
	bool is_own; /* the server runs it: BEGIN, END */
	uint32_t stepped; /* of these, those that the kernel may single-step */
	uint32_t uncounted; /* programs of which this kernel does not count the runs that it leaves out */
};

/* Sums over programs. */
struct attached_counts {
	uint64_t missed; /* runs that the kernel left out */
	uint64_t run_ns, runs_measured; /* while the kernel measured: program_measure() */
	uint32_t known, unknown; /* programs of which `missed` is known, and others */
};

void attached_init(struct attached *attached);
/* Closes everything, which detaches all but the links in files. */
void attached_fini(struct attached *attached);

/*
 * Makes, loads and attaches. The programs do nothing until the control map says so (gen.h). After a failure
 * nothing is attached: -EINVAL and others of gen_unit(), -EOPNOTSUPP if the kernel has not what is
 * needed, or what it says.
 */
int attach_unit(const struct attach_machine *machine, struct gen_env *env, const struct ast_unit *unit,
	struct attached *attached, struct err *err);

/*
 * Of a unit of events: attaches to the files of programs that have come since, for some seconds at most.
 * -EAGAIN if files are left, since it took too long or a process is held (sys/held.h); -ENOSPC if there are
 * more than it takes. What else was wrong with a file is in the sentence alone.
 */
int attach_new_files(struct attached *attached, struct err *err);
/* Runs the programs of a unit of BEGIN or END now, in this thread. */
int attach_run(const struct attached *attached);
/* Adds the counts of the programs. */
void attached_count(const struct attached *attached, struct attached_counts *counts);

#endif
