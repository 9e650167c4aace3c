/* SPDX-License-Identifier: MIT */
/* Event classes and metadata of CTF: see ctf_class.h. */
#include "trace/ctf/ctf_class.h"

#include <inttypes.h>
#include <string.h>

#include "base/growing.h"
#include "base/strhash.h"
#include "base/units.h"

struct ctf_classes {
	GHashTable *found; /* of "SHAPE NAME\nFORMAT": struct ctf_class */
	GString *text;	   /* TSDL of the classes so far */
	uint32_t count;
	uint32_t message;
};

/* More than the metadata of 16 classes, each of which is little more than its name and format. */
#define ROOM_BYTES (1 * MIB)

/* ---- names ----------------------------------------------------------------------------------- */

static bool is_word(char c)
{
	return g_ascii_isalnum(c) || c == '_';
}

/* Arguments of calls without a word (kernel/calltext.c, function.c), by the end of the text before. */
static const char *const call_prefixes[] = { "syscall:", "function:" };
static const struct {
	const char *end;
	char letter; /* of the conversion; 0: any */
	const char *name;
} call_words[] = {
	{ " (", 'f', "duration_us" },
	{ " (", 's', "error_text" },
	{ "= -1 ", 's', "error" },
	{ "= ? ", 's', "error" },
	{ "= ", 0, "result" },
};

/* NULL if there is none. */
static const char *find_call_word(const struct args_conversion *c)
{
	for (size_t i = 0; i < G_N_ELEMENTS(call_words); i++) {
		size_t bytes = strlen(call_words[i].end);

		if (c->literal_bytes >= bytes &&
			(!call_words[i].letter || call_words[i].letter == c->letter) &&
			memcmp(c->literal + c->literal_bytes - bytes, call_words[i].end, bytes) == 0)
			return call_words[i].name;
	}
	return NULL;
}

/* Names that this file uses: of what follows the arguments, and of fields without a word. */
static bool is_reserved(const char *name)
{
	if (!strcmp(name, "cut") || !strcmp(name, "stack") || !strcmp(name, "stack_length"))
		return true;
	return g_str_has_prefix(name, "arg") && name[3] &&
	       !name[3 + strspn(name + 3, "0123456789")];
}

static bool is_taken(const GPtrArray *names, const char *name)
{
	guint i;

	for (i = 0; i < names->len; i++)
		if (!strcmp(names->pdata[i], name))
			return true;
	return is_reserved(name);
}

/* Returns the name of the next field. `word` may be any word, or NULL for none. */
static const char *name_field(GPtrArray *names, const char *word)
{
	if (word && !is_taken(names, word))
		g_ptr_array_add(names, g_strdup(word));
	else
		g_ptr_array_add(names, g_strdup_printf("arg%u", names->len + 1));
	return names->pdata[names->len - 1];
}

/* ---- fields ---------------------------------------------------------------------------------- */

static void append_type(GString *out, const struct args_plan *plan, char letter)
{
	switch (plan->kind) {
	case ARGS_DOUBLE:
		g_string_append(out, "double_t");
		break;
	case ARGS_STRING:
		g_string_append(out, "string");
		break;
	case ARGS_POINTER:
		g_string_append(out, "xuint64_t");
		break;
	default:
		if (letter == 'c')
			g_string_append(out, "char_t");
		else
			g_string_append_printf(out, "%s%sint%u_t",
				letter == 'o' ? "o" : letter == 'x' || letter == 'X' ? "x" : "",
				plan->is_signed ? "" : "u", plan->bytes * 8u);
	}
}

static void append_field(GString *out, const struct args_plan *plan, char letter, const char *name)
{
	g_string_append(out, "\t\t");
	append_type(out, plan, letter);
	g_string_append_printf(out, " _%s;\n", name);
}

/* The arguments of a format that args_plan() accepted; a * is an argument, too. */
static void append_arguments(GString *out, const char *label, const char *format, struct ctf_class *class)
{
	struct args_format walk = { format, format + strlen(format) };
	g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
	struct args_conversion c;
	bool is_call = false;
	int i = 0;

	for (size_t prefix = 0; prefix < G_N_ELEMENTS(call_prefixes); prefix++)
		is_call |= g_str_has_prefix(label, call_prefixes[prefix]);
	class->count = args_plan(format, (uint32_t)strlen(format), class->plan);
	while (args_next(&walk, &c) > 0) {
		const char *call_word = is_call ? find_call_word(&c) : NULL;
		char word[ARGS_WORD_MAX + 1];
		int stars = (c.width == ARGS_STAR) + (c.precision == ARGS_STAR);

		if (c.letter == '%')
			continue;
		if (c.letter == 'c') /* stored as an int, and shown as a character */
			class->plan[i + stars].bytes = 1;
		for (; stars && i < class->count; stars--, i++)
			append_field(out, &class->plan[i], 'd', name_field(names, NULL));
		if (i < class->count)
			append_field(out, &class->plan[i], c.letter,
				name_field(names, call_word ? call_word : args_word(&c, word) ? word : NULL));
		i++;
	}
}

/* For human readers: in a comment, which the format must not end. */
static void append_format(GString *out, const char *format)
{
	g_autofree char *escaped = g_strescape(format, NULL);
	char *at;

	while ((at = strstr(escaped, "*/")))
		*at = '+';
	g_string_append_printf(out, "\t/* \"%s\" */\n", escaped);
}

static void append_name(GString *out, const char *name)
{
	g_string_append(out, "\tname = \"");
	for (; *name; name++)
		g_string_append_c(out, is_word(*name) || strchr(":.-", *name) ? *name : '_');
	g_string_append(out, "\";\n");
}

/* ---- classes --------------------------------------------------------------------------------- */

static uint32_t begin_class(struct ctf_classes *classes, const char *name, bool of_program)
{
	g_string_append(classes->text, "\nevent {\n");
	append_name(classes->text, name);
	g_string_append_printf(classes->text, "\tid = %" PRIu32 ";\n", classes->count);
	if (of_program)
		g_string_append(classes->text, "\tcontext := struct {\n"
			"\t\tuint32_t _pid;\n\t\tuint32_t _tid;\n\t\tstring _comm;\n\t};\n");
	return classes->count++;
}

static struct ctf_class *make_class(struct ctf_classes *classes, const char *name,
	const char *format, unsigned int shape)
{
	struct ctf_class *class = g_new0(struct ctf_class, 1);
	GString *out = classes->text;

	class->id = begin_class(classes, name, true);
	if (shape & CTF_TEXT) {
		g_string_append(out, "\tfields := struct {\n\t\tstring _text;\n");
	} else {
		append_format(out, format);
		g_string_append(out, "\tfields := struct {\n");
		append_arguments(out, name, format, class);
	}
	if (shape & CTF_STACK)
		g_string_append(out, "\t\tuint16_t _stack_length;\n"
			"\t\txuint64_t _stack[_stack_length];\n");
	if (shape & CTF_CUT)
		g_string_append(out, "\t\tuint8_t _cut;\n");
	g_string_append(out, "\t};\n};\n");
	return class;
}

const struct ctf_class *ctf_classes_find(struct ctf_classes *classes, const char *name,
	const char *format, unsigned int shape)
{
	g_autofree char *key = g_strdup_printf("%u %s\n%s", shape, name,
		shape & CTF_TEXT ? "" : format);
	struct ctf_class *class = g_hash_table_lookup(classes->found, key);

	if (!class) {
		class = make_class(classes, name, format, shape);
		g_hash_table_insert(classes->found, g_steal_pointer(&key), class);
	}
	return class;
}

uint32_t ctf_classes_message(struct ctf_classes *classes)
{
	return classes->message;
}

struct ctf_classes *ctf_classes_create(void)
{
	struct ctf_classes *classes = g_new0(struct ctf_classes, 1);

	classes->found = g_hash_table_new_full(strhash, g_str_equal, g_free, g_free);
	classes->text = g_string_new(NULL);
	classes->message = begin_class(classes, CTF_NAME_MESSAGE, false);
	g_string_append(classes->text, "\tfields := struct {\n\t\tstring _text;\n\t};\n};\n");
	return classes;
}

void ctf_classes_destroy(struct ctf_classes *classes)
{
	if (!classes)
		return;
	g_hash_table_unref(classes->found);
	g_string_free(classes->text, TRUE);
	g_free(classes);
}

size_t ctf_classes_bytes(const struct ctf_classes *classes)
{
	return classes->text->len;
}

/* ---- metadata -------------------------------------------------------------------------------- */

static void append_integers(GString *out)
{
	static const struct {
		const char *prefix, *base;
	} bases[] = { { "", "10" }, { "x", "16" }, { "o", "8" } };
	unsigned int size;
	size_t i;

	for (i = 0; i < G_N_ELEMENTS(bases); i++)
		for (size = 8; size <= 64; size *= 2)
			g_string_append_printf(out,
				"typealias integer { size = %u; align = 8; "
				"signed = false; base = %s; } := %suint%u_t;\n",
				size, bases[i].base, bases[i].prefix, size);
	for (size = 8; size <= 64; size *= 2)
		g_string_append_printf(out, "typealias integer { size = %u; align = 8; "
			"signed = true; } := int%u_t;\n", size, size);
}

static void append_uuid(GString *out, const unsigned char *uuid)
{
	int i;

	for (i = 0; i < CTF_UUID_BYTES; i++)
		g_string_append_printf(out, "%s%02x",
			i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", uuid[i]);
}

static void append_head(GString *out, const struct ctf_info *info)
{
	g_string_append(out, "/* CTF 1.8 */\n\n");
	append_integers(out);
	g_string_append(out, "typealias integer { size = 8; align = 8; signed = false; encoding = "
			     "ASCII; } := char_t;\n"
			     "typealias floating_point { exp_dig = 11; mant_dig = 53; align = 8; } "
			     ":= double_t;\n"
			     "\ntrace {\n\tmajor = 1;\n\tminor = 8;\n\tuuid = \"");
	append_uuid(out, info->uuid);
	g_string_append_printf(out, "\";\n\tbyte_order = %s;\n"
		"\tpacket.header := struct {\n"
		"\t\tuint32_t magic;\n\t\tuint8_t uuid[16];\n\t\tuint32_t stream_id;\n\t};\n};\n",
		G_BYTE_ORDER == G_LITTLE_ENDIAN ? "le" : "be");
	g_string_append_printf(out, "\nenv {\n\ttracer_name = \"kprofs\";\n"
		"\tevents_lost = %" PRIu64 ";\n\tevents_left_out = %" PRIu64 ";\n};\n",
		info->lost, info->left_out);
	g_string_append_printf(out,
		"\nclock {\n\tname = \"monotonic\";\n"
		"\tdescription = \"CLOCK_MONOTONIC\";\n\tfreq = 1000000000;\n"
		"\toffset_s = %" PRIu64 ";\n\toffset = %" PRIu64 ";\n\tabsolute = TRUE;\n};\n",
		(uint64_t)(info->offset_ns / NSEC_PER_SEC),
		(uint64_t)(info->offset_ns % NSEC_PER_SEC));
	g_string_append(out, "typealias integer { size = 64; align = 8; signed = false; "
		"map = clock.monotonic.value; } := stamp_t;\n"
		"\nstream {\n\tid = 0;\n"
		"\tpacket.context := struct {\n"
		"\t\tstamp_t timestamp_begin;\n\t\tstamp_t timestamp_end;\n"
		"\t\tuint64_t content_size;\n\t\tuint64_t packet_size;\n"
		"\t\tuint64_t events_discarded;\n\t\tuint32_t cpu_id;\n\t};\n"
		"\tevent.header := struct {\n\t\tuint32_t id;\n\t\tstamp_t timestamp;\n\t};\n};\n");
}

int ctf_classes_reserve(struct ctf_classes *classes)
{
	return growing_text(classes->text, ROOM_BYTES);
}

int ctf_classes_print(const struct ctf_classes *classes, const struct ctf_info *info, GString *out)
{
	int ret;

	append_head(out, info);
	ret = growing_text(out, classes->text->len);
	if (ret)
		return ret;
	g_string_append_len(out, classes->text->str, (gssize)classes->text->len);
	return 0;
}
