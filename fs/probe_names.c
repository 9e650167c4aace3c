/* SPDX-License-Identifier: MIT */
/* Names of the addresses that programs of probes/ count and print. */
#include "fs/probe_names.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/units.h"
#include "symbolizer/remote.h"
#include "symbolizer/symbols.h"
#include "sys/clock.h"
#include "sys/proc.h"

/* After this time the rest is printed as numbers: of an answer, and of what programs print. */
#define RESOLVE_MS 3000
#define RESOLVE_PRINTED_MS 1000
/* Names of processes are looked for again then: another process may have the number, or another program. */
#define PROCESSES_NS (10 * NSEC_PER_SEC)
/* After so many times without an address that is not known, the helpers end. */
#define IDLE_TIMES 50
/* Addresses of one reading; a map of stacks has some thousands. */
#define ADDRESSES_MAX 200000u
#define KERNEL 0u

/* An address of a process, or of the kernel as that of process 0. */
struct address {
	uint64_t address;
	uint32_t pid;
};

struct name {
	char *text; /* NULL: not known */
	uint64_t start;
	bool was_asked;
};

struct probe_names {
	GHashTable *names; /* struct address -> struct name */
	uint32_t unasked;  /* of these */
	bool resolved;	   /* no more are collected */
	/* where further ones come later: */
	uint64_t processes_ns;	 /* when names of processes were forgotten */
	struct symbols *symbols; /* NULL while there are no helpers */
	struct helpers *reader;
	unsigned int idle;
};

static guint hash_address(gconstpointer data)
{
	const struct address *key = data;

	return (guint)(key->address * 0x9e3779b1u >> 4) ^ key->pid;
}

static gboolean equal_address(gconstpointer a, gconstpointer b)
{
	const struct address *one = a, *other = b;

	return one->address == other->address && one->pid == other->pid;
}

static void free_name(gpointer data)
{
	g_free(((struct name *)data)->text);
	g_free(data);
}

struct probe_names *probe_names_create(void)
{
	struct probe_names *names = g_new0(struct probe_names, 1);

	names->names = g_hash_table_new_full(hash_address, equal_address, g_free, free_name);
	return names;
}

static void end_helpers(struct probe_names *names)
{
	if (names->symbols) {
		helpers_destroy(names->reader);
		symbols_destroy(names->symbols);
	}
	names->symbols = NULL;
	names->reader = NULL;
}

void probe_names_destroy(struct probe_names *names)
{
	end_helpers(names);
	g_hash_table_unref(names->names);
	g_free(names);
}

/* ---- printing ---------------------------------------------------------------------------------- */

static bool find(struct probe_names *names, uint32_t pid, uint64_t address, bool is_frame, GString *out)
{
	const struct address key = { .address = address, .pid = pid };
	const struct name *name = g_hash_table_lookup(names->names, &key);

	if (!names->resolved && !name && g_hash_table_size(names->names) < ADDRESSES_MAX) {
		g_hash_table_insert(names->names, g_memdup2(&key, sizeof(key)), g_new0(struct name, 1));
		names->unasked++;
	}
	if (!name || !name->text)
		return false;
	g_string_append(out, name->text);
	if (is_frame)
		g_string_append_printf(out, "+%" PRIu64, address - name->start);
	return true;
}

static bool name_kernel(void *arg, uint64_t address, bool is_frame, GString *out)
{
	return find(arg, KERNEL, address, is_frame, out);
}

static bool name_user(void *arg, uint32_t pid, uint64_t address, bool is_frame, GString *out)
{
	return find(arg, pid, address, is_frame, out);
}

struct value_names probe_names_values(struct probe_names *names)
{
	return (struct value_names){ .arg = names, .kernel = name_kernel, .user = name_user };
}

/* ---- symbolizing ------------------------------------------------------------------------------- */

/* Addresses of one file, with their offsets into it. */
struct query {
	struct probe_names *names;
	struct symbols_how how;
	struct symbols_kernel kernel;
	uint32_t pid;	 /* whose addresses are looked for */
	GArray *keys;	 /* struct address */
	GArray *offsets; /* uint64_t */
};

static void keep(struct query *query, guint i, const struct symbols_place *place)
{
	const struct address *key = &g_array_index(query->keys, struct address, i);
	const uint64_t offset = g_array_index(query->offsets, uint64_t, i);
	struct name *name = g_hash_table_lookup(query->names->names, key);

	if (!place->count || !name || name->text)
		return;
	name->text = g_strdup(place->frames[place->count - 1].function);
	/* the function's start as an address of the process */
	name->start = place->start && place->start <= offset ? key->address - (offset - place->start) :
		key->address;
}

static void resolve_file(struct query *query, const struct symbols_file *file)
{
	g_autofree struct symbols_place *places = g_new0(struct symbols_place, query->keys->len + 1);
	struct symbols_arena *arena = symbols_arena_create();

	if (query->keys->len)
		(void)symbols_resolve(query->names->symbols, file,
			(const uint64_t *)(void *)query->offsets->data, query->keys->len, &query->how, arena,
			places);
	for (guint i = 0; i < query->keys->len; i++)
		keep(query, i, &places[i]);
	symbols_arena_destroy(arena);
}

/* The addresses of the process between these, as offsets from `base`. */
static void collect(struct query *query, uint64_t start, uint64_t end, uint64_t base)
{
	GHashTableIter iter;
	void *key, *value;

	g_array_set_size(query->keys, 0);
	g_array_set_size(query->offsets, 0);
	g_hash_table_iter_init(&iter, query->names->names);
	while (g_hash_table_iter_next(&iter, &key, &value)) {
		const struct address *address = key;
		const uint64_t offset = address->address - base;

		if (((const struct name *)value)->was_asked || address->pid != query->pid ||
			address->address < start || address->address >= end)
			continue;
		g_array_append_val(query->keys, *address);
		g_array_append_val(query->offsets, offset);
	}
}

static void resolve_kernel(struct query *query)
{
	const struct symbols_file file = { .kind = SYMBOLS_KERNEL, .path = "[kernel.kallsyms]",
		.build_id = query->kernel.build_id, .build_id_length = query->kernel.build_id_length,
		.kernel = &query->kernel };

	query->pid = KERNEL;
	collect(query, 0, UINT64_MAX, 0);
	resolve_file(query, &file);
}

/* The mappings of one process with addresses in them, as they are read. */
struct mappings {
	struct query *query;
	GPtrArray *found; /* struct proc_mapping with its own path and build-id */
};

static void free_mapping(gpointer data)
{
	struct proc_mapping *mapping = data;

	g_free((char *)mapping->path);
	g_free((uint8_t *)mapping->build_id);
	g_free(mapping);
}

static int keep_mapping(void *arg, const struct proc_mapping *mapping)
{
	struct mappings *mappings = arg;
	struct query *query = mappings->query;
	struct proc_mapping *copy;

	/* a process may have 65,530 mappings, and each one goes through all addresses */
	if (clock_monotonic_ns() >= query->how.deadline_ns)
		return -ETIMEDOUT;
	if (mapping->path[0] != '/' || mapping->path[1] == '/')
		return 0;
	collect(query, mapping->start, mapping->start + mapping->size, mapping->start - mapping->offset);
	if (!query->keys->len)
		return 0;
	copy = g_memdup2(mapping, sizeof(*mapping));
	copy->path = g_strdup(mapping->path);
	copy->build_id = g_memdup2(mapping->build_id, mapping->build_id_length);
	g_ptr_array_add(mappings->found, copy);
	return 0;
}

static void resolve_mapping(struct query *query, const struct proc_mapping *mapping)
{
	const struct symbols_mapping where = { .pid = query->pid, .start = mapping->start,
		.end = mapping->start + mapping->size };
	const struct symbols_file file = { .kind = SYMBOLS_ELF, .path = mapping->path,
		.build_id = mapping->build_id, .build_id_length = mapping->build_id_length,
		.kernel = &query->kernel, .mappings = &where, .mapping_count = 1,
		.id = { .dev_major = mapping->dev_major, .dev_minor = mapping->dev_minor,
			.inode = mapping->inode } };

	collect(query, where.start, where.end, where.start - mapping->offset);
	resolve_file(query, &file);
}

/* The helper reads them: a process whose mmap lock is held would block a thread of the server. */
static void resolve_process(struct query *query)
{
	g_autofree struct proto_message *message = g_new(struct proto_message, 1);
	g_autoptr(GPtrArray) found = g_ptr_array_new_with_free_func(free_mapping);
	struct mappings mappings = { query, found };
	const struct proc_visitor visitor = { .mapping = keep_mapping, .arg = &mappings };

	proto_init(message, PROTO_READ_ONE);
	message->pid = query->pid;
	if (proto_set_path(message, "/proc") ||
		helpers_read(query->names->reader, message, &visitor, NULL, query->how.cancel_fd))
		return;
	for (guint i = 0; i < found->len && clock_monotonic_ns() < query->how.deadline_ns; i++)
		resolve_mapping(query, g_ptr_array_index(found, i));
}

/* The processes that addresses are of: those that have ended have no names. */
static void resolve_processes(struct query *query)
{
	g_autoptr(GHashTable) pids = g_hash_table_new(NULL, NULL);
	GHashTableIter iter;
	void *key, *value;

	g_hash_table_iter_init(&iter, query->names->names);
	while (g_hash_table_iter_next(&iter, &key, &value))
		if (((struct address *)key)->pid && !((const struct name *)value)->was_asked)
			g_hash_table_add(pids, GUINT_TO_POINTER(((struct address *)key)->pid));
	g_hash_table_iter_init(&iter, pids);
	while (g_hash_table_iter_next(&iter, &key, NULL) && clock_monotonic_ns() < query->how.deadline_ns) {
		query->pid = GPOINTER_TO_UINT(key);
		resolve_process(query);
	}
}

static void start_helpers(struct probe_names *names)
{
	static const struct helpers_options plain;

	if (names->symbols)
		return;
	names->symbols = symbols_create(&remote_source, remote_create(&plain), 0);
	names->reader = helpers_create(&plain);
}

static void mark_asked(struct probe_names *names)
{
	GHashTableIter iter;
	void *value;

	g_hash_table_iter_init(&iter, names->names);
	while (g_hash_table_iter_next(&iter, NULL, &value))
		((struct name *)value)->was_asked = true;
	names->unasked = 0;
}

/* Those that were not asked for before. */
static void resolve(struct probe_names *names, int cancel_fd, uint64_t ms)
{
	struct query query = { .names = names, .how = { .cancel_fd = cancel_fd,
		.deadline_ns = clock_monotonic_ns() + ms * NSEC_PER_MSEC } };
	struct proc_kernel kernel;

	if (proc_kernel_identity("/proc", NULL, &kernel))
		return;
	query.kernel = (struct symbols_kernel){ kernel.build_id, kernel.build_id_length, kernel.start };
	query.keys = g_array_new(FALSE, FALSE, sizeof(struct address));
	query.offsets = g_array_new(FALSE, FALSE, sizeof(uint64_t));
	start_helpers(names);
	resolve_kernel(&query);
	resolve_processes(&query);
	g_array_unref(query.keys);
	g_array_unref(query.offsets);
	mark_asked(names);
}

bool probe_names_resolve(struct probe_names *names, int cancel_fd)
{
	names->resolved = true;
	if (!names->unasked)
		return false;
	resolve(names, cancel_fd, RESOLVE_MS);
	end_helpers(names);
	return true;
}

/* ---- where further addresses come later ---------------------------------------------------------- */

static void *create_for_later(void)
{
	return probe_names_create();
}

static void destroy_for_later(void *found)
{
	probe_names_destroy(found);
}

static struct value_names values_for_later(void *found)
{
	return probe_names_values(found);
}

static gboolean is_of_process(void *key, void *value, void *arg)
{
	(void)value, (void)arg;
	return ((const struct address *)key)->pid != KERNEL;
}

/* Between two texts: what was printed before is not printed again. */
static void forget_old(struct probe_names *names)
{
	const uint64_t now_ns = clock_monotonic_ns();

	if (g_hash_table_size(names->names) >= ADDRESSES_MAX)
		g_hash_table_remove_all(names->names);
	if (now_ns - names->processes_ns < PROCESSES_NS)
		return;
	g_hash_table_foreach_remove(names->names, is_of_process, NULL);
	names->processes_ns = now_ns;
}

static void begin_for_later(void *found)
{
	forget_old(found);
}

static void resolve_for_later(void *found, int cancel_fd)
{
	struct probe_names *names = found;

	if (names->unasked) {
		resolve(names, cancel_fd, RESOLVE_PRINTED_MS);
		names->idle = 0;
	} else if (names->symbols && ++names->idle >= IDLE_TIMES) {
		end_helpers(names);
	}
}

const struct value_names_ops probe_names_ops = {
	.create = create_for_later,
	.destroy = destroy_for_later,
	.values = values_for_later,
	.begin = begin_for_later,
	.resolve = resolve_for_later,
};
