/* SPDX-License-Identifier: MIT */
/* What is written to the switches of kernel events. */
#include "kernel/kernel_state.h"

#include <errno.h>
#include <string.h>


static int set(struct kernel *kernel, const char *name, const struct kernel_choice *choice, struct err *err)
{
	int ret;

	if (!choice->on && !kernel_find(kernel, name))
		return 0;
	if (choice->on && !kernel->rings) {
		ret = kernel_prepare(kernel, err);
		if (ret)
			return ret;
		kernel_store(kernel, name, NULL); /* if it fails, the rings are given back later */
	}
	if (kernel->instance) {
		ret = kernel_check_instance(name, choice, err);
		if (ret)
			return ret;
	}
	if (choice->stacks) {
		ret = kernel_prepare_stacks(kernel, err);
		if (ret)
			return ret;
	}
	if (kernel_is_call(kernel, name))
		return kernel_set_call(kernel, name, choice, err);
	return kernel_is_function(name) ? kernel_set_function(kernel, name, choice, err) :
					  kernel_set_point(kernel, name, choice, err);
}

/* The switch is off if it can't be kept. */
static int keep(struct kernel *kernel, const char *name, struct err *err)
{
	const struct kernel_choice off = { false };
	int ret = kernel_keep_setting(kernel, name, err);

	if (!ret)
		ret = kernel_keep_calls(kernel, err);
	if (ret)
		set(kernel, name, &off, NULL);
	return ret;
}

int kernel_restore(struct kernel *kernel, const char *name, const char *text, struct err *err)
{
	const struct kernel_choice off = { false };
	struct kernel_choice choice;
	int ret = kernel_parse_choice(text, false, &choice, err);

	if (!ret)
		ret = set(kernel, name, &choice, err);
	if (!ret)
		ret = kernel_keep_setting(kernel, name, err);
	if (ret)
		set(kernel, name, &off, NULL); /* also what was adopted */
	g_free(choice.filter);
	return ret;
}

int kernel_set(struct kernel *kernel, const char *name, const char *text, struct err *err)
{
	struct kernel_choice choice;
	int ret;

	pthread_mutex_lock(&kernel->changing);
	ret = kernel_parse_choice(text, kernel_find(kernel, name) != NULL, &choice, err);
	if (ret) {
		pthread_mutex_unlock(&kernel->changing);
		return ret;
	}
	ret = set(kernel, name, &choice, err);
	if (!ret)
		ret = keep(kernel, name, err);
	else /* what is pinned is what is still attached: nothing, or the former programs anew */
		kernel_keep_setting(kernel, name, NULL);
	pthread_mutex_unlock(&kernel->changing);
	g_free(choice.filter);
	return ret;
}
