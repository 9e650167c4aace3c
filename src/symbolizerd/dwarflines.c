/* SPDX-License-Identifier: MIT */
/* Source files, lines and inlined functions of addresses: see dwarflines.h. */
#include "symbolizerd/dwarflines.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwelf.h>
#include <glib.h>
#include <stdlib.h>
#include <string.h>

#include "base/bisect.h"

/*
 * Depth of nested entries that is followed: blocks and inlined functions; compilers stay far below.
 */
#define DEPTH_MAX 256

/* Addresses of one unit for which stacks are held at the same time: a KiB each. */
#define AT_ONCE 4096

struct unit_range {
	uint64_t start, end;
	Dwarf_Off unit; /* offset of its first entry */
};

struct dwarflines {
	Dwarf *dwarf, *alt;
	GArray *ranges; /* struct unit_range, sorted; made when first needed */
};

struct dwarflines *dwarflines_open(int fd)
{
	Dwarf *dwarf = dwarf_begin(fd, DWARF_C_READ);
	Dwarf_CU *unit = NULL;
	struct dwarflines *lines;

	/* a file with unwind tables only has DWARF sections too */
	if (!dwarf)
		return NULL;
	if (dwarf_get_units(dwarf, NULL, &unit, NULL, NULL, NULL, NULL) != 0) {
		dwarf_end(dwarf);
		return NULL;
	}
	lines = g_new0(struct dwarflines, 1);
	lines->dwarf = dwarf;
	return lines;
}

void dwarflines_close(struct dwarflines *lines)
{
	if (!lines)
		return;
	dwarf_end(lines->dwarf);
	if (lines->alt)
		dwarf_end(lines->alt);
	if (lines->ranges)
		g_array_free(lines->ranges, TRUE);
	g_free(lines);
}

size_t dwarflines_alt(struct dwarflines *lines, uint8_t *build_id, size_t size)
{
	const char *name;
	const void *bytes;
	ssize_t length = dwelf_dwarf_gnu_debugaltlink(lines->dwarf, &name, &bytes);

	if (length <= 0 || (size_t)length > size)
		return 0;
	memcpy(build_id, bytes, (size_t)length);
	return (size_t)length;
}

void dwarflines_set_alt(struct dwarflines *lines, int fd)
{
	if (lines->alt)
		return;
	lines->alt = dwarf_begin(fd, DWARF_C_READ);
	if (lines->alt)
		dwarf_setalt(lines->dwarf, lines->alt);
}

/* ---- which unit ------------------------------------------------------------------------------ */

static int compare_ranges(const void *a, const void *b)
{
	const struct unit_range *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

/* The ranges of every unit's first entry: reads a few bytes of each unit. */
static void list_ranges(struct dwarflines *lines)
{
	Dwarf_CU *unit = NULL;
	Dwarf_Die die;
	uint8_t type;

	lines->ranges = g_array_new(FALSE, FALSE, sizeof(struct unit_range));
	while (dwarf_get_units(lines->dwarf, unit, &unit, NULL, &type, &die, NULL) == 0) {
		struct unit_range range = {.unit = dwarf_dieoffset(&die)};
		Dwarf_Addr base, start, end;
		ptrdiff_t at = 0;

		if (type != DW_UT_compile)
			continue;
		while ((at = dwarf_ranges(&die, at, &base, &start, &end)) > 0) {
			range.start = start;
			range.end = end;
			if (start < end)
				g_array_append_val(lines->ranges, range);
		}
	}
	g_array_sort(lines->ranges, compare_ranges);
}

static bool begins_by(const void *range, const void *address)
{
	return ((const struct unit_range *)range)->start <= *(const uint64_t *)address;
}

static bool find_in_ranges(struct dwarflines *lines, uint64_t address, Dwarf_Off *unit)
{
	const struct unit_range *range;
	size_t begun;

	if (!lines->ranges)
		list_ranges(lines);
	begun = bisect(
		lines->ranges->data, lines->ranges->len, sizeof(*range), begins_by, &address);
	if (!begun)
		return false;
	range = &g_array_index(lines->ranges, struct unit_range, begun - 1);
	*unit = range->unit;
	return address < range->end;
}

/* The offset of the unit's first entry. */
static bool find_unit(struct dwarflines *lines, uint64_t address, Dwarf_Off *unit)
{
	Dwarf_Aranges *aranges;
	Dwarf_Arange *arange;
	size_t count;

	if (dwarf_getaranges(lines->dwarf, &aranges, &count) == 0) {
		arange = dwarf_getarange_addr(aranges, address);
		if (arange && dwarf_getarangeinfo(arange, NULL, NULL, unit) == 0)
			return true;
	}
	return find_in_ranges(lines, address, unit);
}

/* ---- the functions around an address --------------------------------------------------------- */

struct inlined_call {
	const char *function;
	const char *file; /* where it was inlined into the next call; NULL for the outermost */
	uint32_t line;
};

/* The functions at one address, outermost first. */
struct inline_stack {
	uint32_t count;
	struct inlined_call calls[SYMBOLS_FRAMES_MAX];
};

struct unit_walk {
	const uint64_t *addresses; /* those in this unit */
	struct inline_stack *stacks;
	Dwarf_Files *files;
	size_t file_count;
	/*
	 * code outside the function's ranges is searched too, for functions defined inside of it
	 */
	bool thorough;
};

static const char *name_of(Dwarf_Die *die)
{
	Dwarf_Attribute attribute;
	const char *name = NULL;

	if (dwarf_attr_integrate(die, DW_AT_linkage_name, &attribute) ||
		dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &attribute))
		name = dwarf_formstring(&attribute);
	return name ? name : dwarf_diename(die);
}

static uint64_t number_of(Dwarf_Die *die, unsigned int what)
{
	Dwarf_Attribute attribute;
	Dwarf_Word value = 0;

	if (!dwarf_attr(die, what, &attribute) || dwarf_formudata(&attribute, &value) != 0)
		return 0;
	return value;
}

static void push_call(struct unit_walk *walk, Dwarf_Die *die, bool inlined, size_t from, size_t to)
{
	struct inlined_call call = {.function = name_of(die)};
	size_t i;

	if (inlined) {
		uint64_t file = number_of(die, DW_AT_call_file);

		if (walk->files && file < walk->file_count)
			call.file = dwarf_filesrc(walk->files, file, NULL, NULL);
		call.line = (uint32_t)number_of(die, DW_AT_call_line);
	}
	for (i = from; i < to; i++) {
		struct inline_stack *stack = &walk->stacks[i];

		/* a function inside another's block is not inlined: the stack starts with it */
		if (!inlined)
			stack->count = 0;
		if (stack->count < SYMBOLS_FRAMES_MAX)
			stack->calls[stack->count++] = call;
	}
}

static size_t find_address(const struct unit_walk *walk, size_t from, size_t to, uint64_t address)
{
	return from + bisect_u64(&walk->addresses[from], to - from, address);
}

static void walk_children(
	struct unit_walk *walk, Dwarf_Die *parent, size_t from, size_t to, int depth);

/* Descends into a block with code, for the addresses that are in one of its ranges. */
static bool walk_code(
	struct unit_walk *walk, Dwarf_Die *die, int tag, size_t from, size_t to, int depth)
{
	Dwarf_Addr base, start, end;
	ptrdiff_t at = 0;
	bool any = false;

	while ((at = dwarf_ranges(die, at, &base, &start, &end)) > 0) {
		size_t a = find_address(walk, from, to, start);
		size_t b = find_address(walk, a, to, end);

		if (a == b)
			continue;
		any = true;
		if (tag != DW_TAG_lexical_block)
			push_call(walk, die, tag == DW_TAG_inlined_subroutine, a, b);
		walk_children(walk, die, a, b, depth);
	}
	return any;
}

static void walk_die(struct unit_walk *walk, Dwarf_Die *die, size_t from, size_t to, int depth)
{
	int tag = dwarf_tag(die);

	switch (tag) {
	case DW_TAG_subprogram:
	case DW_TAG_inlined_subroutine:
	case DW_TAG_lexical_block:
		if (!walk_code(walk, die, tag, from, to, depth) && walk->thorough)
			walk_children(walk, die, from, to, depth);
		break;
	case DW_TAG_namespace:
	case DW_TAG_module:
	case DW_TAG_structure_type:
	case DW_TAG_class_type:
	case DW_TAG_union_type:
	case DW_TAG_enumeration_type: /* Rust enumerations contain functions */
		walk_children(walk, die, from, to, depth);
		break;
	}
}

static void walk_children(
	struct unit_walk *walk, Dwarf_Die *parent, size_t from, size_t to, int depth)
{
	Dwarf_Die child;

	if (depth >= DEPTH_MAX || dwarf_child(parent, &child) != 0)
		return;
	do
		walk_die(walk, &child, from, to, depth + 1);
	while (dwarf_siblingof(&child, &child) == 0);
}

/* ---- one unit -------------------------------------------------------------------------------- */

static void fill_stacks(struct unit_walk *walk, Dwarf_Die *unit, size_t count)
{
	size_t i, missing = 0;

	walk_children(walk, unit, 0, count, 0);
	for (i = 0; i < count; i++)
		missing += !walk->stacks[i].count;
	if (missing) {
		walk->thorough = true;
		walk_children(walk, unit, 0, count, 0);
	}
}

/* Converts calls, outermost first, to frames, innermost first. */
static uint32_t list_frames(const struct inline_stack *stack, const char *source, uint32_t line,
	struct symbols_frame *frames)
{
	uint32_t count = 0, i;

	for (i = stack->count; i-- > 0;) {
		const struct inlined_call *call = &stack->calls[i];

		/* a function without a name can't be shown: its line is that of the next one */
		if (!call->function && i)
			continue;
		frames[count].function = call->function;
		frames[count].source = source;
		frames[count++].line = line;
		source = call->file;
		line = call->line;
	}
	if (!count && source) {
		frames[count].function = NULL;
		frames[count].source = source;
		frames[count++].line = line;
	}
	return count;
}

static const char *find_line(Dwarf_Die *unit, uint64_t address, uint32_t *line)
{
	Dwarf_Line *found = dwarf_getsrc_die(unit, address);
	int number;

	if (!found)
		return NULL;
	*line = dwarf_lineno(found, &number) == 0 && number > 0 ? (uint32_t)number : 0;
	return dwarf_linesrc(found, NULL, NULL);
}

/* A requested address and its unit. */
struct line_request {
	Dwarf_Off unit;
	size_t i;
};

static void find_in_unit(struct dwarflines *lines, const uint64_t *addresses,
	const struct line_request *requested, size_t count,
	void (*found)(
		void *arg, size_t i, const struct symbols_frame *frames, uint32_t frame_count),
	void *arg)
{
	g_autofree uint64_t *mine = g_new(uint64_t, count);
	struct unit_walk walk = {.addresses = mine};
	struct symbols_frame frames[SYMBOLS_FRAMES_MAX];
	Dwarf_Die unit;
	size_t i;

	if (!dwarf_offdie(lines->dwarf, requested[0].unit, &unit))
		return;
	if (dwarf_getsrcfiles(&unit, &walk.files, &walk.file_count) != 0)
		walk.files = NULL;
	for (i = 0; i < count; i++)
		mine[i] = addresses[requested[i].i];
	walk.stacks = g_new0(struct inline_stack, count);
	fill_stacks(&walk, &unit, count);
	for (i = 0; i < count; i++) {
		uint32_t line = 0, n;
		const char *source = find_line(&unit, mine[i], &line);

		n = list_frames(&walk.stacks[i], source, line, frames);
		if (n)
			found(arg, requested[i].i, frames, n);
	}
	g_free(walk.stacks);
}

static int compare_requested(const void *a, const void *b)
{
	const struct line_request *x = a, *y = b;

	if (x->unit != y->unit)
		return x->unit < y->unit ? -1 : 1;
	return x->i < y->i ? -1 : x->i > y->i;
}

void dwarflines_find(struct dwarflines *lines, const uint64_t *addresses, size_t count,
	void (*found)(void *arg, size_t i, const struct symbols_frame *frames, uint32_t frame_count),
	void *arg)
{
	g_autofree struct line_request *requested = g_new(struct line_request, count + 1);
	size_t known = 0, first, end, i;

	for (i = 0; i < count; i++) {
		requested[known].i = i;
		known += find_unit(lines, addresses[i], &requested[known].unit);
	}
	/*
	 * the addresses of units may be interleaved: each unit is read once, or once for AT_ONCE
	 * addresses
	 */
	qsort(requested, known, sizeof(*requested), compare_requested);
	for (first = 0; first < known; first = end) {
		for (end = first + 1; end < known && end - first < AT_ONCE; end++) {
			if (requested[end].unit != requested[first].unit)
				break;
		}
		find_in_unit(lines, addresses, requested + first, end - first, found, arg);
	}
}
