/* SPDX-License-Identifier: MIT */
/*
 * The static probes of an ELF file (USDT): notes that the macros of <sys/sdt.h> make, each with the address
 * of a place, of its semaphore, and the names and arguments of the probe. See functions.h.
 */
#include "symbolizerd/functions.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

#define OWNER "stapsdt"
#define TYPE 3u /* NT_STAPSDT */
#define WORDS 3u /* the place, the address of .stapsdt.base when it was linked, the semaphore */
#define TEXT_MAX 512u /* longer names and arguments are left out */

/* How far the file's addresses are from those in its notes: prelink(8) moves a file. */
struct base {
	uint64_t address;
	bool is_known;
};

static struct base find_base(const struct image *image)
{
	struct base base = { 0 };
	size_t names, size;
	const char *text;
	Elf_Scn *scn = NULL;
	GElf_Shdr section;

	if (elf_getshdrstrndx(image->elf, &names))
		return base;
	text = image_strings(image, names, &size);
	while (text && !base.is_known && (scn = elf_nextscn(image->elf, scn)))
		if (gelf_getshdr(scn, &section) && section.sh_name < size &&
			strcmp(text + section.sh_name, ".stapsdt.base") == 0)
			base = (struct base){ section.sh_addr, true };
	return base;
}

/* The text up to a NUL within the bytes, and moves on; NULL if it has none, or is too long. */
static const char *take_text(const char **at, const char *end)
{
	const char *text = *at, *nul = text < end ? memchr(text, '\0', (size_t)(end - text)) : NULL;

	if (!nul || nul - text >= TEXT_MAX)
		return NULL;
	*at = nul + 1;
	return text;
}

/* The three words, of 4 or 8 bytes each. */
static bool take_words(const struct image *image, const char **at, const char *end, uint64_t words[WORDS])
{
	const size_t bytes = gelf_getclass(image->elf) == ELFCLASS64 ? 8 : 4;

	if ((size_t)(end - *at) < WORDS * bytes)
		return false;
	for (size_t i = 0; i < WORDS; i++) {
		words[i] = 0;
		memcpy(&words[i], *at + i * bytes, bytes);
	}
	*at += WORDS * bytes;
	return true;
}

static int offer(const struct image *image, const struct functions_query *query, const struct base *base,
	const char *at, const char *end)
{
	struct proto_found found = { 0 };
	char name[2 * TEXT_MAX];
	const char *provider, *probe;
	uint64_t words[WORDS];

	if (!take_words(image, &at, end, words))
		return 0;
	provider = take_text(&at, end);
	probe = provider ? take_text(&at, end) : NULL;
	found.arguments = probe ? take_text(&at, end) : NULL;
	if (!found.arguments)
		return 0;
	snprintf(name, sizeof(name), "%s:%s", provider, probe);
	found.name = name;
	found.address = words[0] + (base->is_known ? base->address - words[1] : 0);
	if (!text_matches(query->pattern, name) ||
		!image_address_to_offset(image, found.address, &found.offset))
		return 0;
	if (words[2] && !image_address_to_offset(image,
		words[2] + (base->is_known ? base->address - words[1] : 0), &found.counter))
		return 0;
	return query->each(query->arg, &found);
}

static int walk_notes(const struct image *image, const struct functions_query *query,
	const struct base *base, Elf_Data *notes, uint32_t *count)
{
	size_t at = 0, next, name, desc;
	GElf_Nhdr header;
	int ret = 0;

	while (!ret && (next = gelf_getnote(notes, at, &header, &name, &desc)) > 0) {
		const char *bytes = notes->d_buf;

		at = next;
		if ((*count)++ >= FUNCTIONS_SYMBOLS_MAX)
			return -E2BIG;
		if (header.n_type == TYPE && header.n_namesz == sizeof(OWNER) &&
			memcmp(bytes + name, OWNER, sizeof(OWNER)) == 0)
			ret = offer(image, query, base, bytes + desc, bytes + desc + header.n_descsz);
	}
	return ret;
}

int staticprobes_each(const struct image *image, const struct functions_query *query)
{
	const struct base base = find_base(image);
	Elf_Scn *scn = NULL;
	GElf_Shdr section;
	uint32_t count = 0;
	int ret = 0;

	while (!ret && (scn = elf_nextscn(image->elf, scn))) {
		Elf_Data *notes;

		if (!gelf_getshdr(scn, &section) || section.sh_type != SHT_NOTE)
			continue;
		notes = image_section(scn, &section);
		if (notes)
			ret = walk_notes(image, query, &base, notes, &count);
	}
	return ret;
}
