/* SPDX-License-Identifier: MIT */
/* Callers and callees as text: see tree.h. */
#include "formats/tree.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/text.h"
#include "formats/calltree.h"
#include "formats/difference.h"
#include "formats/summary.h"

/* The largest indentation, for deep stacks. */
#define INDENT_MAX 120

#define LINES_PER_LOOK 1024

struct tree_printer {
	const struct view_input *input;
	const struct calltree *tree, *before; /* before: NULL if there is no difference to show */
	const struct difference *difference;
	bool inverted;
	double threshold; /* percent */
	double least;	 /* smallest weight of a line that is shown */
	uint64_t whole;	 /* weight of the event, 100 % */
	GArray *columns; /* uint32_t: indentation at each depth, down to the current node */
	GString *line;
	uint64_t nodes;
	FILE *out;
};

static void put_line(struct tree_printer *p)
{
	g_string_append_c(p->line, '\n');
	fwrite(p->line->str, 1, p->line->len, p->out);
	g_string_truncate(p->line, 0);
}

static bool is_shown(const struct tree_printer *p, const struct calltree_node *node)
{
	return (double)node->total.weight >= p->least;
}

/* How many children of a node are shown: the first ones, since they are sorted. */
static uint32_t count_shown(const struct tree_printer *p, const struct calltree_node *node)
{
	uint32_t i = 0;

	while (i < node->count &&
		is_shown(p, calltree_node(p->tree, calltree_child(p->tree, node, i))))
		i++;
	return i;
}

/* Shares now and before, their difference, and the samples now. */
static void append_difference(struct tree_printer *p, double share, double before, uint64_t samples)
{
	if (samples)
		g_string_append_printf(p->line, "%6.2f%%  ", share);
	else
		g_string_append(p->line, "      -  ");
	if (before > 0)
		g_string_append_printf(p->line, "%6.2f%%  ", before);
	else
		g_string_append(p->line, "      -  ");
	g_string_append_printf(p->line, "%+7.2f  %7" PRIu64 "  ", share - before, samples);
}

static void append_shares(struct tree_printer *p, uint32_t number)
{
	struct difference_shares shares;

	difference_shares(p->difference, number, &shares);
	append_difference(p, shares.total, shares.total_before,
		calltree_node(p->tree, number)->total.samples);
}

static void append_numbers(struct tree_printer *p, const struct profile_count *total,
	const struct profile_count *self)
{
	g_string_append_printf(p->line, "%6.2f%%", summary_share(total->weight, p->whole));
	if (!p->inverted && self)
		g_string_append_printf(p->line, "  %6.2f%%", summary_share(self->weight, p->whole));
	else if (!p->inverted)
		g_string_append(p->line, "        -");
	g_string_append_printf(p->line, "  %7" PRIu64 "  ", total->samples);
}

static void append_indent(struct tree_printer *p, uint32_t column, bool branch)
{
	g_string_append_printf(p->line, "%*s%s", (int)MIN(column, INDENT_MAX), "",
		branch ? "- " : "  ");
}

static void append_what(struct tree_printer *p, const struct calltree *tree,
	const struct calltree_node *node)
{
	const struct calltree_node *parent = calltree_node(tree, node->parent);
	const char *name = calltree_name(tree, node), *file = calltree_file(tree, node);

	text_append_cut(p->line, *name ? name : "-");
	if (node->kind == CALLTREE_INLINED)
		g_string_append(p->line, " (inlined)");
	if (strcmp(file, "-") == 0 || strcmp(file, calltree_file(tree, parent)) == 0)
		return;
	g_string_append(p->line, "  (");
	text_append_cut(p->line, file);
	g_string_append_c(p->line, ')');
}

/* A line for the children of a node that are not shown, which are those from `from` on. */
static void put_left_out(struct tree_printer *p, const struct calltree_node *parent, uint32_t from,
	uint32_t column)
{
	struct profile_count sum = calltree_sum(p->tree, parent, from);

	if (p->difference) /* what corresponds to them before is not added up */
		g_string_append_printf(p->line, "%6.2f%%        -        -  %7" PRIu64 "  ",
			summary_share(sum.weight, p->whole), sum.samples);
	else
		append_numbers(p, &sum, NULL);
	append_indent(p, column, true);
	g_string_append_printf(p->line, "... %u more below %.2f%%", parent->count - from,
		p->threshold);
	put_line(p);
}

/* A line for a call that has samples before only. */
struct gone_line {
	struct tree_printer *p;
	uint32_t column;
};

static void put_gone(void *arg, uint32_t before, double share)
{
	const struct gone_line *line = arg;
	struct tree_printer *p = line->p;

	if (share < p->threshold)
		return;
	append_difference(p, 0, share, 0);
	append_indent(p, line->column, true);
	append_what(p, p->before, calltree_node(p->before, before));
	put_line(p);
}

static void put_gone_children(struct tree_printer *p, uint32_t number, uint32_t column)
{
	struct gone_line line = { p, column };

	if (p->difference)
		difference_gone(p->difference, number, put_gone, &line);
}

/* A line for a node; false if it and its next siblings are left out, with all that is below them. */
static bool put_node(struct tree_printer *p, uint32_t number, uint32_t depth)
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
	if (p->difference)
		append_shares(p, number);
	else
		append_numbers(p, &node->total, &node->self);
	append_indent(p, column, branch);
	append_what(p, p->tree, node);
	put_line(p);
	put_gone_children(p, number, column + 2);
	return true;
}

static int put_nodes(struct tree_printer *p, uint32_t event)
{
	struct calltree_walk walk;
	uint32_t node, depth, none = 0;
	int ret = 0;

	g_array_set_size(p->columns, 0);
	g_array_append_val(p->columns, none);
	calltree_walk_init(&walk, p->tree, event);
	calltree_walk_next(&walk, &node, &depth); /* the event, which has a line already */
	while (!ret && calltree_walk_next(&walk, &node, &depth)) {
		if (!put_node(p, node, depth))
			calltree_walk_leave(&walk);
		if (p->nodes++ % LINES_PER_LOOK == 0 && view_cancelled(p->input))
			ret = -EINTR;
	}
	calltree_walk_fini(&walk);
	return ret;
}

static int put_event(struct tree_printer *p, uint32_t event)
{
	const struct calltree_node *top = calltree_node(p->tree, event);

	p->whole = top->total.weight;
	p->least = (double)p->whole * p->threshold / 100;
	if (!p->whole && !(p->difference && difference_gone(p->difference, event, NULL, NULL)))
		return 0;
	g_string_append_c(p->line, '\n');
	text_append_cut(p->line, calltree_name(p->tree, top));
	g_string_append(p->line, ", ");
	text_append_count(p->line, top->total.samples, "sample", "samples");
	g_string_append(p->line,
		p->inverted ? ", by where they were taken, callers below:" : ":");
	put_line(p);
	if (p->difference)
		g_string_append(p->line, "  share   before   change  samples    function");
	else
		g_string_append(p->line, p->inverted ? "  share  samples    function"
						     : "  total     self  samples    function");
	put_line(p);
	put_gone_children(p, event, 0);
	return put_nodes(p, event);
}

static int put_tree(struct tree_printer *p)
{
	uint32_t i;
	int ret = 0;

	for (i = 0; !ret && i < p->input->profile->events->len; i++)
		ret = put_event(p, i);
	return ret;
}

/* ---- all of it ------------------------------------------------------------------------------- */

static void put_head(struct tree_printer *p)
{
	struct summary summary = {.source = p->input->source};
	uint32_t i;

	for (i = 0; i < p->tree->nodes->len; i++) {
		const struct calltree_node *node = calltree_node(p->tree, i);

		const struct profile_count *count = p->inverted ? &node->total : &node->self;

		if (p->inverted && calltree_node(p->tree, node->parent)->kind != CALLTREE_EVENT)
			continue; /* the functions in which samples were taken are below the event */
		if (node->kind == CALLTREE_EVENT)
			continue;
		summary.counted += count->samples;
		if (node->kind <= CALLTREE_PROCESS ||
			!functions_function(p->input->functions, node->what)->resolved)
			summary.unresolved += count->samples;
	}
	summary_write(p->input->profile, &summary, p->out);
	if (!p->input->profile->samples)
		return;
	g_string_append_printf(p->line,
		"# left out: what is below %.2f%% of its event's samples that are not idle",
		p->threshold);
	put_line(p);
}

/* What is compared: the summary of the earlier capture too. */
static void put_heads(struct tree_printer *p)
{
	const struct view_input *before = p->input->before;
	struct summary summary = { 0 };
	uint32_t i;

	put_head(p);
	if (!before)
		return;
	g_string_append(p->line,
		"# compared with an earlier capture, of which the shares in column `before` are:");
	put_line(p);
	summary.source = before->source;
	for (i = 0; i < before->profile->events->len; i++) {
		const struct profile_event *event = profile_event(before->profile, i);

		summary.counted += event->all.samples - event->idle.samples - event->own.samples;
	}
	summary_write(before->profile, &summary, p->out);
}

static int print(struct tree_printer *p, bool head)
{
	int ret;

	p->line = g_string_new(NULL);
	p->columns = g_array_new(FALSE, FALSE, sizeof(uint32_t));
	if (head)
		put_heads(p);
	ret = put_tree(p);
	g_string_free(p->line, TRUE);
	g_array_free(p->columns, TRUE);
	return ret;
}

static int write_part(const struct view_input *input, double threshold, bool inverted, bool head,
	FILE *out, struct err *err)
{
	const struct calltree_options options = { .inverted = inverted, .by_name = input->before != NULL };
	struct tree_printer p = {
		.input = input, .threshold = threshold, .inverted = inverted, .out = out};
	struct difference *difference = NULL;
	struct calltree *tree, *before = NULL;
	int ret = calltree_create(input, &options, &tree, err);

	if (ret)
		return ret;
	if (input->before)
		ret = calltree_create(input->before, &options, &before, err);
	if (!ret && before)
		ret = difference_create(before, tree, &input->cancel, &difference);
	p.tree = tree;
	p.before = before;
	p.difference = difference;
	if (!ret)
		ret = print(&p, head);
	difference_destroy(difference);
	if (before)
		calltree_destroy(before);
	calltree_destroy(tree);
	return ret;
}

int tree_write_with(const struct view_input *input, const struct tree_options *options, FILE *out,
	struct err *err)
{
	int ret = 0;

	if (options->callees)
		ret = write_part(input, options->threshold, false, true, out, err);
	if (!ret && options->callers)
		ret = write_part(input, options->threshold, true, !options->callees, out, err);
	return ret;
}

int tree_write(const struct view_input *input, FILE *out, struct err *err)
{
	const struct tree_options options = {true, true, TREE_THRESHOLD};

	return tree_write_with(input, &options, out, err);
}
