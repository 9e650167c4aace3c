/* SPDX-License-Identifier: MIT */
/*
 * A flame graph: see flame.h. This file places and draws the frames; flame_page.c makes the page
 * around them.
 */
#include "formats/flame.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "base/units.h"
#include "formats/calltree.h"
#include "formats/difference.h"
#include "formats/summary.h"

#define FRAMES_PER_LOOK 1024

/* Labels are made for a monospaced font of 12 pixels. */
#define LETTER_WIDTH 7.3
#define LABEL_CHARS_MIN 3

/* Frames of at least this width have a white edge: narrower ones would be white only. */
#define EDGE_WIDTH_MIN 2.0

#define SHADES 4 /* of each colour, so that neighbours look different */

/* Where the children of a frame go. */
struct flame_level {
	double x; /* of the next one */
};

struct flame {
	const struct view_input *input;
	const struct calltree *tree;
	bool is_map; /* weights are values of a map, not samples */
	const struct difference *difference; /* from an earlier capture; NULL if none is compared */
	double narrowest;
	GString *svg;	  /* the frames */
	GString *text;	  /* of the current frame */
	GArray *levels;	  /* struct level, by depth */
	uint64_t whole;	  /* weight of the event */
	bool time;	  /* it is in ns */
	uint32_t top, bottom; /* of the event's picture */
	uint64_t frames;
	struct flame_page page;
};

/* ---- frames ---------------------------------------------------------------------------------- */

/* From which change of the share on, in percent points, a frame has the next stronger colour. */
static const double changes[FLAME_CHANGES] = { 0.05, 0.5, 2, 8 };

/* Class of a frame by the change of its share: r1 to r4 for more than before, b1 to b4 for less. */
static void append_change_class(GString *svg, const struct difference *difference, uint32_t number)
{
	struct difference_shares shares;
	double change;
	int strength = 0;

	difference_shares(difference, number, &shares);
	change = shares.total - shares.total_before;
	while (strength < FLAME_CHANGES && fabs(change) >= changes[strength])
		strength++;
	if (strength)
		g_string_append_printf(svg, "%c%d", change > 0 ? 'r' : 'b', strength);
	else
		g_string_append(svg, "z");
}

/* Class of a frame's rectangle: its kind, and a shade that is always the same for a function. */
static void append_class(GString *svg, const struct calltree *tree,
	const struct calltree_node *node)
{
	static const char kinds[][2] = {
		[CALLTREE_EVENT] = { 'e', 'e' },
		[CALLTREE_PROCESS] = { 'p', 'p' },
		[CALLTREE_USER] = { 'u', 'v' },
		[CALLTREE_KERNEL] = { 'k', 'l' },
		[CALLTREE_INLINED] = { 'i', 'j' },
	};
	const char waker = node->kind == CALLTREE_KERNEL ? 'y' : 'x';

	g_string_append_c(svg, node->waker ? waker : kinds[node->kind][node->away]);
	if (node->kind >= CALLTREE_USER)
		g_string_append_printf(svg, "%u",
			g_str_hash(calltree_name(tree, node)) % SHADES);
}

static void append_xml(struct flame *f, const char *text)
{
	g_string_truncate(f->text, 0);
	text_append_cut(f->text, *text ? text : "-");
	flame_page_escape(f->svg, f->text->str);
}

static void append_samples(struct flame *f, const struct profile_count *count)
{
	if (f->is_map) {
		g_string_append_printf(f->svg, "%" PRIu64 ", %.2f%%", count->weight,
			summary_share(count->weight, f->whole));
		return;
	}
	if (f->time)
		g_string_append_printf(f->svg, "%.3f ms, ", (double)count->weight / NSEC_PER_MSEC);
	g_string_append_printf(f->svg, "%" PRIu64 " sample%s, %.2f%%", count->samples,
		count->samples == 1 ? "" : "s", summary_share(count->weight, f->whole));
}

static void append_change(struct flame *f, uint32_t number)
{
	struct difference_shares shares;

	difference_shares(f->difference, number, &shares);
	if (difference_before(f->difference, number) == CALLTREE_NO_NODE)
		g_string_append(f->svg, "\nnot in the earlier capture");
	else
		g_string_append_printf(f->svg, "\nbefore %.2f%%, change %+.2f points", shares.total_before,
			shares.total - shares.total_before);
}

/* The first line is the name, for the script. */
static void append_title(struct flame *f, uint32_t number)
{
	const struct calltree_node *node = calltree_node(f->tree, number);
	static const char *const kinds[] = {
		[CALLTREE_EVENT] = "event",
		[CALLTREE_PROCESS] = "process",
		[CALLTREE_USER] = NULL,
		[CALLTREE_KERNEL] = "kernel",
		[CALLTREE_INLINED] = "inlined",
	};

	g_string_append(f->svg, "<title>");
	append_xml(f, calltree_name(f->tree, node));
	g_string_append_c(f->svg, '\n');
	append_samples(f, &node->total);
	if (node->self.samples && node->self.samples < node->total.samples)
		g_string_append_printf(
			f->svg, ", %.2f%% in itself", summary_share(node->self.weight, f->whole));
	if (f->difference)
		append_change(f, number);
	if (kinds[node->kind] && !f->is_map)
		g_string_append_printf(f->svg, "\n%s", kinds[node->kind]);
	if (node->away && node->kind >= CALLTREE_USER)
		g_string_append(f->svg, node->waker ? "\nwaker" : "\noff CPU");
	if (node->kind >= CALLTREE_USER && !f->is_map) {
		g_string_append_c(f->svg, '\n');
		append_xml(f, calltree_file(f->tree, node));
	}
	g_string_append(f->svg, "</title>");
}

static void append_rect(struct flame *f, double x, uint32_t y, double width)
{
	g_string_append_printf(f->svg, "%s\" x=\"%.3f\" y=\"%u\" width=\"%.3f\" height=\"%u\"/>",
		width > EDGE_WIDTH_MIN ? " w" : "", x, y, width, FLAME_ROW - 1);
}

/* As much of a name as fits. */
static void append_label(struct flame *f, const char *name, double x, uint32_t y, double width)
{
	glong room = (glong)((width - LETTER_WIDTH) / LETTER_WIDTH);
	const char *dots = "";

	if (room < LABEL_CHARS_MIN)
		return;
	g_string_truncate(f->text, 0);
	text_append_cut(f->text, *name ? name : "-");
	if (g_utf8_strlen(f->text->str, -1) > room) {
		dots = "..";
		g_string_truncate(f->text,
			(gsize)(g_utf8_offset_to_pointer(f->text->str, room - 2) - f->text->str));
	}
	g_string_append_printf(f->svg, "<text x=\"%.1f\" y=\"%u\">", x + 3, y + FLAME_ROW - 5);
	flame_page_escape(f->svg, f->text->str);
	g_string_append_printf(f->svg, "%s</text>", dots);
}

static void put_frame(struct flame *f, uint32_t number, double x, uint32_t y, double width)
{
	const struct calltree_node *node = calltree_node(f->tree, number);

	g_string_append(f->svg, "<g>");
	append_title(f, number);
	g_string_append(f->svg, "<rect class=\"");
	if (f->difference)
		append_change_class(f->svg, f->difference, number);
	else
		append_class(f->svg, f->tree, node);
	append_rect(f, x, y, width);
	append_label(f, calltree_name(f->tree, node), x, y, width);
	g_string_append(f->svg, "</g>\n");
	f->frames++;
}

/* One block for several functions, each of which is too narrow or too deep. */
static void put_block(struct flame *f, uint32_t functions, const struct profile_count *sum,
	double x, uint32_t y, double width)
{
	g_autofree char *name = g_strdup_printf("(%u function%s not drawn)", functions,
		functions == 1 ? "" : "s");

	g_string_append_printf(f->svg, "<g><title>%s\n", name);
	append_samples(f, sum);
	g_string_append(f->svg, "</title><rect class=\"n");
	append_rect(f, x, y, width);
	append_label(f, name, x, y, width);
	g_string_append(f->svg, "</g>\n");
	f->frames++;
}

/* ---- placing --------------------------------------------------------------------------------- */

static double width_of(const struct flame *f, uint64_t weight)
{
	return f->whole ? (double)weight / (double)f->whole * (FLAME_WIDTH - 2 * FLAME_PAD) : 0;
}

/* The children of a node from `from` on: all are too narrow, since the hottest come first. */
static void put_narrow(struct flame *f, const struct calltree_node *parent, uint32_t from,
	double x, uint32_t y)
{
	struct profile_count sum = calltree_sum(f->tree, parent, from);

	f->page.left_out.functions += parent->count - from;
	f->page.left_out.samples += sum.samples;
	if (width_of(f, sum.weight) >= f->narrowest)
		put_block(f, parent->count - from, &sum, x, y, width_of(f, sum.weight));
}

/* Draws a node at its place; false if nothing below it is drawn. */
static bool place_frame(struct flame *f, const struct calltree_walk *walk, uint32_t number,
	uint32_t depth)
{
	const struct calltree_node *node = calltree_node(f->tree, number);
	struct flame_level *level = &g_array_index(f->levels, struct flame_level, depth), below;
	double width = width_of(f, node->total.weight);
	uint32_t y = f->top + depth * FLAME_ROW;

	if (y + FLAME_ROW > f->bottom)
		f->bottom = y + FLAME_ROW;
	if (depth && (width < f->narrowest || depth >= FLAME_ROWS_MAX)) {
		const struct calltree_step *parent =
			&g_array_index(walk->steps, struct calltree_step, depth - 1);

		put_narrow(f, calltree_node(f->tree, parent->node), parent->next - 1, level->x, y);
		return false;
	}
	put_frame(f, number, level->x, y, width);
	below.x = level->x;
	level->x += width;
	g_array_set_size(f->levels, depth + 1);
	g_array_append_val(f->levels, below);
	return true;
}

static int put_event(struct flame *f, uint32_t event)
{
	const struct flame_level left = { .x = FLAME_PAD };
	struct calltree_walk walk;
	uint32_t node, depth;
	int ret = 0;

	f->whole = calltree_node(f->tree, event)->total.weight;
	f->time = profile_is_time(profile_event(f->input->profile, event));
	f->bottom = f->top;
	g_array_set_size(f->levels, 0);
	g_array_append_val(f->levels, left);
	calltree_walk_init(&walk, f->tree, event);
	while (!ret && f->whole && f->svg->len <= FLAME_FRAMES_BYTES_MAX &&
		calltree_walk_next(&walk, &node, &depth)) {
		if (!place_frame(f, &walk, node, depth))
			calltree_walk_leave(&walk);
		if (f->frames % FRAMES_PER_LOOK == 0 && view_cancelled(f->input))
			ret = -EINTR;
	}
	calltree_walk_fini(&walk);
	return ret;
}

/* All events, each below its heading; ends with f->bottom at the end of the last. */
static int put_events(struct flame *f)
{
	uint32_t i;
	int ret = 0;

	g_string_truncate(f->svg, 0);
	f->page.left_out = (struct flame_left_out){ .narrowest = f->narrowest };
	f->frames = 0;
	f->bottom = FLAME_PAGE_TOP;
	for (i = 0; !ret && i < f->input->profile->events->len; i++) {
		const struct profile_event *event = profile_event(f->input->profile, i);

		f->top = f->is_map ? flame_page_append_heading(f->svg, event->text, f->bottom) :
			flame_page_append_event(f->svg, event, f->bottom);
		ret = put_event(f, i);
		g_string_append(f->svg, "</g>\n");
	}
	return ret;
}

/* Draws with wider blocks for narrow frames until the frames fit. */
static int draw(struct flame *f, FILE *out)
{
	int ret;

	f->svg = g_string_new(NULL);
	f->text = g_string_new(NULL);
	f->levels = g_array_new(FALSE, FALSE, sizeof(struct flame_level));
	while (!(ret = put_events(f)) && f->svg->len > FLAME_FRAMES_BYTES_MAX && f->narrowest < FLAME_WIDTH)
		f->narrowest *= 1.5;
	if (!ret)
		flame_page_write(&f->page, f->svg, f->bottom, out);
	g_string_free(f->svg, TRUE);
	g_string_free(f->text, TRUE);
	g_array_free(f->levels, TRUE);
	return ret;
}

int flame_write(const struct view_input *input, FILE *out, struct err *err)
{
	const struct calltree_options options = { .by_name = input->before != NULL };
	struct flame f = { .input = input, .narrowest = FLAME_NARROWEST,
		.page = { .profile = input->profile } };
	struct difference *difference = NULL;
	struct calltree *before = NULL, *tree;
	int ret = calltree_create(input, &options, &tree, err);

	if (ret)
		return ret;
	if (input->before)
		ret = calltree_create(input->before, &options, &before, err);
	if (!ret && before)
		ret = difference_create(before, tree, &input->cancel, &difference);
	if (!ret) {
		f.tree = tree;
		f.difference = f.page.difference = difference;
		if (before)
			f.page.before = input->before->profile;
		ret = draw(&f, out);
	}
	difference_destroy(difference);
	if (before)
		calltree_destroy(before);
	calltree_destroy(tree);
	return ret;
}

void flame_write_map(const struct calltree *tree, FILE *out)
{
	const struct view_input input = { .profile = tree->profile };
	struct flame f = { .input = &input, .tree = tree, .narrowest = FLAME_NARROWEST, .is_map = true };

	/* it can't be cancelled, which is its one error */
	(void)draw(&f, out);
}
