/* SPDX-License-Identifier: MIT */
/* The code of one function with its samples: see annotate.h. */
#include "cmd/annotate.h"

#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <string.h>

#include "base/text.h"
#include "cmd/disasm.h"
#include "formats/json.h"
#include "formats/summary.h"

/* Bytes shown after the last address with samples, if the size of the function is not known. */
#define SIZE_UNKNOWN 16

struct annotate_hit {
	uint64_t offset;
	uint64_t address; /* virtual address in the file, if known */
	struct profile_count count;
};

/* ---- which function -------------------------------------------------------------------------- */

static bool matches(const struct annotate *a, uint32_t function)
{
	const char *name = functions_function(a->names, function)->name;

	if (!a->pattern)
		return function == a->function;
	return strcmp(name, a->pattern) == 0 || (!a->is_exact && fnmatch(a->pattern, name, 0) == 0);
}

static bool is_counted(const struct annotate *a, const struct profile_cell *cell)
{
	return !(cell->flags & PROFILE_IDLE) && (a->own || !(cell->flags & PROFILE_OWN)) &&
	       cell->node != STACKS_ROOT;
}

static uint32_t place_of(const struct annotate *a, const struct profile_cell *cell)
{
	return stacks_node(&a->profile->stacks, cell->node)->place;
}

/* Functions of the same name in one file begin at different offsets. */
struct annotate_candidate {
	uint32_t event, function;
	uint64_t start;
	uint64_t weight;
};

static guint hash_candidate(gconstpointer data)
{
	const struct annotate_candidate *c = data;

	return c->event * 31 + c->function * 17 + (guint)c->start;
}

static gboolean equal_candidates(gconstpointer x, gconstpointer y)
{
	const struct annotate_candidate *a = x, *b = y;

	return a->event == b->event && a->function == b->function && a->start == b->start;
}

static void count_candidate(GHashTable *all, const struct annotate_candidate *key, uint64_t weight)
{
	struct annotate_candidate *found = g_hash_table_lookup(all, key);

	if (!found) {
		found = g_memdup2(key, sizeof(*key));
		found->weight = 0;
		g_hash_table_add(all, found);
	}
	if (__builtin_add_overflow(found->weight, weight, &found->weight))
		found->weight = UINT64_MAX;
}

/* Programs have functions of the same name, as main. */
static int likeness(const struct annotate *a, const struct annotate_candidate *c)
{
	const struct annotate *like = a->like;

	if (!like || strcmp(functions_function(a->names, c->function)->file,
			functions_function(like->names, like->function)->file) != 0)
		return 0;
	return c->start == like->start ? 2 : 1;
}

/*
 * Selects the candidate with the largest share of its event: a frequent event must not hide a rare
 * one.
 */
bool annotate_choose(struct annotate *a)
{
	const struct profile *profile = a->profile;
	GHashTable *all = g_hash_table_new_full(hash_candidate, equal_candidates, g_free, NULL);
	g_autofree uint64_t *wholes = g_new0(uint64_t, profile->events->len + 1);
	const struct annotate_candidate *c;
	GHashTableIter iter;
	int best_like = 0;
	double best = -1;
	uint32_t i;

	for (i = 0; i < profile->cells->len; i++) {
		const struct profile_cell *cell = profile_cell(profile, i);
		struct annotate_candidate key = {.event = cell->event};
		uint32_t place;

		if (!is_counted(a, cell))
			continue;
		wholes[cell->event] += cell->count.weight;
		place = place_of(a, cell);
		key.function = a->names->of_place[place];
		key.start = a->names->places[place].start;
		if (matches(a, key.function) &&
			(!a->event || profile_event_is(profile_event(profile, cell->event), a->event)))
			count_candidate(all, &key, cell->count.weight);
	}
	g_hash_table_iter_init(&iter, all);
	while (g_hash_table_iter_next(&iter, (gpointer *)&c, NULL)) {
		const double share = summary_share(c->weight, wholes[c->event]);
		const int is_like = likeness(a, c);

		if (is_like < best_like)
			continue;
		if (is_like == best_like && (share < best || (share == best && c->start >= a->start)))
			continue;
		best_like = is_like;
		best = share;
		a->shown = c->event;
		a->function = c->function;
		a->start = c->start;
		a->whole = wholes[c->event];
	}
	g_hash_table_destroy(all);
	return best >= 0;
}

/* ---- its samples ----------------------------------------------------------------------------- */

static bool is_of_function(const struct annotate *a, uint32_t place)
{
	return a->names->of_place[place] == a->function &&
	       a->names->places[place].start == a->start;
}

static gint compare_hits(gconstpointer a, gconstpointer b)
{
	const struct annotate_hit *x = a, *y = b;

	return x->offset < y->offset ? -1 : x->offset > y->offset;
}

/*
 * The end of the code: by the function's size; if that is not known, a little after the last
 * sample.
 */
static void set_range(struct annotate *a, uint64_t size)
{
	const struct annotate_hit *first = &g_array_index(a->hits, struct annotate_hit, 0);
	const struct annotate_hit *last =
		&g_array_index(a->hits, struct annotate_hit, a->hits->len - 1);

	if (!size || first->offset < a->start || last->offset - a->start >= size) {
		a->start = size && a->start <= first->offset ? a->start : first->offset;
		a->end = last->offset + SIZE_UNKNOWN;
	} else {
		a->end = a->start + size;
	}
}

void annotate_count(struct annotate *a)
{
	const struct profile *profile = a->profile;
	g_autofree struct profile_count *counts =
		g_new0(struct profile_count, profile->places->len + 1);
	uint64_t size = 0;
	uint32_t i;

	for (i = 0; i < profile->cells->len; i++) {
		const struct profile_cell *cell = profile_cell(profile, i);
		uint32_t place;

		if (!is_counted(a, cell) || cell->event != a->shown)
			continue;
		place = place_of(a, cell);
		if (!is_of_function(a, place))
			continue;
		profile_add(&counts[place], cell->count.samples, cell->count.weight);
		profile_add(&a->all, cell->count.samples, cell->count.weight);
	}
	a->hits = g_array_new(FALSE, FALSE, sizeof(struct annotate_hit));
	for (i = 0; i < profile->places->len; i++) {
		const struct symbols_place *found = &a->names->places[i];
		const uint64_t offset = profile_place(profile, i)->offset;
		const struct annotate_hit hit = {
			offset, found->located ? found->address : offset, counts[i]};

		if (!counts[i].samples)
			continue;
		g_array_append_val(a->hits, hit);
		a->file = profile_place(profile, i)->file;
		size = found->size;
	}
	g_array_sort(a->hits, compare_hits);
	set_range(a, size);
}

bool annotate_is_same_code(const struct annotate *a, const struct annotate *before)
{
	const struct processes_file *x, *y;

	if (a->file == PROCESSES_NONE || before->file == PROCESSES_NONE)
		return false;
	x = processes_file(a->profile->processes, a->file);
	y = processes_file(before->profile->processes, before->file);
	if (x->build_id_length)
		return x->build_id_length == y->build_id_length &&
		       memcmp(x->build_id, y->build_id, x->build_id_length) == 0;
	return !y->build_id_length && strcmp(x->path, y->path) == 0 &&
	       memcmp(&x->id, &y->id, sizeof(x->id)) == 0;
}

/* ---- its code -------------------------------------------------------------------------------- */

/* Without code: only the addresses that have samples. */
static void list_addresses(struct annotate *a)
{
	guint i;

	g_array_set_size(a->lines, 0);
	for (i = 0; i < a->hits->len; i++) {
		const struct annotate_hit *hit = &g_array_index(a->hits, struct annotate_hit, i);
		const struct disasm_line line = {true, hit->address, hit->offset, g_strdup("")};

		g_array_append_val(a->lines, line);
	}
}

static int read_code(struct annotate *a, struct err *err)
{
	const struct processes_file *file = NULL;

	if (functions_function(a->names, a->function)->replaced)
		return err_set(err, ESTALE, "the file is not the one that was mapped");
	if (a->file != PROCESSES_NONE)
		file = processes_file(a->profile->processes, a->file);
	if (file && file->kernel == PROCESSES_NONE && file->process == PROCESSES_NONE &&
		*file->path == '/') {
		const struct disasm_file code = {file->path, file->build_id, file->build_id_length};

		return disasm_read(&code, a->start, a->end, !a->no_source, a->lines, err);
	}
	return err_set(
		err, ENOENT, "it is not in a file (kernel code, or code generated at run time)");
}

int annotate_read(struct annotate *a, struct err *err)
{
	int ret;

	annotate_count(a);
	a->lines = disasm_lines();
	ret = read_code(a, err);
	if (ret)
		list_addresses(a);
	return ret;
}

void annotate_fini(struct annotate *a)
{
	if (a->hits)
		g_array_free(a->hits, TRUE);
	if (a->lines)
		g_array_free(a->lines, TRUE);
}

/* The samples of `of` from this line of the code of `a` up to the next. */
static struct profile_count count_line(const struct annotate *a, const struct annotate *of, guint i)
{
	const uint64_t from = g_array_index(a->lines, struct disasm_line, i).offset;
	struct profile_count count = { 0, 0 };
	uint64_t to = UINT64_MAX;
	guint next, hit;

	for (next = i + 1; next < a->lines->len; next++) {
		const struct disasm_line *line = &g_array_index(a->lines, struct disasm_line, next);

		if (line->is_code) {
			to = line->offset;
			break;
		}
	}
	for (hit = 0; of->hits && hit < of->hits->len; hit++) {
		const struct annotate_hit *h = &g_array_index(of->hits, struct annotate_hit, hit);

		if (h->offset >= from && h->offset < to)
			profile_add(&count, h->count.samples, h->count.weight);
	}
	return count;
}

/* ---- output ---------------------------------------------------------------------------------- */

/* Tabs are converted to blanks, the rest as by text_append(). */
static void append_code(GString *out, const char *text)
{
	g_autoptr(GString) blanks = g_string_new(NULL);

	for (; *text; text++) {
		if (*text == '\t')
			do
				g_string_append_c(blanks, ' ');
			while (blanks->len % 8);
		else
			g_string_append_c(blanks, *text);
	}
	text_append(out, blanks->str);
}

/* Whether lines have shares of an earlier capture. */
static bool shows_before(const struct annotate *a)
{
	return a->before && (!a->before->hits || annotate_is_same_code(a, a->before));
}

static void append_head(const struct annotate *a, GString *out)
{
	const struct functions_function *function = functions_function(a->names, a->function);
	const struct annotate *before = a->before;

	g_string_append(out, "# ");
	text_append(out, function->name);
	g_string_append(out, "  ");
	text_append(out, function->file);
	g_string_append(out, "\n# ");
	text_append_count(out, a->all.samples, "sample", "samples");
	g_string_append(out, " of ");
	text_append_cut(out, profile_event(a->profile, a->shown)->text);
	g_string_append_printf(out, ", %.2f%% of all\n# %s\n", summary_share(a->all.weight, a->whole),
		a->source);
	if (before) {
		g_string_append(out, "# before: ");
		text_append_count(out, before->all.samples, "sample", "samples");
		g_string_append_printf(out, ", %.2f%% of all\n# %s%s\n",
			summary_share(before->all.weight, before->whole), before->source,
			shows_before(a) ? "" : ": of other code, whose lines can't be compared");
	}
	g_string_append_printf(out, "  share  samples  %saddress  code\n",
		shows_before(a) ? " before  change  " : "");
}

/* The share in the earlier capture, and the difference in percent points. */
static void append_before(const struct annotate *a, guint i, double share, GString *out)
{
	const struct profile_count count = count_line(a, a->before, i);
	const double earlier = summary_share(count.weight, a->before->all.weight);

	if (count.samples || share > 0)
		g_string_append_printf(out, "%6.2f%%  %+6.2f  ", earlier, share - earlier);
	else
		g_string_append_printf(out, "%17s", "");
}

static void append_line(const struct annotate *a, guint i, bool colours, GString *out)
{
	const struct disasm_line *line = &g_array_index(a->lines, struct disasm_line, i);
	struct profile_count count = { 0, 0 };
	const char *colour;
	double share;

	if (line->is_code)
		count = count_line(a, a, i);
	share = summary_share(count.weight, a->all.weight);
	colour = colours && count.samples ? text_colour(share) : "";
	g_string_append(out, colour);
	if (count.samples)
		g_string_append_printf(out, "%6.2f%%  %7" PRIu64 "  ", share, count.samples);
	else
		g_string_append_printf(out, "%18s", "");
	if (shows_before(a) && line->is_code)
		append_before(a, i, share, out);
	else if (shows_before(a))
		g_string_append_printf(out, "%17s", "");
	if (line->is_code)
		g_string_append_printf(out, "%7" PRIx64 "  ", line->address);
	else
		g_string_append_printf(out, "%9s", "");
	append_code(out, line->text);
	while (out->str[out->len - 1] == ' ')
		g_string_truncate(out, out->len - 1);
	g_string_append_printf(out, "%s\n", *colour ? TEXT_COLOUR_END : "");
}

void annotate_text(const struct annotate *a, bool colours, GString *out)
{
	append_head(a, out);
	for (guint i = 0; i < a->lines->len; i++)
		append_line(a, i, colours, out);
}

/* after: behind the names of the members */
static void append_named(GString *out, const char *after, const struct profile_count *count, uint64_t whole)
{
	char text[G_ASCII_DTOSTR_BUF_SIZE], samples[32], share[32];

	g_snprintf(samples, sizeof(samples), "samples%s", after);
	g_snprintf(share, sizeof(share), "share%s", after);
	json_append_name(out, samples);
	g_string_append_printf(out, "%" PRIu64, count->samples);
	json_append_name(out, share);
	g_string_append(out,
		g_ascii_formatd(text, sizeof(text), "%.4f", summary_share(count->weight, whole)));
}

static void append_figures(GString *out, const struct profile_count *count, uint64_t whole)
{
	append_named(out, "", count, whole);
}

static void append_figures_before(const struct annotate *a, guint i, GString *out)
{
	const struct profile_count count = count_line(a, a->before, i);

	append_named(out, "_before", &count, a->before->all.weight);
}

void annotate_json(const struct annotate *a, GString *out)
{
	const struct functions_function *function =
		functions_function(a->names, a->function);
	char address[24];
	guint i;

	g_string_append_c(out, '{');
	json_append_member(out, "function", function->name);
	json_append_member(out, "file", function->file);
	json_append_member(out, "event", profile_event(a->profile, a->shown)->text);
	json_append_member(out, "source", a->source);
	append_figures(out, &a->all, a->whole);
	if (a->before) {
		json_append_member(out, "source_before", a->before->source);
		append_named(out, "_before", &a->before->all, a->before->whole);
	}
	json_append_name(out, "lines");
	g_string_append_c(out, '[');
	for (i = 0; i < a->lines->len; i++) {
		const struct disasm_line *line = &g_array_index(a->lines, struct disasm_line, i);

		g_string_append(out, i ? ",\n{" : "\n{");
		if (line->is_code) {
			const struct profile_count count = count_line(a, a, i);

			g_snprintf(address, sizeof(address), "0x%" PRIx64, line->address);
			json_append_member(out, "address", address);
			append_figures(out, &count, a->all.weight);
			if (shows_before(a))
				append_figures_before(a, i, out);
		}
		json_append_member(out, "text", line->text);
		g_string_append_c(out, '}');
	}
	g_string_append(out, "]}\n");
}
