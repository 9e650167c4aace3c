/* SPDX-License-Identifier: MIT */
/* Symbols in text form: see textsyms.h. */
#include "symbolizerd/textsyms.h"

#include <errno.h>
#include <glib.h>
#include <string.h>
#include <unistd.h>

#include "kprof/records.h"

#define READ_BYTES (256u << 10)

char *textsyms_read(int fd, size_t *size)
{
	GByteArray *text = g_byte_array_new();
	ssize_t got;

	while (text->len < TEXTSYMS_BYTES_MAX) {
		guint used = text->len;

		g_byte_array_set_size(text, used + READ_BYTES);
		do
			got = read(fd, text->data + used, READ_BYTES);
		while (got < 0 && errno == EINTR);
		g_byte_array_set_size(text, used + (got > 0 ? (guint)got : 0));
		if (got <= 0)
			break;
	}
	if (!text->len) {
		g_byte_array_free(text, TRUE);
		return NULL;
	}
	*size = text->len;
	g_byte_array_append(text, (const guint8 *)"", 1);
	return (char *)g_byte_array_free(text, FALSE);
}

/* Splits off the next line; NULL at the end. */
static char *take_line(char **text)
{
	char *line = *text, *end;

	if (!*line)
		return NULL;
	end = strchr(line, '\n');
	if (end) {
		*end = '\0';
		*text = end + 1;
	} else {
		*text = line + strlen(line);
	}
	return line;
}

/* -1 if not a digit. Inline, because a kernel has two million symbols. */
static inline int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Reads hex digits and the blank after them; false if there are none or too many. */
static bool take_hex(char **at, uint64_t *value)
{
	uint64_t sum = 0;
	int digits = 0, digit;

	if ((*at)[0] == '0' && (*at)[1] == 'x')
		*at += 2;
	for (; (digit = hex_digit(**at)) >= 0; (*at)++, digits++)
		sum = sum << 4 | (uint64_t)digit;
	if (!digits || digits > 16 || *(*at)++ != ' ')
		return false;
	*value = sum;
	return true;
}

/* ---- the kernel ------------------------------------------------------------------------------ */

struct kernel_line {
	uint64_t address;
	char type;
	const char *name;
	const char *module; /* "" for the kernel itself */
};

/* "ADDRESS TYPE NAME" or "ADDRESS TYPE NAME<tab>[MODULE]" */
static bool take_kernel_line(char *line, struct kernel_line *out)
{
	char *tab;

	if (!take_hex(&line, &out->address) || !line[0] || line[1] != ' ' || !line[2])
		return false;
	out->type = line[0];
	out->name = line + 2;
	out->module = "";
	tab = strchr(line, '\t');
	if (tab) {
		*tab = '\0';
		out->module = tab + 1;
	}
	return true;
}

/*
 * Many kernel addresses have several names. perf takes the last one in kallsyms, since it derives
 * sizes from the list and prefers a symbol whose size is not 0. The same is done here, except that
 * global symbols are preferred to local and weak ones, as perf intends too, and that these names
 * are taken only if there is no other: __pi_* (the copy of a function that runs before the kernel
 * is relocated) and, for a system call with one function for both, __ia32_*.
 */
#define RANK_LOCAL 2
#define RANK_IA32 1
#define RANK_PI 4

static uint8_t rank_kernel_symbol(const struct kernel_line *line)
{
	const char *name = line->name;
	uint8_t rank = line->type == 'T' ? 0 : RANK_LOCAL;

	/* the padding before a function has its name with a prefix */
	if (g_str_has_prefix(name, "__pfx_"))
		name += strlen("__pfx_");
	if (g_str_has_prefix(name, "__pi_"))
		rank += RANK_PI;
	if (g_str_has_prefix(name, "__ia32_"))
		rank += RANK_IA32;
	return rank;
}

bool textsyms_offer_kernel(
	char *text, const struct textsyms_kernel *kernel, struct addr_match *match)
{
	const char *module = strcmp(kernel->path, KPROF_PATH_KERNEL) == 0 ? "" : kernel->path;
	bool same = false;
	struct kernel_line line;
	char *at;

	while ((at = take_line(&text)) != NULL) {
		struct addr_match_symbol symbol = {.limit = UINT64_MAX, .latest = true};

		if (!take_kernel_line(at, &line) || !line.address)
			continue;
		if (!*line.module && line.address == kernel->text &&
			(strcmp(line.name, "_text") == 0 || strcmp(line.name, "_stext") == 0))
			same = true;
		/* t, T: code; w, W: weak code. All others are data. */
		if (!strchr("tTwW", line.type))
			continue;
		symbol.foreign = strcmp(line.module, module) != 0;
		if (*module && kernel->end)
			symbol.foreign = symbol.foreign || line.address < kernel->start ||
				line.address >= kernel->end;
		symbol.start = line.address;
		symbol.name = line.name;
		symbol.rank = rank_kernel_symbol(&line);
		addr_match_offer(match, &symbol);
	}
	return same && kernel->text;
}

/* ---- a JIT ----------------------------------------------------------------------------------- */

void textsyms_offer_jit(char *text, struct addr_match *match)
{
	char *at;

	while ((at = take_line(&text)) != NULL) {
		struct addr_match_symbol symbol = {.rank = 0};

		if (!take_hex(&at, &symbol.start) || !take_hex(&at, &symbol.size) || !symbol.size ||
			!*at)
			continue;
		symbol.name = at;
		addr_match_replace(match, &symbol);
	}
}
