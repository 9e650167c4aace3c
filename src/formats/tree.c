/* SPDX-License-Identifier: MIT */
/* Callers and callees as text: see tree.h. */
#include "formats/tree.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "formats/calltree.h"
#include "formats/summary.h"
#include "base/text.h"

/* However deep a stack is, lines begin at most this far to the right. */
#define INDENT_MAX 120

#define LINES_PER_LOOK 1024

struct printer {
	const struct view_input *input;
	const struct calltree *tree;
	bool inverted;
	double least;	 /* weight of a line that is shown */
	uint64_t whole;	 /* weight of the event, 100 % */
	GArray *columns; /* uint32_t: of the line at each depth on the way to the node at hand */
	GString *line;
	uint64_t nodes;
	FILE *out;
};

static void put_line(struct printer *p)
{
	g_string_append_c(p->line, '\n');
	fwrite(p->line->str, 1, p->line->len, p->out);
	g_string_truncate(p->line, 0);
}

static bool is_shown(const struct printer *p, const struct calltree_node *node)
{
	return (double)node->total.weight >= p->least;
}

/* How many children of a node are shown: the first ones, they are sorted. */
static uint32_t count_shown(const struct printer *p, const struct calltree_node *node)
{
	uint32_t i = 0;

	while (i < node->count &&
		is_shown(p, calltree_node(p->tree, calltree_child(p->tree, node, i))))
		i++;
	return i;
}

static void append_numbers(struct printer *p, const struct profile_count *total,
	const struct profile_count *self)
{
	g_string_append_printf(p->line, "%6.2f%%", summary_share(total->weight, p->whole));
	if (!p->inverted && self)
		g_string_append_printf(p->line, "  %6.2f%%", summary_share(self->weight, p->whole));
	else if (!p->inverted)
		g_string_append(p->line, "        -");
	g_string_append_printf(p->line, "  %7" PRIu64 "  ", total->samples);
}

static void append_indent(struct printer *p, uint32_t column, bool branch)
{
	g_string_append_printf(p->line, "%*s%s", (int)MIN(column, INDENT_MAX), "",
		branch ? "- " : "  ");
}

static void append_what(struct printer *p, const struct calltree_node *node)
{
	const struct calltree_node *parent = calltree_node(p->tree, node->parent);
	const char *name = calltree_name(p->tree, node), *file = calltree_file(p->tree, node);

	text_append_cut(p->line, *name ? name : "-");
	if (node->kind == CALLTREE_INLINED)
		g_string_append(p->line, " (inlined)");
	if (strcmp(file, "-") == 0 || strcmp(file, calltree_file(p->tree, parent)) == 0)
		return;
	g_string_append(p->line, "  (");
	text_append_cut(p->line, file);
	g_string_append_c(p->line, ')');
}

/* In place of the children of a node that are not shown, from this one on. */
static void put_left_out(struct printer *p, const struct calltree_node *parent, uint32_t from,
	uint32_t column)
{
	struct profile_count sum = { 0 };
	uint32_t i;

	for (i = from; i < parent->count; i++) {
		const struct calltree_node *node =
			calltree_node(p->tree, calltree_child(p->tree, parent, i));

		profile_add(&sum, node->total.samples, node->total.weight);
	}
	append_numbers(p, &sum, NULL);
	append_indent(p, column, true);
	g_string_append_printf(p->line, "... %u more below %.2f%%", parent->count - from,
		TREE_THRESHOLD);
	put_line(p);
}

/* A line for a node; false: it and its siblings to come are left out, with what is below them. */
static bool put_node(struct printer *p, uint32_t number, uint32_t depth)
{
	const struct calltree_node *node = calltree_node(p->tree, number);
	const struct calltree_node *parent = calltree_node(p->tree, node->parent);
	uint32_t above = g_array_index(p->columns, uint32_t, depth - 1);
	bool branch = parent->kind == CALLTREE_EVENT || parent->count > 1;
	/* what is directly below the event is not indented */
	uint32_t column = parent->kind == CALLTREE_EVENT ? 0 : branch ? above + 2 : above;

	if (!is_shown(p, node)) {
		put_left_out(p, parent, count_shown(p, parent), column);
		return false;
	}
	g_array_set_size(p->columns, depth);
	g_array_append_val(p->columns, column);
	append_numbers(p, &node->total, &node->self);
	append_indent(p, column, branch);
	append_what(p, node);
	put_line(p);
	return true;
}

static int put_nodes(struct printer *p, uint32_t event)
{
	struct calltree_walk walk;
	uint32_t node, depth, none = 0;
	int ret = 0;

	g_array_set_size(p->columns, 0);
	g_array_append_val(p->columns, none);
	calltree_walk_init(&walk, p->tree, event);
	calltree_walk_next(&walk, &node, &depth); /* the event has its line */
	while (!ret && calltree_walk_next(&walk, &node, &depth)) {
		if (!put_node(p, node, depth))
			calltree_walk_leave(&walk);
		if (p->nodes++ % LINES_PER_LOOK == 0 && view_cancelled(p->input))
			ret = -EINTR;
	}
	calltree_walk_fini(&walk);
	return ret;
}

static int put_event(struct printer *p, uint32_t event)
{
	const struct calltree_node *top = calltree_node(p->tree, event);

	p->whole = top->total.weight;
	p->least = (double)p->whole * TREE_THRESHOLD / 100;
	if (!p->whole)
		return 0;
	g_string_append_c(p->line, '\n');
	text_append_cut(p->line, calltree_name(p->tree, top));
	g_string_append(p->line, ", ");
	text_append_count(p->line, top->total.samples, "sample", "samples");
	g_string_append(p->line,
		p->inverted ? ", by where they were taken, callers below:" : ":");
	put_line(p);
	g_string_append(p->line, p->inverted ? "  share  samples    function"
					     : "  total     self  samples    function");
	put_line(p);
	return put_nodes(p, event);
}

static int put_tree(struct printer *p)
{
	uint32_t i;
	int ret = 0;

	for (i = 0; !ret && i < p->input->profile->events->len; i++)
		ret = put_event(p, i);
	return ret;
}

/*
 * ---- the head ---------------------------------------------------------------------------------
 */

static void put_head(struct printer *p)
{
	struct summary head = {.own = false};
	uint32_t i;

	for (i = 0; i < p->tree->nodes->len; i++) {
		const struct calltree_node *node = calltree_node(p->tree, i);

		head.counted += node->self.samples;
		if (node->kind <= CALLTREE_PROCESS ||
			!functions_function(p->input->names, node->what)->resolved)
			head.unresolved += node->self.samples;
	}
	summary_write(p->input->profile, &head, p->out);
	g_string_append_printf(p->line,
		"# left out: what is below %.2f%% of its event's samples that are not idle",
		TREE_THRESHOLD);
	put_line(p);
}

static int write_part(const struct view_input *input, bool inverted, FILE *out, struct err *err)
{
	const struct calltree_options options = { .inverted = inverted };
	struct printer p = { .input = input, .inverted = inverted, .out = out };
	struct calltree *tree;
	int ret = calltree_create(input, &options, &tree, err);

	if (ret)
		return ret;
	p.tree = tree;
	p.line = g_string_new(NULL);
	p.columns = g_array_new(FALSE, FALSE, sizeof(uint32_t));
	if (!inverted)
		put_head(&p);
	ret = put_tree(&p);
	g_string_free(p.line, TRUE);
	g_array_free(p.columns, TRUE);
	calltree_destroy(tree);
	return ret;
}

int tree_write(const struct view_input *input, FILE *out, struct err *err)
{
	int ret = write_part(input, false, out, err);

	return ret ? ret : write_part(input, true, out, err);
}
