/* SPDX-License-Identifier: MIT */
/* The capture as folded stacks: see folded.h. */
#include "formats/folded.h"

#include <errno.h>
#include <inttypes.h>

#include "base/text.h"
#include "base/units.h"
#include "formats/calltree.h"

#define LINES_PER_LOOK 1024

struct folded_writer {
	const struct view_input *input;
	const struct calltree *tree;
	GString *line;	 /* the frames down to the current node */
	GArray *lengths; /* size_t, by depth: of the line without the frame of that depth */
	bool time; /* counts are us */
	uint64_t bytes, nodes;
	FILE *out;
};

static const char *const kind_suffixes[] = {
	[CALLTREE_EVENT] = "",
	[CALLTREE_PROCESS] = "",
	[CALLTREE_USER] = "",
	[CALLTREE_KERNEL] = "_[k]",
	[CALLTREE_INLINED] = "_[i]",
};

static void append_frame(GString *line, const char *name, enum calltree_kind kind)
{
	size_t i;

	if (line->len)
		g_string_append_c(line, ';');
	else if (*name == '#')
		g_string_append_c(line, '_'); /* else some tools take the line for a comment */
	i = line->len;
	text_append(line, *name ? name : "-");
	for (; i < line->len; i++) {
		if (line->str[i] == ';')
			line->str[i] = ':';
		else if (line->str[i] == ' ' && g_ascii_isdigit(line->str[i + 1]))
			line->str[i] = '_';
	}
	g_string_append(line, kind_suffixes[kind]);
}

static void put_count(struct folded_writer *f, uint64_t samples)
{
	int n;

	fwrite(f->line->str, 1, f->line->len, f->out);
	n = fprintf(f->out, " %" PRIu64 "\n", samples);
	f->bytes += f->line->len + (n > 0 ? (unsigned int)n : 0);
}

/* A line for samples that are not in the tree. */
static void put_other(struct folded_writer *f, const char *frame, uint64_t samples)
{
	gsize length = f->line->len;

	if (!samples)
		return;
	append_frame(f->line, frame, CALLTREE_PROCESS);
	put_count(f, samples);
	g_string_truncate(f->line, length);
}

static int put_node(struct folded_writer *f, const struct calltree_node *node, uint32_t depth,
	struct err *err)
{
	if (f->nodes++ % LINES_PER_LOOK == 0 && view_cancelled(f->input))
		return -EINTR;
	if (depth < f->lengths->len)
		g_string_truncate(f->line, g_array_index(f->lengths, gsize, depth));
	g_array_set_size(f->lengths, depth);
	g_array_append_val(f->lengths, f->line->len);
	/* the only event needs no frame */
	if (node->kind != CALLTREE_EVENT || f->input->profile->events->len > 1)
		append_frame(f->line, calltree_name(f->tree, node), node->kind);
	if (node->self.samples)
		put_count(f, f->time ? node->self.weight / NSEC_PER_USEC : node->self.samples);
	if (f->bytes > FOLDED_BYTES_MAX)
		return err_set(err, EFBIG,
			"the text has more than %u bytes, the limit: record for a shorter time",
			FOLDED_BYTES_MAX);
	return 0;
}

static int put_event(struct folded_writer *f, uint32_t i, struct err *err)
{
	const struct profile_event *event = profile_event(f->input->profile, i);
	struct calltree_walk walk;
	uint32_t node, depth;
	int ret = 0;

	f->time = profile_is_time(event);
	g_string_truncate(f->line, 0);
	g_array_set_size(f->lengths, 0);
	calltree_walk_init(&walk, f->tree, i);
	while (!ret && calltree_walk_next(&walk, &node, &depth))
		ret = put_node(f, calltree_node(f->tree, node), depth, err);
	calltree_walk_fini(&walk);
	g_string_truncate(f->line, 0);
	if (f->input->profile->events->len > 1)
		append_frame(f->line, event->text, CALLTREE_EVENT);
	put_other(f, "[idle]", f->time ? event->idle.weight / NSEC_PER_USEC : event->idle.samples);
	put_other(f, "[kprofs]", f->time ? event->own.weight / NSEC_PER_USEC : event->own.samples);
	return ret;
}

int folded_write(const struct view_input *input, FILE *out, struct err *err)
{
	const struct calltree_options options = { .by_name = true };
	struct folded_writer f = { .input = input, .out = out };
	struct calltree *tree;
	uint32_t i;
	int ret = calltree_create(input, &options, &tree, err);

	if (ret)
		return ret;
	f.tree = tree;
	f.line = g_string_new(NULL);
	f.lengths = g_array_new(FALSE, FALSE, sizeof(gsize));
	for (i = 0; !ret && i < input->profile->events->len; i++)
		ret = put_event(&f, i, err);
	g_string_free(f.line, TRUE);
	g_array_free(f.lengths, TRUE);
	calltree_destroy(tree);
	return ret;
}
