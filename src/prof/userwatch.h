/* SPDX-License-Identifier: MIT */
/*
 * Tells profilers when a process gets another real user, by one socket for all of them
 * (sys/user_events.h). While a run listens the kernel reports such changes, and a thread reads them. If the
 * socket had no room for a report, it reads the users of all processes from /proc, once for all profilers, by
 * a helper process (symbolizerd/reader.c).
 *
 * All functions are thread-safe.
 */
#ifndef KPROFS_PROF_USERWATCH_H
#define KPROFS_PROF_USERWATCH_H

#include <stdint.h>

struct tasks;
struct userwatch;

/* program: path of kprof-symbols, NULL for the default. proc: NULL for "/proc". */
struct userwatch *userwatch_create(const char *proc, const char *program);
/* NULL is allowed. No tasks listen any more. */
void userwatch_destroy(struct userwatch *watch);

/*
 * From now on tasks_user_changed() is called for these tasks, some ms after each change. -EPERM,
 * -EPROTONOSUPPORT: the server's rights or namespaces, or this kernel, do not allow it; -EMFILE and others.
 */
int userwatch_listen(struct userwatch *watch, struct tasks *tasks);
/*
 * Tells the tasks what the kernel has reported so far and removes them from the listeners:
 * tasks_user_changed() is not called for them afterwards. Does nothing for tasks that do not listen.
 */
void userwatch_leave(struct userwatch *watch, struct tasks *tasks);
/* How often the socket had no room for a report. */
uint64_t userwatch_lost(struct userwatch *watch);
/* How often the users were read from /proc since then. */
uint64_t userwatch_readings(struct userwatch *watch);

#endif
