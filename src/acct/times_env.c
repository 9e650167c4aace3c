/* SPDX-License-Identifier: MIT */
/* What the programs that measure need to know of the kernel: see times_env.h. */
#include "acct/times_env.h"

#include <errno.h>

/* The number of the system call that a task is in, in its saved registers; negative outside of one. */
static int find_call(struct times_env *env, const struct types *types, struct err *err)
{
	env->call_bytes = 8;
	if (!types_offset(types, "pt_regs", "orig_ax", &env->call, NULL))
		return 0;
	env->call_bytes = 4;
	if (!types_offset(types, "pt_regs", "syscallno", &env->call, NULL))
		return 0;
	return err_set(err, EOPNOTSUPP, "on this processor the boundary of system calls can't be measured");
}

int times_env_init(struct times_env *env, const struct types *types, bool divided, struct err *err)
{
	const struct types_row rows[] = {
		{ "task_struct", "pid", &env->pid },
		{ "task_struct", "tgid", &env->tgid },
		{ "task_struct", "comm", &env->name },
		{ "task_struct", "flags", &env->flags },
	};
	struct types_function tracepoint;
	int ret = types_offsets(types, rows, sizeof(rows) / sizeof(rows[0]), err);

	env->divided = divided;
	if (!ret && types_offset(types, "task_struct", "__state", &env->state, NULL)) /* since Linux 5.14 */
		ret = types_offset(types, "task_struct", "state", &env->state, err);
	if (!ret && divided)
		ret = find_call(env, types, err);
	if (ret)
		return ret;
	if (types_tracepoint(types, "sched_switch", &tracepoint))
		return err_set(err, EOPNOTSUPP, "this kernel does not describe its tracepoint sched_switch");
	env->has_prev_state = tracepoint.count > 3;
	if (types_constant(types, "CPUHP_BRINGUP_CPU", &env->bringup_state))
		env->bringup_state = -1;
	return 0;
}
