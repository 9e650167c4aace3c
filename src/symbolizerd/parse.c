/* SPDX-License-Identifier: MIT */
/* Results for one file: see parse.h. */
#include "symbolizerd/parse.h"

#include <errno.h>
#include <glib.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/strhash.h"
#include "symbolizerd/addr_match.h"
#include "symbolizerd/cfi.h"
#include "symbolizerd/demangle.h"
#include "symbolizerd/dwarflines.h"
#include "symbolizerd/elfsyms.h"
#include "symbolizerd/functions.h"
#include "symbolizerd/image.h"
#include "symbolizerd/jitdump.h"
#include "symbolizerd/plt.h"

/* An ELF file in memory, and its DWARF if that was requested. */
struct parse_object {
	struct image image;
	void *mapped; /* NULL if not mapped here */
	size_t size;
	int fd; /* owned; -1 if there is none. DWARF is read from it. */
	struct dwarflines *lines;
	struct cfi *cfi; /* NULL if not read yet, or there is none */
	bool cfi_tried;
};

enum loaded { NOTHING, ELF, KERNEL, JIT };

struct parse {
	enum loaded loaded;
	struct parse_object main, debug;
	int alt_fd;
	char *text; /* of the kernel or a JIT */
	struct textsyms_kernel kernel;
	char *kernel_path;
};

struct parse *parse_create(void)
{
	struct parse *parse = g_new0(struct parse, 1);

	parse->main.fd = parse->debug.fd = parse->alt_fd = -1;
	return parse;
}

static void unload_object(struct parse_object *object)
{
	dwarflines_close(object->lines);
	cfi_close(object->cfi);
	image_fini(&object->image);
	if (object->mapped)
		munmap(object->mapped, object->size);
	if (object->fd >= 0)
		close(object->fd);
	memset(object, 0, sizeof(*object));
	object->fd = -1;
}

static void unload(struct parse *parse)
{
	unload_object(&parse->debug);
	unload_object(&parse->main);
	if (parse->alt_fd >= 0)
		close(parse->alt_fd);
	parse->alt_fd = -1;
	g_clear_pointer(&parse->text, g_free);
	g_clear_pointer(&parse->kernel_path, g_free);
	parse->loaded = NOTHING;
}

void parse_destroy(struct parse *parse)
{
	if (!parse)
		return;
	unload(parse);
	g_free(parse);
}

/* ---- loading --------------------------------------------------------------------------------- */

static int check_build_id(const struct image *image, const uint8_t *build_id, size_t length)
{
	size_t own_length;
	const uint8_t *own;

	if (!length)
		return 0;
	own = image_build_id(image, &own_length);
	if (!own || own_length != length || memcmp(own, build_id, length) != 0)
		return -ESTALE;
	return 0;
}

static int map_object(struct parse_object *object, int fd)
{
	struct stat st;
	int ret;

	if (fstat(fd, &st) != 0)
		return -errno;
	if (st.st_size <= 0)
		return -ENOEXEC;
	object->size = (size_t)st.st_size;
	object->mapped = mmap(NULL, object->size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (object->mapped == MAP_FAILED) {
		ret = -errno;
		object->mapped = NULL;
		return ret;
	}
	return image_init(&object->image, object->mapped, object->size);
}

static int load_object(struct parse_object *object, int fd, const uint8_t *build_id, size_t length,
	unsigned int flags)
{
	int ret = map_object(object, fd);

	if (!ret)
		ret = check_build_id(&object->image, build_id, length);
	if (ret) {
		unload_object(object);
		return ret;
	}
	/* duplicated only if it will be read again */
	if (flags & SYMBOLS_LINES) {
		object->fd = dup(fd);
		if (object->fd >= 0)
			object->lines = dwarflines_open(object->fd);
	}
	return 0;
}

static void describe(const struct parse_object *object, struct parse_info *info)
{
	const uint8_t *build_id;
	const char *link;
	size_t length;

	memset(info, 0, sizeof(*info));
	build_id = image_build_id(&object->image, &length);
	if (build_id && length <= sizeof(info->build_id)) {
		memcpy(info->build_id, build_id, length);
		info->build_id_length = length;
	}
	if (elfsyms_is_full(&object->image))
		info->flags |= PROTO_HAS_SYMBOLS;
	link = image_debuglink(&object->image);
	if (link && strlen(link) < sizeof(info->debuglink))
		strcpy(info->debuglink, link);
	if (!object->lines)
		return;
	info->flags |= PROTO_HAS_LINES;
	length = dwarflines_alt(object->lines, info->build_id, sizeof(info->build_id));
	if (length) {
		info->flags |= PROTO_WANTS_ALT;
		info->build_id_length = length;
	}
}

int parse_elf(struct parse *parse, int fd, const uint8_t *build_id, size_t build_id_length,
	unsigned int flags, struct parse_info *info)
{
	int ret;

	unload(parse);
	ret = load_object(&parse->main, fd, build_id, build_id_length, flags);
	if (ret)
		return ret;
	parse->loaded = ELF;
	describe(&parse->main, info);
	return 0;
}

int parse_debug(struct parse *parse, int fd, const uint8_t *build_id, size_t build_id_length,
	unsigned int flags, struct parse_info *info)
{
	int ret;

	if (parse->loaded != ELF)
		return -EINVAL;
	unload_object(&parse->debug);
	ret = load_object(&parse->debug, fd, build_id, build_id_length, flags);
	if (!ret)
		describe(&parse->debug, info);
	return ret;
}

int parse_alt(struct parse *parse, int fd, const uint8_t *build_id, size_t build_id_length,
	struct parse_info *info)
{
	struct parse_object alt = {.fd = -1};
	int ret;

	if (parse->loaded != ELF || parse->alt_fd >= 0)
		return -EINVAL;
	ret = load_object(&alt, fd, build_id, build_id_length, 0);
	if (ret)
		return ret;
	describe(&alt, info);
	unload_object(&alt);
	parse->alt_fd = dup(fd);
	if (parse->alt_fd < 0)
		return -errno;
	if (parse->debug.lines)
		dwarflines_set_alt(parse->debug.lines, parse->alt_fd);
	else if (parse->main.lines)
		dwarflines_set_alt(parse->main.lines, parse->alt_fd);
	return 0;
}

/* The kernel's own file: its section headers are at its end. */
int parse_vdso(struct parse *parse, struct parse_info *info)
{
	const void *start = (const void *)(uintptr_t)getauxval(AT_SYSINFO_EHDR);
	const Elf64_Ehdr *head = start;
	int ret;

	unload(parse);
	if (!start || head->e_ident[EI_CLASS] != ELFCLASS64)
		return -ENOENT;
	ret = image_init(&parse->main.image, start,
		head->e_shoff + (size_t)head->e_shnum * head->e_shentsize);
	if (ret)
		return ret;
	parse->loaded = ELF;
	describe(&parse->main, info);
	return 0;
}

static int load_text(struct parse *parse, int fd, enum loaded loaded)
{
	size_t size;

	unload(parse);
	parse->text = textsyms_read(fd, &size);
	if (!parse->text)
		return -ENOENT;
	parse->loaded = loaded;
	return 0;
}

int parse_kernel(struct parse *parse, int fd, const struct textsyms_kernel *kernel)
{
	int ret = load_text(parse, fd, KERNEL);

	if (ret)
		return ret;
	parse->kernel = *kernel;
	parse->kernel_path = g_strdup(kernel->path);
	parse->kernel.path = parse->kernel_path;
	return 0;
}

int parse_jit(struct parse *parse, int fd)
{
	if (!jitdump_is(fd))
		return load_text(parse, fd, JIT);
	unload(parse);
	parse->text = jitdump_read(fd);
	if (!parse->text)
		return -ENOENT;
	parse->loaded = JIT;
	return 0;
}

/* ---- requests -------------------------------------------------------------------------------- */

/* A requested offset with its address; sorted by address. */
struct requested_offset {
	uint64_t address;
	size_t offset; /* index in the request */
};

struct parse_request {
	const struct parse *parse;
	struct requested_offset *requested; /* by address */
	size_t requested_count;
	uint64_t *addresses; /* without duplicates, ascending */
	size_t count;
	/* index in `requested` of the first one of each address; one more at the end */
	size_t *firsts;
	bool *found_called; /* addresses for which found() has been called */
	struct addr_match *match;
	void (*found)(void *arg, size_t i, const struct symbols_place *place);
	void *arg;
	GHashTable *demangled; /* name in the file -> demangled name */
	GStringChunk *strings; /* names that are in no file */
};

static int compare_requested(const void *a, const void *b)
{
	const struct requested_offset *x = a, *y = b;

	return x->address < y->address ? -1 : x->address > y->address;
}

static void init_request(struct parse_request *request, const struct parse *parse,
	const uint64_t *offsets, size_t count)
{
	size_t i, n = 0;

	request->parse = parse;
	request->requested = g_new(struct requested_offset, count + 1);
	for (i = 0; i < count; i++) {
		struct requested_offset *requested = &request->requested[n];

		requested->offset = i;
		requested->address = offsets[i];
		if (parse->loaded != ELF || image_offset_to_address(&parse->main.image, offsets[i],
						    &requested->address))
			n++;
	}
	qsort(request->requested, n, sizeof(*request->requested), compare_requested);
	request->requested_count = n;
	request->addresses = g_new(uint64_t, n + 1);
	request->firsts = g_new(size_t, n + 1);
	for (i = 0; i < n; i++) {
		if (i && request->requested[i].address == request->requested[i - 1].address)
			continue;
		request->firsts[request->count] = i;
		request->addresses[request->count++] = request->requested[i].address;
	}
	request->firsts[request->count] = n;
	request->found_called = g_new0(bool, request->count + 1);
	request->match = addr_match_create(request->addresses, request->count);
	request->demangled = g_hash_table_new_full(strhash, g_str_equal, g_free, g_free);
	request->strings = g_string_chunk_new(1024);
}

static void fini_request(struct parse_request *request)
{
	addr_match_destroy(request->match);
	g_hash_table_destroy(request->demangled);
	g_string_chunk_free(request->strings);
	g_free(request->requested);
	g_free(request->addresses);
	g_free(request->firsts);
	g_free(request->found_called);
}

/* The version of a symbol (memcpy@@GLIBC_2.14) is left out. */
static char *show_elf_name(const char *name)
{
	char *shown = demangle_name(name);

	return shown ? shown : g_strndup(name, strcspn(name, "@"));
}

/* The name of a stub keeps its @plt. */
static char *show_elf_or_stub(const char *name)
{
	g_autofree char *target = NULL, *shown = NULL;

	if (!g_str_has_suffix(name, PLT_SUFFIX))
		return show_elf_name(name);
	target = g_strndup(name, strlen(name) - strlen(PLT_SUFFIX));
	shown = show_elf_name(target);
	return g_strconcat(shown, PLT_SUFFIX, NULL);
}

/* The name as it is shown. */
static const char *show_name(struct parse_request *request, const char *name)
{
	char *shown = g_hash_table_lookup(request->demangled, name);

	if (shown)
		return shown;
	shown = request->parse->loaded == ELF ? show_elf_or_stub(name) : g_strdup(name);
	/* copied, since other processes may change the file, and with it the key */
	g_hash_table_insert(request->demangled, g_strdup(name), shown);
	return shown;
}

static void tell(struct parse_request *request, size_t i, struct symbols_place *place)
{
	const struct addr_match_symbol *symbol = addr_match_find(request->match, i);
	size_t k;

	place->located = request->parse->loaded == ELF;
	if (place->located)
		place->address = request->addresses[i];
	if (symbol) {
		place->start = symbol->start;
		place->size = symbol->size;
		if (request->parse->loaded == ELF &&
			!image_address_to_offset(
				&request->parse->main.image, symbol->start, &place->start))
			place->start = place->size = 0;
	}
	request->found_called[i] = true;
	for (k = request->firsts[i]; k < request->firsts[i + 1]; k++)
		request->found(request->arg, request->requested[k].offset, place);
}

/* The results from DWARF; the outermost function has the symbol's name, as without DWARF. */
static void take_lines(void *arg, size_t i, const struct symbols_frame *from, uint32_t count)
{
	struct parse_request *request = arg;
	const struct addr_match_symbol *symbol = addr_match_find(request->match, i);
	struct symbols_frame frames[SYMBOLS_FRAMES_MAX];
	struct symbols_place place = { .frames = frames, .count = count };
	uint32_t n;

	if (!from[count - 1].function && !symbol)
		return;
	for (n = 0; n < count; n++) {
		frames[n] = from[n];
		frames[n].function = show_name(
			request, n == count - 1 && symbol ? symbol->name : from[n].function);
	}
	tell(request, i, &place);
}

static void tell_symbol(struct parse_request *request, size_t i)
{
	const struct addr_match_symbol *symbol = addr_match_find(request->match, i);
	struct symbols_frame frame = { NULL };
	struct symbols_place place = { .frames = &frame, .count = 1 };

	if (symbol)
		frame.function = show_name(request, symbol->name);
	else if (request->parse->loaded == ELF)
		place.count = 0; /* only the address */
	else
		return;
	tell(request, i, &place);
}

/* Offers the symbols of what is loaded. False: the kernel is not the requested one. */
static bool offer_symbols(struct parse *parse, const struct parse_request *request)
{
	struct addr_match *match = request->match;

	switch (parse->loaded) {
	case KERNEL:
		return textsyms_offer_kernel(parse->text, &parse->kernel, match);
	case JIT:
		textsyms_offer_jit(parse->text, match);
		return true;
	default:
		if (!parse->debug.image.elf || !elfsyms_is_full(&parse->debug.image) ||
			!elfsyms_offer(&parse->debug.image, match))
			elfsyms_offer(&parse->main.image, match);
		plt_offer(&parse->main.image, request->addresses, request->count, match,
			request->strings);
		return true;
	}
}

int parse_resolve(struct parse *parse, const uint64_t *offsets, size_t count, unsigned int flags,
	void (*found)(void *arg, size_t i, const struct symbols_place *place), void *arg)
{
	struct parse_request request = {.found = found, .arg = arg};
	struct dwarflines *lines = parse->debug.lines ? parse->debug.lines : parse->main.lines;
	bool same;
	size_t i;

	if (parse->loaded == NOTHING)
		return -EINVAL;
	init_request(&request, parse, offsets, count);
	same = offer_symbols(parse, &request);
	addr_match_finish(request.match);
	if (same && lines && (flags & SYMBOLS_LINES))
		dwarflines_find(lines, request.addresses, request.count, take_lines, &request);
	for (i = 0; same && i < request.count; i++) {
		if (!request.found_called[i])
			tell_symbol(&request, i);
	}
	fini_request(&request);
	if (parse->text)
		unload(parse); /* reading has split the text into strings */
	if (!same)
		return -ESTALE;
	return lines && (flags & SYMBOLS_LINES) ? SYMBOLS_LINES : 0;
}

int parse_functions(struct parse *parse, int fd, const struct functions_query *query)
{
	struct parse_info info;
	int ret = parse_elf(parse, fd, NULL, 0, 0, &info);

	if (ret)
		return ret;
	return query->flags & PROTO_STATIC_PROBES ? staticprobes_each(&parse->main.image, query) :
		functions_each(&parse->main.image, query);
}

/* ---- unwinding ------------------------------------------------------------------------------- */

int parse_row(struct parse *parse, uint64_t offset, struct unwind_row *row)
{
	struct parse_object *object = &parse->main;
	uint64_t address, delta;
	int ret;

	if (parse->loaded != ELF)
		return -EINVAL;
	if (!object->cfi_tried)
		object->cfi = cfi_open(object->image.elf);
	object->cfi_tried = true;
	if (!object->cfi || !image_offset_to_address(&object->image, offset, &address))
		return -ENOENT;
	ret = cfi_find(object->cfi, address, row);
	if (ret)
		return ret;
	delta = offset - address; /* a function lies in one segment */
	row->start += delta;
	row->end += delta;
	return 0;
}
