/* SPDX-License-Identifier: MIT */
/*
 * The types of the running kernel. libbpf reads the format; the index of names is our own, since
 * libbpf finds a name by comparing all of them.
 */
#include "bpf/types.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Structs within structs that a path goes into; the kernel's own nest less than 10 deep. */
#define NESTED_MAX 32
/* A type in a corrupt file may refer to itself. */
#define QUALIFIERS_MAX 64

struct types {
	struct btf *btf;
	uint32_t *slots; /* ids of named types by the hash of kind and name; 0 is empty */
	uint32_t mask;
};

static uint32_t hash(enum types_kind kind, const char *name)
{
	uint32_t h = 2166136261u + (uint32_t)kind;

	for (; *name; name++)
		h = (h ^ (unsigned char)*name) * 16777619u;
	return h ^ h >> 15;
}

/* The kind under which a type is indexed, -1 if it is not. */
static int kind_of(const struct btf_type *type)
{
	switch (btf_kind(type)) {
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
		return TYPES_STRUCT;
	case BTF_KIND_FUNC:
		return TYPES_FUNCTION;
	case BTF_KIND_TYPEDEF:
		return TYPES_TYPEDEF;
	case BTF_KIND_ENUM:
	case BTF_KIND_ENUM64:
		return TYPES_ENUM;
	case BTF_KIND_INT:
		return TYPES_INT;
	default:
		return -1;
	}
}

static const char *name_at(const struct types *types, uint32_t offset)
{
	const char *name = btf__name_by_offset(types->btf, offset);

	return name ? name : "";
}

static const struct btf_type *type_at(const struct types *types, uint32_t id)
{
	return btf__type_by_id(types->btf, id);
}

/* The slot of a name: that of its first type, or the empty one where it belongs. */
static uint32_t slot_of(const struct types *types, enum types_kind kind, const char *name)
{
	uint32_t at = hash(kind, name) & types->mask;
	const struct btf_type *type;

	while (types->slots[at]) {
		type = type_at(types, types->slots[at]);
		if (kind_of(type) == (int)kind && strcmp(name_at(types, type->name_off), name) == 0)
			break;
		at = (at + 1) & types->mask;
	}
	return at;
}

/* The types from `first` on. */
static int index_names(struct types *types, uint32_t first)
{
	uint32_t count = btf__type_cnt(types->btf), slots = 1024, id, at;

	while (slots < (count - first) * 2)
		slots *= 2;
	types->slots = calloc(slots, sizeof(*types->slots));
	if (!types->slots)
		return -ENOMEM;
	types->mask = slots - 1;
	for (id = first; id < count; id++) {
		const struct btf_type *type = type_at(types, id);
		const char *name = name_at(types, type->name_off);
		int kind = kind_of(type);

		if (kind < 0 || !name[0])
			continue;
		at = slot_of(types, (enum types_kind)kind, name);
		if (!types->slots[at])
			types->slots[at] = id;
	}
	return 0;
}

int types_open(const char *path, struct types **types, struct err *err)
{
	struct types *made = calloc(1, sizeof(*made));
	int rc;

	if (!made)
		return err_set(err, ENOMEM, "there is no memory for the kernel's types");
	libbpf_set_print(NULL); /* it would write to stderr */
	made->btf = path ? btf__parse_raw(path) : btf__load_vmlinux_btf();
	if (!made->btf) {
		rc = -errno;
		free(made);
		if (rc == -ENOENT || rc == -ESRCH)
			return err_set(err, ENOENT,
				"the kernel does not describe its types: "
				"it is built without CONFIG_DEBUG_INFO_BTF");
		if (rc == -EIO || rc == -EPROTO)
			rc = -EINVAL; /* it is too short, or has no header */
		return err_set(err, -rc, "the kernel's types can't be read: %s", strerror(-rc));
	}
	rc = index_names(made, 1);
	if (rc != 0) {
		types_close(made);
		return err_set(err, -rc, "there is no memory for the kernel's types");
	}
	*types = made;
	return 0;
}

/* The kernel's object of a module's types. */
static int find_module_fd(const char *module, int *fd)
{
	uint32_t id = 0;

	while (bpf_btf_get_next_id(id, &id) == 0) {
		char name[64] = "";
		struct bpf_btf_info info = { .name = (uintptr_t)name, .name_len = sizeof(name) };
		uint32_t bytes = sizeof(info);
		int found = bpf_btf_get_fd_by_id(id);

		if (found < 0)
			continue;
		if (bpf_obj_get_info_by_fd(found, &info, &bytes) == 0 && info.kernel_btf &&
			strcmp(name, module) == 0) {
			*fd = found;
			return 0;
		}
		close(found);
	}
	return -ENOENT;
}

int types_open_module(const struct types *kernel, const char *module, struct types **types, int *btf_fd,
	struct err *err)
{
	struct types *made = calloc(1, sizeof(*made));
	int rc, fd = -1;

	if (!made)
		return err_set(err, ENOMEM, "there is no memory for the types of a module");
	made->btf = btf__load_module_btf(module, kernel->btf);
	rc = made->btf ? find_module_fd(module, &fd) : -errno;
	if (rc == 0)
		rc = index_names(made, btf__type_cnt(kernel->btf));
	if (rc != 0) {
		types_close(made);
		if (fd >= 0)
			close(fd);
		return err_set(err, -rc, "the types of the module '%s' can't be read: %s", module,
			strerror(-rc));
	}
	*types = made;
	*btf_fd = fd;
	return 0;
}

void types_close(struct types *types)
{
	if (!types)
		return;
	btf__free(types->btf);
	free(types->slots);
	free(types);
}

uint32_t types_find(const struct types *types, enum types_kind kind, const char *name)
{
	return types->slots[slot_of(types, kind, name)];
}

uint32_t types_next(const struct types *types, enum types_kind kind, uint32_t after, const char **name)
{
	const uint32_t count = btf__type_cnt(types->btf);

	for (uint32_t id = after + 1; id < count; id++) {
		const struct btf_type *type = type_at(types, id);

		*name = name_at(types, type->name_off);
		if (kind_of(type) == (int)kind && (*name)[0])
			return id;
	}
	return 0;
}

/* ---- what a type is ---------------------------------------------------------------------------- */

/* Leaves out typedefs and qualifiers; the first typedef's name is the one that was declared. */
static uint32_t plain(const struct types *types, uint32_t id, const char **name)
{
	int depth;

	for (depth = 0; depth < QUALIFIERS_MAX; depth++) {
		const struct btf_type *type = type_at(types, id);

		if (!type || !(btf_is_mod(type) || btf_is_typedef(type)))
			break;
		if (btf_is_typedef(type) && name && !*name)
			*name = name_at(types, type->name_off);
		id = type->type;
	}
	return id;
}

static bool is_char(const struct types *types, uint32_t id)
{
	const struct btf_type *type = type_at(types, plain(types, id, NULL));
	const char *name;

	if (!type || !btf_is_int(type) || type->size != 1)
		return false;
	name = name_at(types, type->name_off);
	return strcmp(name, "char") == 0 || btf_int_encoding(type) & BTF_INT_CHAR;
}

static void describe_items(const struct types *types, uint32_t item, struct types_value *value)
{
	const struct btf_type *type;
	const char *name = NULL;

	value->item = item;
	value->is_char = is_char(types, item);
	type = type_at(types, plain(types, item, &name));
	value->name = name ? name : type ? name_at(types, type->name_off) : "void";
}

void types_value(const struct types *types, uint32_t id, struct types_value *value)
{
	const struct btf_type *type;
	const char *name = NULL;
	int64_t bytes;

	*value = (struct types_value){ .class = TYPES_OTHER };
	value->type = plain(types, id, &name);
	type = type_at(types, value->type);
	if (!value->type || !type) {
		value->class = TYPES_VOID;
		value->name = "void";
		return;
	}
	bytes = btf__resolve_size(types->btf, value->type);
	value->bytes = bytes > 0 ? (uint32_t)bytes : 0;
	value->name = name ? name : name_at(types, type->name_off);
	switch (btf_kind(type)) {
	case BTF_KIND_INT:
		value->class = TYPES_INTEGER;
		value->is_signed = btf_int_encoding(type) & BTF_INT_SIGNED;
		value->is_char = is_char(types, value->type);
		break;
	case BTF_KIND_ENUM:
	case BTF_KIND_ENUM64:
		value->class = TYPES_ENUMERATION;
		value->is_signed = btf_kflag(type) || btf_is_enum(type);
		break;
	case BTF_KIND_PTR:
		value->class = TYPES_POINTER;
		value->bytes = (uint32_t)btf__pointer_size(types->btf);
		describe_items(types, type->type, value);
		break;
	case BTF_KIND_ARRAY:
		value->class = TYPES_ARRAY;
		value->count = btf_array(type)->nelems;
		describe_items(types, btf_array(type)->type, value);
		break;
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
		value->class = TYPES_COMPOUND;
		break;
	}
}

/* ---- fields ------------------------------------------------------------------------------------ */

static void describe_field(const struct types *types, uint32_t type, uint32_t bit, uint32_t bits,
	struct types_field *field)
{
	uint32_t unit;

	field->type = type;
	types_value(types, type, &field->value);
	field->bits = bits;
	field->bit_shift = 0;
	field->offset = bit / 8;
	if (!bits)
		return;
	/* the unit is as large as the type and aligned to it, so that the field is within one load */
	unit = field->value.bytes ? field->value.bytes : 4;
	field->offset = bit / 8 / unit * unit;
	field->bit_shift = bit - field->offset * 8;
}

/* A member by its own name, also one of an unnamed struct within. */
static bool find_member(const struct types *types, uint32_t structure, const char *name, size_t length,
	uint32_t base_bit, int depth, struct types_field *field)
{
	const struct btf_type *type = type_at(types, plain(types, structure, NULL));
	uint32_t i;

	if (!type || !btf_is_composite(type) || depth > NESTED_MAX)
		return false;
	for (i = 0; i < btf_vlen(type); i++) {
		const struct btf_member *member = btf_members(type) + i;
		const char *theirs = name_at(types, member->name_off);
		uint32_t bit = base_bit + btf_member_bit_offset(type, i);

		if (!theirs[0]) {
			if (find_member(types, member->type, name, length, bit, depth + 1, field))
				return true;
		} else if (strncmp(theirs, name, length) == 0 && !theirs[length]) {
			describe_field(types, member->type, bit, btf_member_bitfield_size(type, i), field);
			return true;
		}
	}
	return false;
}

int types_field(const struct types *types, uint32_t structure, const char *path, struct types_field *field,
	struct err *err)
{
	struct types_field found = { .type = structure };
	const char *part = path;
	uint32_t base = 0;

	for (;;) {
		size_t length = strcspn(part, ".");

		if (!length || !find_member(types, found.type, part, length, base * 8, 0, &found)) {
			struct types_value value;

			types_value(types, found.type, &value);
			return err_set(err, ENOENT, "'%s' of this kernel has no field '%.*s'", value.name,
				(int)length, part);
		}
		if (!part[length])
			break;
		base = found.offset;
		part += length + 1;
	}
	*field = found;
	return 0;
}

int types_field_of(const struct types *types, const char *structure, const char *path,
	struct types_field *field, struct err *err)
{
	uint32_t type = types_find(types, TYPES_STRUCT, structure);

	if (!type)
		return err_set(err, ENOENT, "this kernel has no struct '%s'", structure);
	return types_field(types, type, path, field, err);
}

int types_offset(const struct types *types, const char *structure, const char *path, int *offset,
	struct err *err)
{
	struct types_field field;

	if (types_field_of(types, structure, path, &field, NULL))
		return err_set(err, EOPNOTSUPP, "this kernel has no field %s.%s", structure, path);
	*offset = (int)field.offset;
	return 0;
}

int types_offsets(const struct types *types, const struct types_row *rows, size_t count, struct err *err)
{
	int ret = 0;

	for (size_t i = 0; i < count && !ret; i++)
		ret = types_offset(types, rows[i].structure, rows[i].path, rows[i].offset, err);
	return ret;
}

int types_field_at(const struct types *types, uint32_t structure, uint32_t index, const char **name,
	struct types_field *field)
{
	const struct btf_type *type = type_at(types, plain(types, structure, NULL));
	uint32_t i;

	if (!type || !btf_is_composite(type))
		return -ENOENT;
	for (i = 0; i < btf_vlen(type); i++) {
		const struct btf_member *member = btf_members(type) + i;

		if (!name_at(types, member->name_off)[0] || index--)
			continue;
		*name = name_at(types, member->name_off);
		describe_field(types, member->type, btf_member_bit_offset(type, i),
			btf_member_bitfield_size(type, i), field);
		return 0;
	}
	return -ENOENT;
}

/* ---- functions and tracepoints ----------------------------------------------------------------- */

static void describe_param(const struct types *types, const char *name, uint32_t type,
	struct types_param *param)
{
	param->name = name;
	param->type = type;
	types_value(types, type, &param->value);
}

/* The parameters of a prototype from `first` on. */
static int describe_params(const struct types *types, uint32_t prototype, uint32_t first,
	struct types_function *function)
{
	const struct btf_type *type = type_at(types, prototype);
	uint32_t i;

	if (!type || !btf_is_func_proto(type) || btf_vlen(type) < first)
		return -ENOENT;
	if (btf_vlen(type) - first > TYPES_PARAMS_MAX)
		return -E2BIG;
	function->count = btf_vlen(type) - first;
	for (i = 0; i < function->count; i++) {
		const struct btf_param *param = btf_params(type) + first + i;

		describe_param(types, name_at(types, param->name_off), param->type, &function->params[i]);
	}
	describe_param(types, "", type->type, &function->result);
	return 0;
}

void types_declare(const struct types_value *value, const char *name, char text[TYPES_DECLARATION_MAX])
{
	const char *type = value->name && value->name[0] ? value->name : "void";
	const char *star = value->class == TYPES_POINTER ? "*" : "";
	char items[16] = "";

	if (value->class == TYPES_ARRAY)
		snprintf(items, sizeof(items), "[%u]", value->count);
	snprintf(text, TYPES_DECLARATION_MAX, "%s %s%s%s", type, star, name, items);
}

int types_function(const struct types *types, const char *name, struct types_function *function)
{
	uint32_t id = types_find(types, TYPES_FUNCTION, name);

	if (!id)
		return -ENOENT;
	function->type = id;
	return describe_params(types, type_at(types, id)->type, 0, function);
}

uint32_t types_slot(const struct types_function *function, uint32_t param)
{
	uint32_t words = 0;

	for (uint32_t i = 0; i < param && i < function->count; i++)
		words += function->params[i].value.bytes > 8 ? 2 : 1;
	return words;
}

/* btf_trace_NAME is a typedef of a pointer to the prototype; its first parameter is the caller's. */
int types_tracepoint(const struct types *types, const char *name, struct types_function *tracepoint)
{
	const struct btf_type *pointer;
	char text[128];
	uint32_t id, named;

	if (strlen(name) + sizeof("__traceiter_") > sizeof(text))
		return -ENOENT;
	memcpy(text, "btf_trace_", sizeof("btf_trace_"));
	strcat(text, name);
	id = types_find(types, TYPES_TYPEDEF, text);
	if (!id)
		return -ENOENT;
	tracepoint->type = id;
	memcpy(text, "__traceiter_", sizeof("__traceiter_"));
	strcat(text, name);
	named = types_find(types, TYPES_FUNCTION, text);
	if (named)
		return describe_params(types, type_at(types, named)->type, 1, tracepoint);
	pointer = type_at(types, type_at(types, id)->type);
	return pointer ? describe_params(types, pointer->type, 1, tracepoint) : -ENOENT;
}

/* ---- enums ------------------------------------------------------------------------------------- */

static int64_t constant_at(const struct btf_type *type, uint32_t i, uint32_t *name)
{
	if (btf_is_enum64(type)) {
		*name = btf_enum64(type)[i].name_off;
		return (int64_t)btf_enum64_value(btf_enum64(type) + i);
	}
	/* 32 bits; kernels without the flag do not say whether they are signed, and most are */
	*name = btf_enum(type)[i].name_off;
	return btf_enum(type)[i].val;
}

const char *types_enum_name(const struct types *types, uint32_t id, int64_t value)
{
	const struct btf_type *type = type_at(types, plain(types, id, NULL));
	uint32_t i, name;

	if (!type || !btf_is_any_enum(type))
		return NULL;
	for (i = 0; i < btf_vlen(type); i++)
		if (constant_at(type, i, &name) == value)
			return name_at(types, name);
	return NULL;
}

int types_enum_value(const struct types *types, uint32_t id, const char *text, int64_t *value)
{
	const struct btf_type *type = type_at(types, plain(types, id, NULL));
	uint32_t i, name;
	int64_t found;

	if (!type || !btf_is_any_enum(type))
		return -ENOENT;
	for (i = 0; i < btf_vlen(type); i++) {
		found = constant_at(type, i, &name);
		if (strcmp(name_at(types, name), text) == 0) {
			*value = found;
			return 0;
		}
	}
	return -ENOENT;
}

int types_constant(const struct types *types, const char *name, int64_t *value)
{
	uint32_t id, count = btf__type_cnt(types->btf);

	for (id = 1; id < count; id++)
		if (btf_is_any_enum(type_at(types, id)) && types_enum_value(types, id, name, value) == 0)
			return 0;
	return -ENOENT;
}
