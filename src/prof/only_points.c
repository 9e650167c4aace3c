/* SPDX-License-Identifier: MIT */
/* Programs of `only` at tracepoints: see only_points.h. Registers: R6 the context, R8 the task. */
#include "prof/only_points.h"

#include <errno.h>
#include <glib.h>
#include <string.h>
#include <unistd.h>

#include "bpf/program.h"

struct point {
	char name[EVENT_TEXT_MAX]; /* of the tracepoint, without its subsystem; "": it is another event */
	struct samples *samples;
	int program, link; /* -1: none */
};

struct only_points {
	struct point points[EVENTS_MAX]; /* by the index of their events; invariant, but `link` */
};

/* The name in SUBSYSTEM:NAME[:MODIFIER...]; -EOPNOTSUPP with the reason. */
static int find_name(const struct event *event, char *name, struct err *err)
{
	const char *begin = strchr(event->text, ':') + 1;

	if (g_str_has_prefix(event->text, "syscalls:"))
		return err_set(err, EOPNOTSUPP, "samples of %s can't be filtered: it has no raw tracepoint; "
			"raw_syscalls:sys_enter has", event->text);
	if (event->attr.freq || event->attr.sample_period != 1 || event->attr.exclude_user ||
		event->attr.exclude_kernel)
		return err_set(err, EOPNOTSUPP, "samples of %s can't be filtered: with `only` a tracepoint "
			"takes no modifier but period=1", event->text);
	g_strlcpy(name, begin, strcspn(begin, ":") + 1);
	return 0;
}

static void write_sample(const struct samples *samples, struct code *code)
{
	const int data = code_stack(code, 8);
	int done = code_label(code);

	/* before, so that no sample is read that is not counted */
	samples_emit_count(samples, 1, code);
	code_store_imm(code, BPF_DW, BPF_REG_10, data, 0);
	code_mov(code, BPF_REG_1, BPF_REG_6);
	code_map(code, BPF_REG_2, samples_outputs(samples));
	code_mov_imm64(code, BPF_REG_3, BPF_F_CURRENT_CPU);
	code_mov(code, BPF_REG_4, BPF_REG_10);
	code_alu_imm(code, BPF_ADD, BPF_REG_4, data);
	code_mov_imm(code, BPF_REG_5, 8);
	code_call(code, BPF_FUNC_perf_event_output);
	code_jump_if_imm(code, BPF_JEQ, BPF_REG_0, 0, done);
	code_jump_if_imm(code, BPF_JEQ, BPF_REG_0, -ENOSPC, done); /* perf counts it as lost */
	samples_emit_count(samples, -1, code);
	code_place(code, done);
}

static int load_point(struct point *point, unsigned int index, const struct only_filter *filter,
	const struct only *only, const struct only_fields *fields, struct err *err)
{
	const struct program_spec spec = { .name = "kp_only_point", .type = BPF_PROG_TYPE_RAW_TRACEPOINT };
	struct code code;
	int wanted, end, ret;

	code_init(&code);
	wanted = code_label(&code);
	end = code_label(&code);
	code_mov(&code, BPF_REG_6, BPF_REG_1);
	code_call(&code, BPF_FUNC_get_current_task_btf);
	code_mov(&code, BPF_REG_8, BPF_REG_0);
	only_emit(only, fields, true, &code);
	code_jump_if_imm(&code, BPF_JNE, BPF_REG_0, 0, wanted);
	only_filter_emit_refused(filter, index, &code, end);
	code_jump(&code, end);
	code_place(&code, wanted);
	write_sample(point->samples, &code);
	code_place(&code, end);
	code_return(&code, 0);
	ret = code_finish(&code, err);
	if (!ret)
		ret = program_load(&spec, &code, &point->program, err);
	code_fini(&code);
	return ret;
}

static int load_points(struct only_points *points, const struct only_filter *filter, const struct only *only,
	struct err *err)
{
	struct only_fields fields;
	unsigned int i;
	int ret = only_fields_find(&fields, err);

	for (i = 0; !ret && i < EVENTS_MAX; i++) {
		struct point *point = &points->points[i];

		if (!point->name[0])
			continue;
		ret = samples_create(&point->samples, err);
		if (!ret)
			ret = load_point(point, i, filter, only, &fields, err);
	}
	return ret;
}

bool only_points_any(const struct event_list *events)
{
	for (unsigned int i = 0; i < events->count; i++)
		if (only_points_takes(&events->events[i]))
			return true;
	return false;
}

int only_points_open(const struct event_list *events, struct only_filter *filter, const struct only *only,
	struct only_points **out, struct err *err)
{
	struct only_points *points = g_new0(struct only_points, 1);
	bool any = false;
	unsigned int i;
	int ret = 0;

	*out = NULL;
	for (i = 0; i < EVENTS_MAX; i++)
		points->points[i].program = points->points[i].link = -1;
	for (i = 0; !ret && i < events->count; i++) {
		if (!only_points_takes(&events->events[i]))
			continue;
		any = true;
		ret = find_name(&events->events[i], points->points[i].name, err);
	}
	if (!ret && any)
		ret = load_points(points, filter, only, err);
	if (ret || !any) {
		only_points_close(points);
		return ret;
	}
	*out = points;
	return 0;
}

int only_points_attach(struct only_points *points, struct err *err)
{
	for (unsigned int i = 0; i < EVENTS_MAX; i++) {
		struct point *point = &points->points[i];
		int ret = point->program < 0 ? 0 :
			program_attach_raw(point->program, point->name, &point->link, err);

		if (ret) {
			err_prefix(err, "samples of it can't be filtered");
			return -EOPNOTSUPP;
		}
	}
	return 0;
}

void only_points_close(struct only_points *points)
{
	if (!points)
		return;
	for (unsigned int i = 0; i < EVENTS_MAX; i++) {
		if (points->points[i].link >= 0)
			close(points->points[i].link);
		if (points->points[i].program >= 0)
			close(points->points[i].program);
		samples_put(points->points[i].samples);
	}
	g_free(points);
}

struct samples *only_points_samples(const struct only_points *points, unsigned int index)
{
	return points ? points->points[index].samples : NULL;
}

uint64_t only_points_missed(const struct only_points *points, unsigned int index)
{
	struct program_counts counts = { 0 };

	if (!points || points->points[index].program < 0 ||
		program_counts(points->points[index].program, &counts))
		return 0;
	return counts.missed;
}

int only_points_try(const struct event_list *events, const struct only *only, struct err *err)
{
	struct only_filter *filter;
	struct only_points *points;
	int ret;

	if (!only_points_any(events))
		return 0;
	ret = only_filter_open(events->count, NULL, &filter, err);
	if (ret)
		return ret;
	ret = only_points_open(events, filter, only, &points, err);
	if (!ret && points)
		ret = only_points_attach(points, err);
	only_points_close(points);
	only_filter_close(filter);
	return ret;
}
