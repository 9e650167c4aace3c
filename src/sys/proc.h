/* SPDX-License-Identifier: MIT */
/*
 * The processes, from /proc: names, threads, executable mappings with their build-ids; and the
 * text and modules of the kernel.
 *
 * Processes begin and end during a walk: one that ends meanwhile is skipped without an error, one
 * that begins may or may not be found. So enable the kernel's own records of such changes before a
 * walk. Files that this process may not read (another user's maps) are left out.
 *
 * Reading the mappings of a process blocks on its mmap lock, which a FUSE server can keep taken
 * for any time; and a thread that reads /proc/PID while the process exits may have to finish its
 * exit. So the server has a helper process do it (symbolizerd/reader.c).
 *
 * Thread-safe; memory use is a fixed block of some 150 KiB a walk, independent of the machine.
 * Strings and bytes in the structs belong to the walk and are valid only during the callback.
 */
#ifndef KPROFS_SYS_PROC_H
#define KPROFS_SYS_PROC_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "sys/proc_maps.h"

#define PROC_COMM_MAX 64     /* bytes with the NUL: kernel workers have longer names than tasks' 16 */

#define PROC_NO_USER ((uid_t)-1)

struct proc_process {
	pid_t pid;
	uid_t uid;	  /* effective; 0 also for a process that is not dumpable (setuid) */
	uid_t real_uid;	  /* PROC_NO_USER if it can't be read */
	const char *comm; /* of the first thread */
	uint64_t start_ticks; /* when it started, in ticks after boot (sys/clock.h); 0 if not known */
	const char *exe;  /* "" for kernel threads and if unreadable; " (deleted)" stays */
};

struct proc_thread {
	pid_t pid;
	pid_t tid; /* the first thread (tid == pid) is included */
	const char *comm;
};

/*
 * For each process: process, then its threads, then its mappings. NULL members are not called and
 * their data is not read. A callback that returns other than 0 ends the visit with that value.
 */
struct proc_visitor {
	int (*process)(void *arg, const struct proc_process *process);
	int (*thread)(void *arg, const struct proc_thread *thread);
	int (*mapping)(void *arg, const struct proc_mapping *mapping);
	void *arg;
};

/*
 * Reads processes below `proc`, which is "/proc" if it is NULL, for the visitor, one after the
 * other, so that buffers are allocated once. The visitor is copied. One thread at a time may use a
 * reader. Returns -ENOENT or -EACCES if there is no such directory, -EMFILE, -ENFILE, or -ENOMEM.
 */
struct proc_reader;
int proc_reader_create(const char *proc, const struct proc_visitor *visitor,
	struct proc_reader **reader);
void proc_reader_destroy(struct proc_reader *reader);
/* 0, the value of a callback, -ESRCH if the process does not exist (any more), or an error as above. */
int proc_reader_visit(struct proc_reader *reader, pid_t pid, bool with_mappings);

/*
 * The numbers of all processes, or of the threads below /proc/PID/task. Waits for no lock of
 * another process. -ENOENT, -EACCES, -EMFILE, -ENFILE, or the value of the callback if not 0.
 */
int proc_list(const char *proc, int (*found)(void *arg, pid_t pid), void *arg);
/* All threads of the processes with this effective user; as above. */
int proc_threads_of(const char *proc, uid_t uid, int (*task)(void *arg, pid_t tid), void *arg);

/* The process of a thread; 0 if there is no such thread, or /proc cannot tell. */
pid_t proc_of_thread(const char *proc, pid_t tid);

/*
 * Whether the effective user of the process is this one, and its memory is dumpable, so that it runs no
 * setuid program. false if there is no such process.
 */
bool proc_is_of(const char *proc, pid_t pid, uid_t uid);

/* Whether the process exists and its first thread is not exiting. false if /proc cannot tell. */
bool proc_lives(const char *proc, pid_t pid);
/* The path of its program, as its root has it; false if it has none, or may not be inspected. */
bool proc_exe(const char *proc, pid_t pid, char *exe, size_t size);

/* Whether the thread has this name, as `ps` shows it; false if /proc cannot tell. Waits for no lock of it. */
bool proc_has_name(const char *proc, pid_t tid, const char *name);

/*
 * Whether a pending signal of this thread is meant to end its operation. A shell gets SIGCHLD
 * whenever a background job ends, and a command should not fail for that: signals that only
 * notify, or stop and continue, do not count. true if /proc cannot tell.
 */
bool proc_is_interrupted(const char *proc, pid_t tid);
/*
 * Whether a signal is pending that will end the program, which has no handler for it. true if
 * /proc cannot tell.
 */
bool proc_is_ending(const char *proc, pid_t tid);

/*
 * Whether this process is in the machine's first pid namespace, where pid 0 can only mean an idle
 * task. In other namespaces tasks of outside have pid 0 too. true if /proc cannot tell.
 */
bool proc_in_first_pid_namespace(const char *proc);
/* The same for cgroups, of which other namespaces have other paths. Also true without such namespaces. */
bool proc_in_first_cgroup_namespace(const char *proc);
/* The same for users, of which other namespaces have other numbers. */
bool proc_in_first_user_namespace(const char *proc);

/* ---- the kernel ------------------------------------------------------------------------------ */

struct proc_kernel {
	uint64_t start; /* _stext */
	uint64_t size;	/* to _etext; 0 if addresses are hidden (kernel.kptr_restrict) */
	unsigned char build_id[PROC_BUILD_ID_MAX];
	uint8_t build_id_length; /* 0 if there is none */
};

/*
 * Reads /proc/kallsyms up to _etext, which takes tens of ms; the result is valid until the machine
 * restarts, so callers keep it. If `sys` is NULL, it is "/sys". Fields that cannot be read are 0;
 * the only error is -ENOMEM.
 */
int proc_kernel(const char *proc, const char *sys, struct proc_kernel *kernel);

/*
 * What distinguishes kernels: as above, but reads only up to _stext, which is among the first
 * lines, and leaves the size 0.
 */
int proc_kernel_identity(const char *proc, const char *sys, struct proc_kernel *kernel);

/*
 * Calls back for each symbol of the kernel itself in the order of /proc/kallsyms, which takes tens of ms: the
 * name is valid during the call. No calls if addresses are hidden.
 */
int proc_kernel_symbols(
	const char *proc, void (*symbol)(void *arg, uint64_t address, const char *name), void *arg);


struct proc_module {
	const char *name; /* without brackets */
	uint64_t start;
	uint64_t size; /* bytes, data included, as in /proc/modules */
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
 * When memory is short, the kernel kills this process before any other, and all that it starts
 * from now on. -errno: /proc refuses it.
 */
int proc_prefer_to_end(const char *proc);

#endif
