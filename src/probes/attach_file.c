/* SPDX-License-Identifier: MIT */
/* Programs at functions and static probes of programs and libraries. */
#include "probes/attach_state.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "bpf/file_links.h"
#include "probes/find_file.h"
#include "probes/stepped.h"
#include "sys/proc.h"

/* Functions of a file that a pattern matches: 5 to 10 s until they are attached. */
#define FILE_PLACES_MAX 512u

/* The places of a file that a target is attached to. */
struct file_places {
	struct attaching *attaching;
	const char *path;
	GArray *found; /* struct attach_place with texts of its own */
	uint32_t more; /* than FILE_PLACES_MAX */
};

static void free_place(gpointer data)
{
	g_free((char *)((struct attach_place *)data)->arguments);
}

/* A static probe may be compiled into several functions; the same function may be in two tables. */
static bool is_there(const struct file_places *places, uint64_t offset)
{
	for (guint i = 0; i < places->found->len; i++)
		if (g_array_index(places->found, struct attach_place, i).offset == offset)
			return true;
	return false;
}

static int add_place(void *arg, const struct attach_place *place)
{
	struct file_places *places = arg;
	struct attaching *attaching = places->attaching;
	const uint64_t offset = attaching->target->probe->offset;
	struct attach_place copy = *place;

	copy.offset += offset;
	if (copy.address)
		copy.address += offset;
	if (is_there(places, copy.offset))
		return 0;
	/* more are only counted, for the sentence */
	if (places->found->len == FILE_PLACES_MAX) {
		places->more++;
		return 0;
	}
	/* the first one is counted as the target */
	attaching->attached->probes += places->found->len != 0;
	copy.name = NULL;
	copy.arguments = g_strdup(place->arguments);
	g_array_append_val(places->found, copy);
	return 0;
}

static int no_hook(struct err *err)
{
	return err_set(err, EOPNOTSUPP, "functions of files are not known here");
}

static int find_places(struct file_places *places, int *fd)
{
	struct attaching *attaching = places->attaching;
	const struct attach_hooks *hooks = attaching->machine->hooks;
	const struct ast_probe *probe = attaching->target->probe;
	const bool is_static = probe->kind == PROBE_USDT, is_named = probe->name && probe->name[0];
	g_autofree char *full = g_strdup_printf("%s:%s", probe->system[0] ? probe->system : "*", probe->name);
	const struct attach_file file = { .path = places->path,
		.pattern = is_static ? full : is_named ? probe->name : "",
		.wanted = is_static ? ATTACH_STATIC_PROBES : ATTACH_FUNCTIONS, .pid = probe->pid,
		.each = add_place, .arg = places };
	const struct attach_place plain = { .name = "", .arguments = "" };
	int ret;

	if (!hooks || !hooks->functions || !attaching->attached->file_links)
		return no_hook(attaching->err);
	ret = hooks->functions(hooks->arg, &file, fd, attaching->err);
	if (!ret && !is_named)
		ret = add_place(places, &plain);
	if (!ret && places->more)
		ret = ast_fail(attaching->env->ast, probe->place, E2BIG, attaching->err,
			"'%s' has %u such functions, each of which takes some 10 ms to attach: a probe has "
			"at most %u", places->path, FILE_PLACES_MAX + places->more, FILE_PLACES_MAX);
	if (!ret && !places->found->len)
		ret = ast_fail(attaching->env->ast, probe->place, ENOENT, attaching->err,
			"'%s' has no %s '%s'", places->path, is_static ? "static probe" : "function",
			is_static && probe->system[0] ? full : probe->name);
	return ret;
}

/* ---- uaddr() ----------------------------------------------------------------------------------- */

static int take_symbol(void *arg, const struct attach_place *place)
{
	*(uint64_t *)arg = place->address;
	return 1;
}

/* gen_env.symbol */
static int find_symbol(void *arg, const char *name, uint64_t *address, struct err *err)
{
	const struct file_places *places = arg;
	const struct attach_hooks *hooks = places->attaching->machine->hooks;
	const struct attach_file file = { .path = places->path, .pattern = name, .wanted = ATTACH_SYMBOLS,
		.pid = places->attaching->target->probe->pid, .each = take_symbol, .arg = address };
	int fd = -1, ret = hooks->functions(hooks->arg, &file, &fd, err);

	if (fd >= 0)
		close(fd);
	if (!ret)
		ret = err_set(err, ENOENT, "'%s' has no symbol '%s'", places->path, name);
	return ret < 0 ? ret : 0;
}

/* ---- attaching --------------------------------------------------------------------------------- */

/* Whether a program that was made for a place does for another one. */
static bool does_for(const struct gen_env *env, const struct attach_place *made,
	const struct attach_place *place)
{
	return !(env->used_arguments && strcmp(made->arguments, place->arguments) != 0) &&
		!(env->used_address && made->address != place->address);
}

static bool is_stepped(int file, uint64_t offset)
{
	uint8_t code[STEPPED_BYTES];
	const ssize_t bytes = pread(file, code, sizeof(code), (off_t)offset);

	return bytes > 0 && stepped_is_likely(code, (size_t)bytes);
}

/* `file` is the one whose functions were read, also if its path has another one now. */
static int attach_places(struct file_places *places, int file)
{
	const struct program_spec spec = { .name = "kp_probe", .type = BPF_PROG_TYPE_KPROBE };
	struct attaching *attaching = places->attaching;
	struct file_links_place at = { .file = file, .at_return = attaching->unit->kind == PROBE_URETPROBE,
		.pid = attaching->target->probe->pid ? attaching->target->probe->pid : -1 };
	struct attached *attached = attaching->attached;
	struct gen_source source = attach_source(attaching, GEN_REGISTERS);
	const struct attach_place *made = NULL;
	int program = -1, ret = 0;

	for (guint i = 0; i < places->found->len && !ret; i++) {
		const struct attach_place *place = &g_array_index(places->found, struct attach_place, i);

		if (!made || !does_for(attaching->env, made, place)) {
			made = place;
			source.arguments = place->arguments;
			source.address = place->address;
			ret = attach_load(attaching, &source, &spec, &program);
		}
		at.offset = place->offset;
		at.counter = place->counter;
		if (!ret)
			ret = file_links_attach(attached->file_links, attached->group, program, &at,
				attaching->err);
		if (ret == -ETIMEDOUT)
			ret = -EBUSY; /* the group is detached */
		if (ret)
			break;
		attached->in_files++;
		attached->stepped += is_stepped(file, place->offset);
	}
	return ret;
}

static char *program_of(int pid)
{
	char path[PATH_MAX];

	return proc_exe(NULL, pid, path, sizeof(path)) ? g_strdup(path) : NULL;
}

static int attach_in(struct attaching *attaching, const char *path)
{
	g_autoptr(GArray) found = g_array_new(FALSE, FALSE, sizeof(struct attach_place));
	struct file_places places = { .attaching = attaching, .path = path, .found = found };
	struct gen_env *env = attaching->env;
	int file = -1, ret;

	g_array_set_clear_func(found, free_place);
	env->symbol = find_symbol;
	env->symbol_arg = &places;
	env->used_arguments = env->used_address = false;
	ret = find_places(&places, &file);
	if (!ret)
		ret = attach_places(&places, file);
	env->symbol = NULL;
	if (file >= 0)
		close(file);
	return ret;
}

int attach_in_file(struct attaching *attaching)
{
	const struct ast_probe *probe = attaching->target->probe;
	const struct ast *ast = attaching->env->ast;
	g_autofree char *path = probe->pid ? program_of(probe->pid) : find_file(probe->path);
	g_autofree char *moved = path && !probe->pid ? find_file_moved(path) : NULL;
	struct err again = { "" }, *const err = attaching->err;
	int ret;

	if (!path && probe->pid)
		return ast_fail(ast, probe->place, ENOENT, err, "there is no process %d with a program",
			probe->pid);
	if (!path)
		return ast_fail(ast, probe->place, ENOENT, err, "there is no program or library '%s'",
			probe->path);
	ret = attach_in(attaching, path);
	if (ret != -ENOENT || !moved)
		return ret;
	attaching->err = &again;
	ret = attach_in(attaching, moved);
	attaching->err = err;
	return ret == -ENOENT || !ret ? ret : err_set(err, -ret, "%s", again.text);
}
