/* SPDX-License-Identifier: MIT */
/*
 * The processes that exist, from /proc: names, threads, executable mappings with their build-ids;
 * and the kernel's own text and modules.
 *
 * Processes come and go meanwhile: one that vanishes in the middle is passed over in silence, one
 * that came may or may not be seen. So switch the kernel's own records of such changes on before a
 * walk. What this process may not read (another user's maps) is left out and counted.
 *
 * Whoever reads the mappings of a process waits for its mmap lock, which the process may hold for
 * as long as a FUSE server likes; and whoever looks at a process while it ends may have to finish
 * its end. So the server leaves it to a helper process (symbolizerd/reader.c).
 *
 * Thread-safe; memory use is a fixed block of some 150 KiB a walk, whatever the machine holds.
 * Strings and bytes in the structs belong to the walk and are valid only during the callback.
 */
#ifndef KPROFS_SYS_PROC_H
#define KPROFS_SYS_PROC_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define PROC_BUILD_ID_MAX 20 /* bytes; what the kernel reports */
#define PROC_COMM_MAX 64     /* bytes with the NUL: kernel workers have longer names than tasks' 16 */

struct proc_process {
	pid_t pid;
	uid_t uid;	  /* effective; 0 also for a process that is not dumpable (setuid) */
	const char *comm; /* of the first thread */
	uint64_t start_ticks; /* when it began, in ticks after boot (sys/clock.h); 0: not known */
	const char *exe;  /* "" for kernel threads and where it may not be read; " (deleted)" stays */
};

struct proc_thread {
	pid_t pid;
	pid_t tid; /* the first thread (tid == pid) included */
	const char *comm;
};

/* An executable mapping, named as perf's MMAP2 records name it: "//anon", "[vdso]", raw bytes. */
struct proc_mapping {
	pid_t pid;
	uint64_t start;
	uint64_t size;	 /* bytes */
	uint64_t offset; /* bytes into the file */
	uint64_t inode;
	uint32_t dev_major;
	uint32_t dev_minor;
	const char *path;
	const unsigned char *build_id;
	uint8_t build_id_length; /* 0: none, or not known */
	bool build_id_known;	 /* it was asked for, or must not be: nothing more can be found out */
};

/*
 * For each process: process, then its threads, then its mappings. NULL members are not called and
 * what they need is not read. A callback that returns other than 0 ends the walk with that value.
 */
struct proc_visitor {
	int (*process)(void *arg, const struct proc_process *process);
	int (*thread)(void *arg, const struct proc_thread *thread);
	int (*mapping)(void *arg, const struct proc_mapping *mapping);
	void *arg;
};

struct proc_result {
	uint64_t processes;
	uint64_t unreadable; /* processes whose mappings this process may not see */
};

/*
 * All processes below `proc` (NULL: "/proc"), in no order. result may be NULL. 0, a callback's
 * value, -ENOENT, -EACCES (no such directory), -EMFILE, -ENFILE, -ENOMEM.
 */
int proc_walk(const char *proc, const struct proc_visitor *visitor, struct proc_result *result);

/*
 * The same, one process after the other: what all of them need is made once. The visitor is copied.
 * One thread at a time. Errors as above.
 */
struct proc_reader;
int proc_reader_create(const char *proc, const struct proc_visitor *visitor,
	struct proc_reader **reader);
void proc_reader_destroy(struct proc_reader *reader);
/* -ESRCH where it does not exist (any more). */
int proc_reader_visit(struct proc_reader *reader, pid_t pid, bool with_mappings);

/*
 * The numbers of all processes, or of the threads below /proc/PID/task. Waits for no lock of
 * another process. -ENOENT, -EACCES, -EMFILE, -ENFILE, or what the callback returned when that was
 * not 0.
 */
int proc_list(const char *proc, int (*found)(void *arg, pid_t pid), void *arg);
/* All threads of the processes whose effective user this is; as above. */
int proc_threads_of(const char *proc, uid_t uid, int (*task)(void *arg, pid_t tid), void *arg);

/* One process; -ESRCH where it does not exist (any more). */
int proc_visit(const char *proc, pid_t pid, const struct proc_visitor *visitor);

/*
 * Whether there is such a process, and its first thread is not about to end. false where /proc
 * can't tell.
 */
bool proc_lives(const char *proc, pid_t pid);

/*
 * Whether a signal waits for this thread that is meant to end what it does. A shell hears SIGCHLD
 * whenever a job in the background ends, and would not want a command to fail for that: signals
 * that only tell, or stop and continue, don't count. true where /proc can't tell.
 */
bool proc_is_interrupted(const char *proc, pid_t tid);
/*
 * Whether one waits that will end the program, which has no handler for it. true where /proc can't
 * tell.
 */
bool proc_is_ending(const char *proc, pid_t tid);

/*
 * Whether this process is in the machine's first pid namespace, so that pid 0 can only mean an idle
 * task. In another one foreign tasks have pid 0 too. true where /proc can't tell.
 */
bool proc_in_first_pid_namespace(const char *proc);

/*
 * ---- the kernel --------------------------------------------------------------------------------
 */

struct proc_kernel {
	uint64_t start; /* _stext */
	uint64_t size;	/* to _etext; 0: addresses are hidden (kernel.kptr_restrict) */
	unsigned char build_id[PROC_BUILD_ID_MAX];
	uint8_t build_id_length; /* 0: none */
};

/*
 * `sys` NULL: "/sys". Reads /proc/kallsyms as far as _etext: tens of ms, so keep the answer, it
 * holds until the machine restarts. What can't be read stays 0: no error but -ENOMEM.
 */
int proc_kernel(const char *proc, const char *sys, struct proc_kernel *kernel);

/*
 * What tells one kernel from another: as above, but reads only as far as _stext, which is among the
 * first lines, and leaves the size 0.
 */
int proc_kernel_identity(const char *proc, const char *sys, struct proc_kernel *kernel);

struct proc_module {
	const char *name; /* without brackets */
	uint64_t start;
	uint64_t size; /* bytes, data included, as /proc/modules says */
	const unsigned char *build_id;
	uint8_t build_id_length;
};

/*
 * Every loaded module whose address is not hidden. A kernel without modules: 0, no calls. A
 * callback that returns other than 0 ends it with that value.
 */
int proc_modules(const char *proc, const char *sys,
	int (*module)(void *arg, const struct proc_module *module), void *arg);

/*
 * Where memory is short the kernel ends this process before any other, with all that it starts from
 * now on. -errno: /proc does not take it.
 */
int proc_prefer_to_end(const char *proc);

#endif
