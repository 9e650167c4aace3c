/* SPDX-License-Identifier: MIT */
/* One file's answers: see parse.h. */
#include "symbolizerd/parse.h"

#include <errno.h>
#include <glib.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "symbolizerd/cfi.h"
#include "symbolizerd/demangle.h"
#include "symbolizerd/dwarflines.h"
#include "symbolizerd/elfsyms.h"
#include "symbolizerd/image.h"
#include "symbolizerd/addr_match.h"
#include "symbolizerd/plt.h"

/* An ELF file in memory, and its DWARF if it was asked for. */
struct object {
	struct image image;
	void *mapped; /* NULL: not ours to unmap */
	size_t size;
	int fd; /* ours; -1: none. DWARF is read from it. */
	struct dwarflines *lines;
	struct cfi *cfi; /* NULL: not asked for yet, or there is none */
	bool cfi_tried;
};

enum loaded { NOTHING, ELF, KERNEL, JIT };

struct parse {
	enum loaded loaded;
	struct object main, debug;
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

static void unload_object(struct object *object)
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

/*
 * ---- loading ----------------------------------------------------------------------------------
 */

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

static int map_object(struct object *object, int fd)
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

static int load_object(struct object *object, int fd, const uint8_t *build_id, size_t length,
	unsigned int flags)
{
	int ret = map_object(object, fd);

	if (!ret)
		ret = check_build_id(&object->image, build_id, length);
	if (ret) {
		unload_object(object);
		return ret;
	}
	/* duplicated only where it will be read again */
	if (flags & SYMBOLS_LINES) {
		object->fd = dup(fd);
		if (object->fd >= 0)
			object->lines = dwarflines_open(object->fd);
	}
	return 0;
}

static void describe(const struct object *object, struct parse_info *info)
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
	struct object alt = { .fd = -1 };
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

/* The kernel's own file: its sections' heads stand at its end. */
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
	return load_text(parse, fd, JIT);
}

/*
 * ---- asking -----------------------------------------------------------------------------------
 */

/* An offset that is asked about, by address. */
struct asked {
	uint64_t address;
	size_t offset; /* which of the question's */
};

struct question {
	const struct parse *parse;
	struct asked *asked; /* by address */
	size_t asked_count;
	uint64_t *addresses; /* the different ones of them, ascending */
	size_t count;
	size_t *firsts; /* the first of asked for each address, and one more */
	bool *told;	/* addresses about which found() has been called */
	struct addr_match *lookup;
	void (*found)(void *arg, size_t i, const struct symbols_place *place);
	void *arg;
	GHashTable *demangled; /* name in the file -> what is shown */
	GStringChunk *strings; /* names that stand in no file */
};

static int compare_asked(const void *a, const void *b)
{
	const struct asked *x = a, *y = b;

	return x->address < y->address ? -1 : x->address > y->address;
}

static void init_question(struct question *question, const struct parse *parse,
	const uint64_t *offsets, size_t count)
{
	size_t i, n = 0;

	question->parse = parse;
	question->asked = g_new(struct asked, count + 1);
	for (i = 0; i < count; i++) {
		struct asked *asked = &question->asked[n];

		asked->offset = i;
		asked->address = offsets[i];
		if (parse->loaded != ELF ||
			image_offset_to_address(&parse->main.image, offsets[i], &asked->address))
			n++;
	}
	qsort(question->asked, n, sizeof(*question->asked), compare_asked);
	question->asked_count = n;
	question->addresses = g_new(uint64_t, n + 1);
	question->firsts = g_new(size_t, n + 1);
	for (i = 0; i < n; i++) {
		if (i && question->asked[i].address == question->asked[i - 1].address)
			continue;
		question->firsts[question->count] = i;
		question->addresses[question->count++] = question->asked[i].address;
	}
	question->firsts[question->count] = n;
	question->told = g_new0(bool, question->count + 1);
	question->lookup = addr_match_create(question->addresses, question->count);
	question->demangled = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	question->strings = g_string_chunk_new(1024);
}

static void fini_question(struct question *question)
{
	addr_match_destroy(question->lookup);
	g_hash_table_destroy(question->demangled);
	g_string_chunk_free(question->strings);
	g_free(question->asked);
	g_free(question->addresses);
	g_free(question->firsts);
	g_free(question->told);
}

/* Versions of symbols (memcpy@@GLIBC_2.14) are no part of what is shown. */
static char *show_elf_name(const char *name)
{
	char *shown = demangle_name(name);

	return shown ? shown : g_strndup(name, strcspn(name, "@"));
}

/* That of a stub keeps its end. */
static char *show_elf_or_stub(const char *name)
{
	g_autofree char *target = NULL, *shown = NULL;

	if (!g_str_has_suffix(name, PLT_SUFFIX))
		return show_elf_name(name);
	target = g_strndup(name, strlen(name) - strlen(PLT_SUFFIX));
	shown = show_elf_name(target);
	return g_strconcat(shown, PLT_SUFFIX, NULL);
}

/* What is shown of a name. */
static const char *show_name(struct question *question, const char *name)
{
	char *shown = g_hash_table_lookup(question->demangled, name);

	if (shown)
		return shown;
	shown = question->parse->loaded == ELF ? show_elf_or_stub(name) : g_strdup(name);
	/* the file may be changed by others meanwhile, and the key with it: a copy */
	g_hash_table_insert(question->demangled, g_strdup(name), shown);
	return shown;
}

static void tell(struct question *question, size_t i, struct symbols_place *place)
{
	const struct addr_match_symbol *symbol = addr_match_answer(question->lookup, i);
	size_t k;

	place->located = question->parse->loaded == ELF;
	if (place->located)
		place->address = question->addresses[i];
	if (symbol) {
		place->start = symbol->start;
		place->size = symbol->size;
		if (question->parse->loaded == ELF &&
			!image_address_to_offset(&question->parse->main.image, symbol->start,
				&place->start))
			place->start = place->size = 0;
	}
	question->told[i] = true;
	for (k = question->firsts[i]; k < question->firsts[i + 1]; k++)
		question->found(question->arg, question->asked[k].offset, place);
}

/* What DWARF knows; the outermost function is named by the symbol, as without DWARF. */
static void take_lines(void *arg, size_t i, const struct symbols_frame *from, uint32_t count)
{
	struct question *question = arg;
	const struct addr_match_symbol *symbol = addr_match_answer(question->lookup, i);
	struct symbols_frame frames[SYMBOLS_FRAMES_MAX];
	struct symbols_place place = { .frames = frames, .count = count };
	uint32_t n;

	if (!from[count - 1].function && !symbol)
		return;
	for (n = 0; n < count; n++) {
		frames[n] = from[n];
		frames[n].function = show_name(question,
			n == count - 1 && symbol ? symbol->name : from[n].function);
	}
	tell(question, i, &place);
}

static void tell_symbol(struct question *question, size_t i)
{
	const struct addr_match_symbol *symbol = addr_match_answer(question->lookup, i);
	struct symbols_frame frame = { NULL };
	struct symbols_place place = { .frames = &frame, .count = 1 };

	if (symbol)
		frame.function = show_name(question, symbol->name);
	else if (question->parse->loaded == ELF)
		place.count = 0; /* the address is all */
	else
		return;
	tell(question, i, &place);
}

/* Offers the symbols of what is loaded. False: it is not the kernel that was asked about. */
static bool offer_symbols(struct parse *parse, const struct question *question)
{
	struct addr_match *lookup = question->lookup;

	switch (parse->loaded) {
	case KERNEL:
		return textsyms_offer_kernel(parse->text, &parse->kernel, lookup);
	case JIT:
		textsyms_offer_jit(parse->text, lookup);
		return true;
	default:
		if (!parse->debug.image.elf || !elfsyms_is_full(&parse->debug.image) ||
			!elfsyms_offer(&parse->debug.image, lookup))
			elfsyms_offer(&parse->main.image, lookup);
		plt_offer(&parse->main.image, question->addresses, question->count, lookup,
			question->strings);
		return true;
	}
}

int parse_resolve(struct parse *parse, const uint64_t *offsets, size_t count, unsigned int flags,
	void (*found)(void *arg, size_t i, const struct symbols_place *place), void *arg)
{
	struct question question = { .found = found, .arg = arg };
	struct dwarflines *lines = parse->debug.lines ? parse->debug.lines : parse->main.lines;
	bool same;
	size_t i;

	if (parse->loaded == NOTHING)
		return -EINVAL;
	init_question(&question, parse, offsets, count);
	same = offer_symbols(parse, &question);
	addr_match_finish(question.lookup);
	if (same && lines && (flags & SYMBOLS_LINES))
		dwarflines_find(lines, question.addresses, question.count, take_lines, &question);
	for (i = 0; same && i < question.count; i++) {
		if (!question.told[i])
			tell_symbol(&question, i);
	}
	fini_question(&question);
	if (parse->text)
		unload(parse); /* reading it has cut it up */
	if (!same)
		return -ESTALE;
	return lines && (flags & SYMBOLS_LINES) ? SYMBOLS_LINES : 0;
}

/*
 * ---- unwinding --------------------------------------------------------------------------------
 */

int parse_row(struct parse *parse, uint64_t offset, struct unwind_row *row)
{
	struct object *object = &parse->main;
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
