/* SPDX-License-Identifier: MIT */
/* The processes and threads that kprof record keeps: see record_target.h. */
#include "cmd/record_target.h"

#include <errno.h>
#include <pwd.h>
#include <signal.h>

#include "base/units.h"
#include "sys/clock.h"
#include "sys/proc.h"

void record_target_init(struct record_target *target)
{
	*target = (struct record_target){
		.processes = g_array_new(FALSE, FALSE, sizeof(uint32_t)),
		.threads = g_array_new(FALSE, FALSE, sizeof(uint32_t)),
	};
}

void record_target_fini(struct record_target *target)
{
	g_array_free(target->processes, TRUE);
	g_array_free(target->threads, TRUE);
}

static void add(GArray *numbers, uint32_t number)
{
	guint i;

	for (i = 0; i < numbers->len; i++)
		if (g_array_index(numbers, uint32_t, i) == number)
			return;
	g_array_append_val(numbers, number);
}

/* Also a kernel thread, which has no program. */
static bool lives(pid_t pid)
{
	return kill(pid, 0) == 0 || errno == EPERM;
}

/* Samples have the pid, and a thread that is given as a process has another: its process is meant. */
static uint32_t process_of(uint32_t number)
{
	const pid_t pid = proc_of_thread(NULL, (pid_t)number);

	return pid > 0 ? (uint32_t)pid : number;
}

int record_target_add_list(
	struct record_target *target, const char *list, bool threads, struct err *err)
{
	g_auto(GStrv) words = g_strsplit(list, ",", -1);
	uint64_t number;
	int i;

	if (!words[0])
		return err_set(err, EINVAL, "no %s: ''", threads ? "tid" : "pid");
	for (i = 0; words[i]; i++) {
		if (units_parse_u64(words[i], &number) || !number || number > INT32_MAX)
			return err_set(err, EINVAL, "no %s: %s", threads ? "tid" : "pid", words[i]);
		if (!lives((pid_t)number))
			return err_set(err, ESRCH, "there is no %s %s",
				threads ? "thread" : "process", words[i]);
		if (threads)
			add(target->threads, (uint32_t)number);
		else
			add(target->processes, process_of((uint32_t)number));
	}
	return 0;
}

int record_target_add_user(struct record_target *target, const char *user, struct err *err)
{
	const struct passwd *entry = getpwnam(user);
	uint64_t number;

	if (!entry && (units_parse_u64(user, &number) || number >= UINT32_MAX))
		return err_set(err, ENOENT, "there is no user %s", user);
	target->user = entry ? entry->pw_uid : (uid_t)number;
	target->has_user = true;
	record_target_look(target, true);
	return 0;
}

bool record_target_is_set(const struct record_target *target)
{
	return target->processes->len || target->threads->len || target->has_user;
}

static int take_process(void *arg, const struct proc_process *process)
{
	struct record_target *target = arg;

	if (process->uid == target->user)
		add(target->processes, (uint32_t)process->pid);
	return 0;
}

/* A process that has ended meanwhile is no failure. */
static int visit(void *arg, pid_t pid)
{
	proc_reader_visit(arg, pid, false);
	return 0;
}

void record_target_look(struct record_target *target, bool now_too)
{
	const struct proc_visitor visitor = {.process = take_process, .arg = target};
	const uint64_t now = clock_monotonic_ns();
	struct proc_reader *reader;

	if (!target->has_user || (!now_too && now - target->looked_ns < NSEC_PER_SEC))
		return;
	target->looked_ns = now;
	if (proc_reader_create(NULL, &visitor, &reader))
		return; /* the next look may succeed */
	proc_list(NULL, visit, reader);
	proc_reader_destroy(reader);
}

static bool any_lives(const GArray *numbers)
{
	guint i;

	for (i = 0; i < numbers->len; i++)
		if (lives((pid_t)g_array_index(numbers, uint32_t, i)))
			return true;
	return false;
}

bool record_target_lives(const struct record_target *target)
{
	if (target->has_user || !record_target_is_set(target))
		return true;
	return any_lives(target->processes) || any_lives(target->threads);
}

const char *record_target_remark(const struct record_target *target)
{
	if (!target->has_user)
		return NULL;
	return "the user's processes were looked up once a second: others that ended in between, and are no "
	       "descendants of these, are missing";
}
