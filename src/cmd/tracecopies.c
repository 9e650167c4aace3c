/* SPDX-License-Identifier: MIT */
/* Copies of cpu/N/trace, merged: see tracecopies.h. */
#include "cmd/tracecopies.h"

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/cmd.h"

struct tracecopy {
	const char *name;
	int fd;
	struct tracefile *file;
	struct tracefile_item item; /* the next one */
	bool has_item;
};

struct tracecopies {
	struct tracecopy *copies;
	int count;
	struct tracecopy *last; /* whose item was returned last; NULL if there is none */
	bool failed;
};

static void advance(struct tracecopies *t, struct tracecopy *copy)
{
	struct err err;
	int ret = tracefile_next(copy->file, &copy->item, &err);

	copy->has_item = ret > 0;
	if (ret < 0) {
		cmd_error("%s: %s", copy->name, err.text);
		t->failed = true;
	}
}

static void open_copy(struct tracecopies *t, struct tracecopy *copy, const char *name)
{
	copy->name = name;
	copy->fd = open(name, O_RDONLY | O_CLOEXEC);
	if (copy->fd < 0) {
		cmd_error("%s: %s", name, strerror(errno));
		t->failed = true;
		return;
	}
	copy->file = tracefile_create(copy->fd);
	advance(t, copy);
}

struct tracecopies *tracecopies_open(char **names, int count)
{
	struct tracecopies *t = g_new0(struct tracecopies, 1);
	int i;

	t->copies = g_new0(struct tracecopy, count);
	t->count = count;
	for (i = 0; i < count; i++)
		open_copy(t, &t->copies[i], names[i]);
	return t;
}

bool tracecopies_close(struct tracecopies *t)
{
	bool failed = t->failed;
	int i;

	for (i = 0; i < t->count; i++) {
		tracefile_destroy(t->copies[i].file);
		if (t->copies[i].fd >= 0)
			close(t->copies[i].fd);
	}
	g_free(t->copies);
	g_free(t);
	return failed;
}

const struct tracefile_item *tracecopies_next(struct tracecopies *t)
{
	struct tracecopy *first = NULL;
	int i;

	if (t->last)
		advance(t, t->last);
	for (i = 0; i < t->count; i++) {
		struct tracecopy *copy = &t->copies[i];

		if (copy->has_item && (!first || tracefile_before(&copy->item, &first->item)))
			first = copy;
	}
	t->last = first;
	return first ? &first->item : NULL;
}

void tracecopies_print_error(struct tracecopies *t, const char *reason)
{
	cmd_error("%s: %s", t->last->name, reason);
	t->failed = true;
}

bool tracecopies_get_head(const struct tracecopies *t, int i, struct tracefile_head *head)
{
	return t->copies[i].file && tracefile_get_head(t->copies[i].file, head);
}
