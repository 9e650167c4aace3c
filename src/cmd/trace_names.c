/* SPDX-License-Identifier: MIT */
/* Names for the addresses of kprof_backtrace: see trace_names.h. */
#include "cmd/trace_names.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "base/units.h"
#include "capture/backtraces.h"
#include "capture/decode.h"
#include "capture/functions.h"
#include "sys/clock.h"
#include "sys/proc.h"

/* Names that are remembered; all are forgotten beyond it. A stack has at most 32 addresses. */
#define KNOWN_MAX 65536
/* Bytes of one read of a capture; and those that are read of it, more than prof_qlimit's default holds. */
#define READ_BYTES (64u << 10)
#define CAPTURE_MAX (512u << 20)
/* A capture that grows is read again after this many times of what reading it took. */
#define REST 10
/* What an address without a name has. */
static const char unknown[] = " [unknown]";

struct named_address {
	uint64_t address;
	uint64_t time_ns; /* of the line that has it first */
	uint32_t pid;
	char *text; /* of what is known about it; NULL while it is looked up */
};

struct trace_names {
	struct symbols *symbols;      /* NULL until the first address */
	struct symbols_kernel kernel; /* the running one */
	struct proc_kernel running;
	struct proc_reader *reader;
	GHashTable *known;  /* struct named_address, by pid and address */
	GPtrArray *pending; /* those of them without a text, sorted by pid and address */
	guint first, end;   /* in `pending`: those of the process that is visited */
	char *capture;		     /* a path; NULL if there is none, or it was read and does not grow */
	void (*flush)(void *arg);    /* of one that grows, else NULL */
	void *flush_arg;
	uint64_t read_ns, reading_ns; /* when it was read, 0 for never, and how long that took */
	GPtrArray *unnamed;	     /* of `known`: what may have a name later */
	struct backtraces *captured; /* of it; NULL if there is none */
};

static guint hash_address(gconstpointer key)
{
	const struct named_address *a = key;

	return g_int64_hash(&a->address) ^ a->pid;
}

static gboolean same_address(gconstpointer x, gconstpointer y)
{
	const struct named_address *a = x, *b = y;

	return a->pid == b->pid && a->address == b->address;
}

static void free_address(gpointer item)
{
	struct named_address *a = item;

	g_free(a->text);
	g_free(a);
}

static gint compare_addresses(gconstpointer x, gconstpointer y)
{
	const struct named_address *a = *(struct named_address *const *)x,
				   *b = *(struct named_address *const *)y;

	if (a->pid != b->pid)
		return a->pid < b->pid ? -1 : 1;
	return a->address < b->address ? -1 : a->address > b->address;
}

/* ---- files ----------------------------------------------------------------------------------- */

static enum symbols_kind kind_of(const char *path)
{
	if (!strcmp(path, "[vdso]"))
		return SYMBOLS_VDSO;
	return path[0] == '/' && path[1] != '/' && !g_str_has_prefix(path, "/memfd:") ? SYMBOLS_ELF
										      : SYMBOLS_JIT;
}

/* Addresses of a file, which are `shift` more than the offsets of its symbols. */
static void resolve_in(struct trace_names *names, const struct symbols_file *file, uint64_t shift,
	struct named_address **addresses, size_t count)
{
	const struct symbols_how how = {.cancel_fd = -1};
	struct symbols_arena *arena = symbols_arena_create();
	g_autofree struct symbols_place *places = g_new0(struct symbols_place, count);
	g_autofree uint64_t *offsets = g_new(uint64_t, count);
	size_t i;

	/* a return address is behind the call: the function is that of the byte before it */
	for (i = 0; i < count; i++)
		offsets[i] = addresses[i]->address - 1 - shift;
	symbols_resolve(names->symbols, file, offsets, count, &how, arena, places);
	for (i = 0; i < count; i++) {
		const struct symbols_place *place = &places[i];
		GString *text;

		if (!place->count)
			continue;
		text = g_string_new(" ");
		text_append(text, place->frames[place->count - 1].function);
		if (place->size)
			g_string_append_printf(
				text, "+0x%" PRIx64, offsets[i] + 1 - place->start);
		g_string_append(text, " (");
		text_append(text, file->path);
		g_string_append_c(text, ')');
		g_free(addresses[i]->text);
		addresses[i]->text = g_string_free(text, FALSE);
	}
	symbols_arena_destroy(arena);
}

static void resolve(struct trace_names *names, const struct proc_mapping *mapping,
	struct named_address **addresses, size_t count)
{
	const struct symbols_mapping here = {
		(uint32_t)mapping->pid, mapping->start, mapping->start + mapping->size};
	struct symbols_file file = {
		.kind = kind_of(mapping->path),
		.path = mapping->path,
		.build_id = mapping->build_id,
		.build_id_length = mapping->build_id_length,
		.id = {.dev_major = mapping->dev_major,
			.dev_minor = mapping->dev_minor,
			.inode = mapping->inode},
		.kernel = &names->kernel,
		.mappings = &here,
		.mapping_count = 1,
	};
	const uint64_t shift = file.kind == SYMBOLS_JIT ? 0
		: file.kind == SYMBOLS_VDSO ? mapping->start : mapping->start - mapping->offset;

	resolve_in(names, &file, shift, addresses, count);
}

static int take_mapping(void *arg, const struct proc_mapping *mapping)
{
	struct trace_names *names = arg;
	struct named_address **all = (struct named_address **)names->pending->pdata;
	guint from = names->first, to;

	while (from < names->end && all[from]->address <= mapping->start)
		from++;
	for (to = from; to < names->end && all[to]->address - mapping->start <= mapping->size;)
		to++;
	if (to > from)
		resolve(names, mapping, all + from, to - from);
	return 0;
}

/* ---- a capture ------------------------------------------------------------------------------- */

/* All that the capture has now. */
static GByteArray *read_capture(const char *path)
{
	GByteArray *bytes = g_byte_array_new();
	guint8 buffer[READ_BYTES];
	/* while the profiler runs, a read at the end would wait for more */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	ssize_t n = 0;

	while (fd >= 0 && bytes->len < CAPTURE_MAX) {
		n = read(fd, buffer, sizeof(buffer));
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		g_byte_array_append(bytes, buffer, (guint)n);
	}
	if (fd >= 0)
		close(fd);
	return bytes;
}

static void decode_capture(struct trace_names *names)
{
	g_autoptr(GByteArray) bytes = read_capture(names->capture);
	struct decoder decoder;

	if (!bytes->len)
		return;
	backtraces_destroy(names->captured);
	names->captured = backtraces_create();
	decode_init_memory(&decoder, bytes->data, bytes->len);
	(void)backtraces_learn(names->captured, &decoder, NULL); /* what is damaged has no names */
	decode_fini(&decoder);
	backtraces_finish(names->captured);
}

static void learn_capture(struct trace_names *names)
{
	const uint64_t began_ns = clock_monotonic_ns();

	if (!names->capture || (names->read_ns && began_ns - names->read_ns < REST * names->reading_ns))
		return;
	if (names->flush)
		names->flush(names->flush_arg);
	decode_capture(names);
	if (!names->flush)
		g_clear_pointer(&names->capture, g_free);
	names->read_ns = clock_monotonic_ns();
	names->reading_ns = names->read_ns - began_ns;
}

/* Names the addresses that have none yet by the mappings that the capture has. */
static void look_up_captured(struct trace_names *names)
{
	const struct symbols_how how = {.cancel_fd = -1};
	struct named_address **all = (struct named_address **)names->pending->pdata;
	guint i;

	learn_capture(names);
	if (!names->captured)
		return;
	for (i = 0; i < names->pending->len; i++)
		if (!all[i]->text && all[i]->pid)
			backtraces_add_address(
				names->captured, all[i]->pid, all[i]->time_ns, all[i]->address);
	(void)backtraces_resolve(names->captured, names->symbols, &how); /* the others stay unknown */
	for (i = 0; i < names->pending->len; i++) {
		GString *text;

		if (all[i]->text || !all[i]->pid)
			continue;
		text = g_string_new(" ");
		backtraces_append_name(
			names->captured, all[i]->pid, all[i]->time_ns, all[i]->address, text);
		all[i]->text = g_string_free(text, FALSE);
	}
}

/* ---- lines ----------------------------------------------------------------------------------- */

/* All processes have the same kernel, in the upper half of their addresses. */
static bool is_of_kernel(uint64_t address)
{
	return address >> 63;
}

/* Reads digits up to the character `until`, from the end of `*end` back. */
static bool take_back(const char *line, const char **end, char before, const char *digits)
{
	const char *at = *end;

	while (at > line && strchr(digits, at[-1]) && at[-1])
		at--;
	if (at == *end || at == line || at[-1] != before)
		return false;
	*end = at;
	return true;
}

/* The time of a line "[SECONDS.NANOSECONDS]:..."; 0 if it has none. */
static uint64_t time_of(const char *line)
{
	char *end;
	uint64_t seconds;

	if (*line != '[')
		return 0;
	seconds = strtoull(line + 1, &end, 10);
	return *end == '.' ? seconds * NSEC_PER_SEC + strtoull(end + 1, NULL, 10) : 0;
}

/* A line "...[PID]:   0xADDRESS", perhaps with "PID/TID", and perhaps "] LABEL" for "]". */
static bool parse_line(const char *line, const char *end, struct named_address *found)
{
	static const char gap[] = ":   0";
	const char *at = end, *label;

	if (!take_back(line, &at, 'x', "0123456789abcdef") || end - at > 16)
		return false;
	found->address = strtoull(at, NULL, 16);
	at--; /* at the x */
	if ((size_t)(at - line) < strlen(gap) || memcmp(at - strlen(gap), gap, strlen(gap)) != 0)
		return false;
	at -= strlen(gap);
	label = at;
	while (label > line && label[-1] != ' ' && label[-1] != ']')
		label--;
	if (label > line && label < at && label[-1] == ' ')
		at = label - 1;
	if (at == line || *--at != ']')
		return false;
	if (take_back(line, &at, '/', "0123456789"))
		at--;
	if (!take_back(line, &at, '[', "0123456789"))
		return false;
	found->pid = is_of_kernel(found->address) ? 0 : (uint32_t)strtoul(at, NULL, 10);
	found->time_ns = time_of(line);
	return true;
}

static void prepare(struct trace_names *names)
{
	const struct proc_visitor visitor = {.mapping = take_mapping, .arg = names};

	if (names->symbols)
		return;
	names->symbols = functions_open_symbols(NULL);
	proc_kernel_identity(NULL, NULL, &names->running);
	names->kernel = (struct symbols_kernel){
		names->running.build_id, names->running.build_id_length, names->running.start};
	if (proc_reader_create(NULL, &visitor, &names->reader))
		names->reader = NULL; /* then nothing has a name */
}

static void look_up(struct trace_names *names)
{
	const struct symbols_file kernel = {
		.kind = SYMBOLS_KERNEL, .path = "[kernel.kallsyms]", .kernel = &names->kernel};
	struct named_address **all = (struct named_address **)names->pending->pdata;
	guint i;

	g_ptr_array_sort(names->pending, compare_addresses);
	for (names->first = 0; names->first < names->pending->len; names->first = names->end) {
		for (names->end = names->first; names->end < names->pending->len &&
			all[names->end]->pid == all[names->first]->pid;)
			names->end++;
		if (is_of_kernel(all[names->first]->address))
			resolve_in(names, &kernel, 0, all + names->first, names->end - names->first);
		else if (names->reader)
			proc_reader_visit(names->reader, (pid_t)all[names->first]->pid, true);
	}
	for (i = 0; i < names->pending->len && (all[i]->text || !all[i]->pid); i++)
		;
	if (i < names->pending->len)
		look_up_captured(names);
	for (i = 0; i < names->pending->len; i++) {
		if (!all[i]->text)
			all[i]->text = g_strdup(unknown);
		if (names->flush && strcmp(all[i]->text, unknown) == 0)
			g_ptr_array_add(names->unnamed, all[i]);
	}
	g_ptr_array_set_size(names->pending, 0);
}

static void note(struct trace_names *names, const struct named_address *found)
{
	struct named_address *address;

	if (g_hash_table_contains(names->known, found))
		return;
	prepare(names);
	address = g_new0(struct named_address, 1);
	*address = *found;
	g_hash_table_add(names->known, address);
	g_ptr_array_add(names->pending, address);
}

void trace_names_append(struct trace_names *names, const char *text, size_t bytes, GString *out)
{
	const char *end = text + bytes, *line, *next;
	struct named_address found = {0};

	if (g_hash_table_size(names->known) > KNOWN_MAX)
		g_hash_table_remove_all(names->known);
	for (line = text; line < end; line = next + 1) {
		next = memchr(line, '\n', (size_t)(end - line));
		next = next ? next : end;
		if (parse_line(line, next, &found))
			note(names, &found);
	}
	look_up(names);
	for (line = text; line < end; line = next + 1) {
		next = memchr(line, '\n', (size_t)(end - line));
		next = next ? next : end;
		g_string_append_len(out, line, next - line);
		if (parse_line(line, next, &found)) {
			const struct named_address *known =
				g_hash_table_lookup(names->known, &found);

			g_string_append(out, known->text);
		}
		if (next < end)
			g_string_append_c(out, '\n');
	}
	for (guint i = 0; i < names->unnamed->len; i++)
		g_hash_table_remove(names->known, g_ptr_array_index(names->unnamed, i));
	g_ptr_array_set_size(names->unnamed, 0);
}

struct trace_names *trace_names_create(const char *capture)
{
	struct trace_names *names = g_new0(struct trace_names, 1);

	names->capture = g_strdup(capture);
	names->known = g_hash_table_new_full(hash_address, same_address, free_address, NULL);
	names->pending = g_ptr_array_new();
	names->unnamed = g_ptr_array_new();
	return names;
}

void trace_names_follow(struct trace_names *names, const char *capture, void (*flush)(void *arg), void *arg)
{
	g_free(names->capture);
	names->capture = g_strdup(capture);
	names->flush = flush;
	names->flush_arg = arg;
}

void trace_names_refresh(struct trace_names *names)
{
	names->read_ns = 0;
}

void trace_names_destroy(struct trace_names *names)
{
	g_hash_table_destroy(names->known);
	g_ptr_array_free(names->pending, TRUE);
	g_ptr_array_free(names->unnamed, TRUE);
	backtraces_destroy(names->captured);
	g_free(names->capture);
	if (names->reader)
		proc_reader_destroy(names->reader);
	if (names->symbols)
		symbols_destroy(names->symbols);
	g_free(names);
}
