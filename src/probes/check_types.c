/* SPDX-License-Identifier: MIT */
/* The checker: types, from BTF and from the text. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/nearest.h"
#include "bpf/types.h"
#include "probes/check_state.h"

/* As long as a struct of the text may be. */
#define STRUCT_BYTES_MAX (1u << 20)

struct ast_type check_integer(bool is_signed)
{
	return (struct ast_type){ .kind = AST_INTEGER, .bytes = 8, .is_signed = is_signed };
}

/* ---- what a type is ---------------------------------------------------------------------------- */

static struct ast_type array_type(const struct check *check, const struct types_value *value, bool is_user)
{
	struct ast_type type = { .kind = AST_ARRAY, .is_user = is_user, .bytes = value->bytes,
		.count = value->count, .btf = value->item };

	if (!value->is_char)
		return type;
	/* one at the end of a struct may have no size */
	return (struct ast_type){ .kind = AST_STRING, .is_user = is_user,
		.bytes = value->count ? value->count : check->string_bytes };
}

struct ast_type check_kernel_type(const struct check *check, uint32_t btf, bool is_user)
{
	struct types_value value;
	struct ast_type type = { .kind = AST_NONE };

	types_value(check->types, btf, &value);
	switch (value.class) {
	case TYPES_INTEGER:
	case TYPES_ENUMERATION:
		type = (struct ast_type){ .kind = AST_INTEGER, .bytes = value.bytes,
			.is_signed = value.is_signed, .is_char = value.is_char };
		break;
	case TYPES_POINTER:
		type = (struct ast_type){ .kind = AST_POINTER, .bytes = 8, .btf = value.item,
			.is_user = is_user, .is_char = value.is_char };
		break;
	case TYPES_ARRAY:
		type = array_type(check, &value, is_user);
		break;
	case TYPES_COMPOUND:
		type = (struct ast_type){ .kind = AST_STRUCT, .bytes = value.bytes, .btf = value.type,
			.is_user = is_user };
		break;
	case TYPES_VOID:
	case TYPES_OTHER:
		break;
	}
	return type;
}

struct ast_type check_item(const struct check *check, const struct ast_type *type)
{
	struct ast_type item = { .kind = AST_NONE };

	if (type->item)
		item = *type->item;
	else if (type->btf && check->types)
		item = check_kernel_type(check, type->btf, type->is_user);
	item.is_user = type->is_user;
	if (item.own)
		item.bytes = item.own->bytes; /* it may be defined behind the pointer */
	return item;
}

bool check_is_stored(const struct ast_type *type)
{
	return type->kind != AST_NONE && type->kind != AST_STRUCT && type->kind != AST_ARRAY &&
		type->kind != AST_AGGREGATE;
}

bool check_is_number(const struct ast_type *type)
{
	return type->kind == AST_INTEGER || type->kind == AST_POINTER;
}

const char *check_type_text(const struct ast_type *type)
{
	static const char *const texts[] = {
		[AST_NONE] = "nothing", [AST_INTEGER] = "an integer", [AST_STRING] = "a string",
		[AST_POINTER] = "a pointer", [AST_STRUCT] = "a struct", [AST_ARRAY] = "an array",
		[AST_TUPLE] = "a tuple", [AST_KSTACK] = "a kernel stack", [AST_USTACK] = "a user stack",
		[AST_KSYM] = "a kernel symbol", [AST_USYM] = "a user symbol",
			[AST_INET] = "an internet address",
		[AST_BUFFER] = "a buffer", [AST_TIMESTAMP] = "a time", [AST_PROBE] = "a probe's name",
		[AST_USERNAME] = "a user's name", [AST_AGGREGATE] = "an aggregation",
	};

	return texts[type->kind];
}

/* ---- names of types in the text ---------------------------------------------------------------- */

static const struct ast_struct *find_struct(const struct check *check, const char *name)
{
	for (const struct ast_struct *own = check->ast->structs; own; own = own->next)
		if (strcmp(own->name, name) == 0)
			return own;
	return NULL;
}

uint32_t check_find_type(const struct check *check, const char *name)
{
	static const enum types_kind kinds[] = { TYPES_TYPEDEF, TYPES_STRUCT, TYPES_ENUM, TYPES_INT };
	uint32_t btf = 0;

	for (size_t i = 0; !btf && i < sizeof(kinds) / sizeof(*kinds); i++)
		btf = types_find(check->types, kinds[i], name);
	return btf;
}

static int resolve_name(struct check *check, struct ast_place place, struct ast_type *type)
{
	const struct ast_struct *own = find_struct(check, type->name);
	const char *name = type->name;
	uint32_t btf;

	if (own) {
		*type = (struct ast_type){ .kind = AST_STRUCT, .own = own, .bytes = own->bytes,
			.name = name };
		return 0;
	}
	if (!check->types)
		return ast_fail(check->ast, place, EOPNOTSUPP, check->err, "'%s' is not known: %s", name,
			check->why_no_types);
	btf = type->kind == AST_STRUCT ? types_find(check->types, TYPES_STRUCT, name) :
		check_find_type(check, name);
	if (!btf)
		return check_fail(check, place, "the kernel has no type '%s'", name);
	*type = check_kernel_type(check, btf, false);
	type->name = name;
	return 0;
}

int check_resolve(struct check *check, struct ast_place place, struct ast_type *type)
{
	struct ast_type item;
	struct ast_type *copy;
	int ret;

	if (type->name && !type->btf && !type->own && type->kind != AST_INTEGER)
		return resolve_name(check, place, type);
	if (!type->item)
		return 0;
	item = *type->item;
	ret = check_resolve(check, place, &item);
	copy = ret ? NULL : ast_new(check->ast, sizeof(*copy));
	if (!copy)
		return ret ? ret : check_no_memory(check);
	*copy = item;
	type->item = copy;
	if (type->kind == AST_ARRAY)
		type->bytes = item.bytes * type->count;
	return 0;
}

/* ---- structs that the text defines ------------------------------------------------------------- */

static uint32_t alignment_of(const struct ast_type *type)
{
	if (type->kind == AST_ARRAY && type->item)
		return alignment_of(type->item);
	if (type->own)
		return type->own->alignment ? type->own->alignment : 1;
	return type->bytes == 1 || type->bytes == 2 || type->bytes == 4 ? type->bytes : 8;
}

static int place_member(struct check *check, struct ast_struct *own, struct ast_member *member)
{
	uint32_t alignment, at = own->is_union ? 0 : own->bytes;
	int ret = check_resolve(check, own->place, &member->type);

	if (ret)
		return ret;
	if (!member->type.bytes && !(member->type.kind == AST_ARRAY && !member->type.count))
		return check_fail(check, own->place, "the size of '%s' in 'struct %s' is not known",
			member->name,
			own->name);
	alignment = alignment_of(&member->type);
	member->offset = (at + alignment - 1) / alignment * alignment;
	if (member->type.bytes > STRUCT_BYTES_MAX || member->offset > STRUCT_BYTES_MAX)
		return check_fail(check, own->place, "'struct %s' is too large", own->name);
	if (alignment > own->alignment)
		own->alignment = alignment;
	if (member->offset + member->type.bytes > own->bytes)
		own->bytes = member->offset + member->type.bytes;
	/* a char array is a string, as those of the kernel are */
	if (member->type.kind == AST_ARRAY && member->type.is_char)
		member->type = (struct ast_type){ .kind = AST_STRING,
			.bytes = member->type.bytes ? member->type.bytes : check->string_bytes };
	return 0;
}

int check_structs(struct check *check)
{
	int ret;

	for (struct ast_struct *own = check->ast->structs; own; own = own->next) {
		if (find_struct(check, own->name) != own)
			return check_fail(check, own->place, "'struct %s' is defined twice", own->name);
		for (struct ast_member *member = own->members; member; member = member->next) {
			ret = place_member(check, own, member);
			if (ret)
				return ret;
		}
		if (own->alignment)
			own->bytes = (own->bytes + own->alignment - 1) / own->alignment * own->alignment;
	}
	return 0;
}

/* ---- fields ------------------------------------------------------------------------------------ */

static int own_field(struct check *check, struct ast_place place, const struct ast_type *structure,
	const char *name, struct ast_type *type, struct ast_field *field)
{
	for (const struct ast_member *member = structure->own->members; member; member = member->next) {
		if (strcmp(member->name, name) != 0)
			continue;
		*type = member->type;
		type->is_user = structure->is_user;
		*field = (struct ast_field){ .offset = member->offset };
		return 0;
	}
	return check_fail(check, place, "'struct %s' has no field '%s'", structure->own->name, name);
}

static int fail_field(const struct check *check, struct ast_place place, const struct ast_type *structure,
	const char *name, const char *why)
{
	char near[NEAREST_TEXT_MAX];
	struct nearest nearest;
	struct types_field field;
	const char *other;

	nearest_init(&nearest, name);
	for (uint32_t i = 0; types_field_at(check->types, structure->btf, i, &other, &field) == 0; i++)
		nearest_offer(&nearest, other);
	return check_fail(check, place, "%s%s", why, nearest_text(&nearest, near, sizeof(near)));
}

int check_field(struct check *check, struct ast_place place, const struct ast_type *structure,
	const char *name, struct ast_type *type, struct ast_field *field)
{
	struct types_field found;
	struct err why = { "" };

	if (structure->own)
		return own_field(check, place, structure, name, type, field);
	if (types_field(check->types, structure->btf, name, &found, &why))
		return fail_field(check, place, structure, name, why.text);
	*type = check_kernel_type(check, found.type, structure->is_user);
	*field = (struct ast_field){ found.offset, found.bits, found.bit_shift };
	if (type->kind == AST_NONE)
		return check_fail(check, place, "the field '%s' is of a type that can't be read", name);
	return 0;
}

/* ---- joining ----------------------------------------------------------------------------------- */

static int fail_join(struct check *check, struct ast_place place, const char *sigil, const char *name,
	const struct ast_type *into, const struct ast_type *from)
{
	return check_fail(check, place, "%s%s is %s elsewhere, and %s here", sigil, name,
		check_type_text(into),
		check_type_text(from));
}

bool check_has_format_of(const struct ast_type *a, const struct ast_type *b)
{
	if (a->kind == AST_TIMESTAMP && b->kind == AST_TIMESTAMP)
		return strcmp(a->format, b->format) == 0;
	for (uint32_t i = 0; a->kind == AST_TUPLE && b->kind == AST_TUPLE && i < a->count &&
		i < b->count; i++)
		if (!check_has_format_of(&a->parts[i], &b->parts[i]))
			return false;
	return true;
}

static int join_tuples(struct check *check, struct ast_place place, const char *sigil, const char *name,
	struct ast_type *into, const struct ast_type *from)
{
	struct ast_type *parts = ast_new(check->ast, sizeof(*parts) * (into->count ? into->count : 1));
	int ret = 0;

	if (!parts)
		return check_no_memory(check);
	if (into->count != from->count)
		return check_fail(check, place,
			"%s%s has tuples of %u values elsewhere, and of %u here", sigil,
			name, into->count, from->count);
	for (uint32_t i = 0; !ret && i < into->count; i++) {
		parts[i] = into->parts[i];
		ret = check_join(check, place, sigil, name, &parts[i], &from->parts[i]);
	}
	into->parts = parts;
	return ret;
}

static void join_numbers(struct ast_type *into, const struct ast_type *from)
{
	const bool is_user = into->is_user || from->is_user;

	if (into->kind == AST_POINTER && from->kind == AST_POINTER) {
		/* pointers to different things can be kept, and not followed */
		if (into->btf != from->btf || into->own != from->own || (!into->btf &&
			into->item != from->item))
			*into = (struct ast_type){ .kind = AST_POINTER, .bytes = 8 };
	} else if (into->kind != from->kind) {
		*into = check_integer(false);
	} else {
		into->is_signed |= from->is_signed;
		into->bytes = into->bytes > from->bytes ? into->bytes : from->bytes;
	}
	into->is_user = is_user;
}

static bool types_differ(const struct ast_type *a, const struct ast_type *b)
{
	return a->kind != b->kind || a->bytes != b->bytes || a->count != b->count || a->btf != b->btf ||
		a->item != b->item || a->is_signed != b->is_signed || a->is_user != b->is_user;
}

int check_join(struct check *check, struct ast_place place, const char *sigil, const char *name,
	struct ast_type *into, const struct ast_type *from)
{
	const struct ast_type before = *into;
	int ret = 0;

	if (from->kind == AST_NONE)
		return 0;
	if (into->kind == AST_NONE) {
		*into = *from;
	} else if (check_is_number(into) && check_is_number(from)) {
		join_numbers(into, from);
	} else if (into->kind != from->kind ||
		(into->kind == AST_STRUCT && (into->btf != from->btf || into->own != from->own))) {
		return fail_join(check, place, sigil, name, into, from);
	} else if (!check_has_format_of(into, from)) {
		return check_fail(check, place, "%s%s is a time in another format elsewhere", sigil, name);
	} else if (into->kind == AST_TUPLE) {
		ret = join_tuples(check, place, sigil, name, into, from);
	} else {
		into->bytes = into->bytes > from->bytes ? into->bytes : from->bytes;
		into->count = into->count > from->count ? into->count : from->count;
	}
	check->changed |= types_differ(&before, into);
	return ret;
}
