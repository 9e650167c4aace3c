/* SPDX-License-Identifier: MIT */
/*
 * The checker: units. The probes of a rule are found on this machine, those of a kind become one unit, and
 * each of them one of its own where its text means something else than the others'.
 */
#include <errno.h>
#include <glib.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/nearest.h"
#include "probes/check_state.h"
#include "probes/tables.h"
#include "probes/targets.h"
#include "sys/lockdown.h"

/* The probes of one rule while they are found. */
struct finding {
	struct check *check;
	const struct ast_probe *probe;
	struct ast_target **last;
	uint32_t found, taken; /* of this probe: all, and those that are targets */
	GHashTable *targets;   /* their kinds and names as text; NULL if the rule has one probe */
};

static bool is_function(const struct ast_probe *probe)
{
	return probe->kind == PROBE_KPROBE || probe->kind == PROBE_KRETPROBE || probe->kind == PROBE_FENTRY ||
	       probe->kind == PROBE_FEXIT;
}

/* ---- targets ----------------------------------------------------------------------------------- */

static const char *target_text(struct finding *finding, const char *system, const char *name)
{
	const struct ast_probe *probe = finding->probe;
	char text[3 * AST_NAME_MAX + 16];

	if (strcmp(probe->name, name) == 0 && strcmp(probe->system, system) == 0)
		return probe->text;
	snprintf(text, sizeof(text), "%s:%s%s%s", kind_name(probe->kind), system, *system ? ":" : "", name);
	return ast_copy_text(finding->check->ast, text, strlen(text));
}

/* Whether no other probe of the rule has found it. What the kernel does not list is known by its text. */
static bool is_new(struct finding *finding, const struct ast_target *target)
{
	const enum ast_probe_kind kind = target->probe->kind;
	const bool is_listed = kind == PROBE_TRACEPOINT || kind == PROBE_RAWTRACEPOINT ||
		is_function(target->probe);

	if (!finding->targets)
		return true;
	return g_hash_table_add(finding->targets, is_listed ?
		g_strdup_printf("%d %s:%s+%" PRIu64, kind, target->system, target->name,
			target->probe->offset) :
		g_strdup_printf("%d %s", kind, target->text));
}

/* targets_each() */
static int add_target(void *arg, const char *system, const char *name)
{
	struct finding *finding = arg;
	struct check *check = finding->check;
	struct ast_target *target;

	finding->found++;
	/* more are only counted, for the sentence */
	if (check->ast->target_count == AST_TARGETS_MAX)
		return 0;
	target = ast_new(check->ast, sizeof(*target));
	if (!target)
		return check_no_memory(check);
	target->probe = finding->probe;
	target->text = target_text(finding, system, name);
	target->system = ast_copy_text(check->ast, system, strlen(system));
	target->name = ast_copy_text(check->ast, name, strlen(name));
	if (!target->text || !target->system || !target->name)
		return check_no_memory(check);
	finding->taken++;
	if (!is_new(finding, target))
		return 0;
	target->number = check->ast->target_count++;
	*finding->last = target;
	finding->last = &target->next;
	return 0;
}

/* A name without a pattern need not be known: its program may come later. */
static int find_events(struct finding *finding)
{
	const struct check_events *events = finding->check->options->events;
	const struct ast_probe *probe = finding->probe;

	if (!targets_is_pattern(probe->system) && !targets_is_pattern(probe->name))
		return add_target(finding, probe->system, probe->name);
	return events ? events->each(events->arg, probe->system, probe->name, add_target, finding) : -ENOENT;
}

static int find_targets(struct finding *finding)
{
	const struct targets *targets = finding->check->options->targets;
	const struct ast_probe *probe = finding->probe;

	switch (probe->kind) {
	case PROBE_TRACEPOINT:
		return targets_tracepoints(targets, probe->system, probe->name, add_target, finding);
	case PROBE_RAWTRACEPOINT:
		return targets_rawtracepoints(targets, probe->name, add_target, finding);
	case PROBE_KPROBE:
	case PROBE_KRETPROBE:
		return targets_functions(targets, probe->name, false, add_target, finding);
	case PROBE_FENTRY:
	case PROBE_FEXIT:
		return targets_functions(targets, probe->name, true, add_target, finding);
	case PROBE_EVENT:
		return find_events(finding);
	default:
		return add_target(finding, probe->system, probe->name);
	}
}

/* ---- what is not there ------------------------------------------------------------------------- */

static int offer_name(void *arg, const char *system, const char *name)
{
	(void)system;
	nearest_offer(arg, name);
	return 0;
}

/* Of the functions those that begin with the same letter: to compare all takes 0.2 s. */
static const char *nearest_names(const struct check *check, const struct ast_probe *probe, char *text,
	size_t size)
{
	const struct targets *targets = check->options->targets;
	const char functions[] = { probe->name[0], '*', '\0' };
	struct nearest nearest;

	text[0] = '\0';
	if (targets_is_pattern(probe->name) || targets_is_pattern(probe->system) ||
		probe->kind == PROBE_EVENT)
		return text;
	nearest_init(&nearest, probe->name);
	if (probe->kind == PROBE_TRACEPOINT)
		targets_tracepoints(targets, probe->system, "*", offer_name, &nearest);
	else if (probe->kind == PROBE_RAWTRACEPOINT)
		targets_rawtracepoints(targets, "*", offer_name, &nearest);
	else
		targets_functions(targets, functions, false, offer_name, &nearest);
	return nearest_text(&nearest, text, size);
}

static void describe_missing(const struct finding *finding, int ret, char *text, size_t size)
{
	const struct ast_probe *probe = finding->probe;

	if (ret)
		snprintf(text, size, "%s probes can't be found on this machine: %s", kind_name(probe->kind),
			finding->check->why_no_types && probe->kind != PROBE_TRACEPOINT ?
				finding->check->why_no_types : strerror(-ret));
	else if (targets_is_pattern(probe->name) || targets_is_pattern(probe->system))
		snprintf(text, size, "%s %.200s", probe->kind == PROBE_EVENT ?
			"no program has an event that matches" : "nothing in this kernel matches",
			probe->text);
	else if (is_function(probe) && lockdown_is_confidential(NULL))
		snprintf(text, size,
			"the types of the kernel have no %.80s, and kernel lockdown (confidentiality) "
			"forbids its list of all functions; " LOCKDOWN_REMEDY, probe->text);
	else
		snprintf(text, size, "this kernel has no %.200s", probe->text);
}

static int warn(struct check *check, const struct ast_probe *probe, const char *text)
{
	struct ast_warning **last = &check->ast->warnings, *warning = ast_new(check->ast, sizeof(*warning));

	if (warning)
		warning->text = ast_copy_text(check->ast, text, strlen(text));
	if (!warning || !warning->text)
		return check_no_memory(check);
	warning->place = probe->place;
	while (*last)
		last = &(*last)->next;
	*last = warning;
	return 0;
}

static int fail_too_many(const struct finding *finding)
{
	const struct check *check = finding->check;

	return ast_fail(check->ast, finding->probe->place, E2BIG, check->err,
		"'%s' has %u probes, %u more than are left: a program has at most %u", finding->probe->text,
		finding->found, finding->found - finding->taken, AST_TARGETS_MAX);
}

/* All of a rule. Some may be missing: programs name the same function as several kernels call it. */
static int find_all(struct check *check, const struct ast_rule *rule, struct ast_target **first)
{
	g_autoptr(GHashTable) targets = rule->probes->next ?
		g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL) : NULL;
	struct finding finding = { .check = check, .last = first, .targets = targets };
	const struct ast_probe *missing = NULL;
	char why[ERR_TEXT_MAX / 2], first_why[ERR_TEXT_MAX / 2] = "", near[NEAREST_TEXT_MAX];
	int ret;

	for (finding.probe = rule->probes; finding.probe; finding.probe = finding.probe->next) {
		finding.found = finding.taken = 0;
		ret = find_targets(&finding);
		if (ret == -E2BIG || ret == -ENOMEM)
			return ret;
		if (finding.found > finding.taken)
			return fail_too_many(&finding);
		if (finding.found)
			continue;
		describe_missing(&finding, ret, why, sizeof(why));
		if (!missing) {
			missing = finding.probe;
			strcpy(first_why, why);
		}
		ret = warn(check, finding.probe, why);
		if (ret)
			return ret;
	}
	if (!*first)
		return ast_fail(check->ast, missing->place,
			is_function(missing) && lockdown_is_confidential(NULL) ? EOPNOTSUPP : ENOENT,
			check->err, "%s%s", first_why,
			nearest_names(check, missing, near, sizeof(near)));
	return 0;
}

/* ---- copies of statements ---------------------------------------------------------------------- */

static struct ast_expr *copy_expr(struct ast *ast, const struct ast_expr *expr, bool *failed);

static struct ast_expr *copy_list(struct ast *ast, const struct ast_expr *expr, bool *failed)
{
	struct ast_expr *first = NULL, **last = &first;

	for (; expr && !*failed; expr = expr->next) {
		*last = copy_expr(ast, expr, failed);
		if (*last)
			last = &(*last)->next;
	}
	return first;
}

static struct ast_expr *copy_expr(struct ast *ast, const struct ast_expr *expr, bool *failed)
{
	struct ast_expr *copy = expr ? ast_new(ast, sizeof(*copy)) : NULL;

	if (!copy) {
		*failed |= expr != NULL;
		return NULL;
	}
	*copy = *expr;
	copy->next = NULL;
	copy->left = copy_expr(ast, expr->left, failed);
	copy->right = copy_expr(ast, expr->right, failed);
	copy->third = copy_expr(ast, expr->third, failed);
	copy->args = copy_list(ast, expr->args, failed);
	return copy;
}

static struct ast_statement *copy_statements(struct ast *ast, const struct ast_statement *statement,
	bool *failed)
{
	struct ast_statement *first = NULL, **last = &first;

	for (; statement && !*failed; statement = statement->next) {
		*last = ast_new(ast, sizeof(**last));
		if (!*last) {
			*failed = true;
			break;
		}
		**last = *statement;
		(*last)->next = NULL;
		(*last)->target = copy_expr(ast, statement->target, failed);
		(*last)->value = copy_expr(ast, statement->value, failed);
		(*last)->body = copy_statements(ast, statement->body, failed);
		(*last)->otherwise = copy_statements(ast, statement->otherwise, failed);
		last = &(*last)->next;
	}
	return first;
}

/* ---- what depends on the target ---------------------------------------------------------------- */

/* args.NAME, and retval where BTF says what a function returns. */
static bool expr_depends(const struct ast_expr *expr, bool on_result)
{
	if (!expr)
		return false;
	if (expr->kind == AST_ARGUMENT || (on_result && expr->kind == AST_NAME && strcmp(expr->text,
		"retval") == 0))
		return true;
	for (const struct ast_expr *arg = expr->args; arg; arg = arg->next)
		if (expr_depends(arg, on_result))
			return true;
	return expr_depends(expr->left, on_result) || expr_depends(expr->right, on_result) ||
		expr_depends(expr->third, on_result);
}

static bool statements_depend(const struct ast_statement *statement, bool on_result)
{
	for (; statement; statement = statement->next)
		if (expr_depends(statement->target, on_result) || expr_depends(statement->value,
			on_result) ||
			statements_depend(statement->body, on_result) ||
			statements_depend(statement->otherwise, on_result))
			return true;
	return false;
}

/* ---- units ------------------------------------------------------------------------------------- */

static int add_unit(struct check *check, const struct ast_rule *rule, struct ast_target *targets,
	struct ast_unit ***last)
{
	struct ast_unit *unit = ast_new(check->ast, sizeof(*unit));
	bool failed = false;

	if (!unit)
		return check_no_memory(check);
	unit->rule = rule;
	unit->number = check->ast->unit_count++;
	unit->kind = targets->probe->kind;
	unit->targets = targets;
	for (; targets; targets = targets->next)
		unit->target_count++;
	unit->filter = copy_expr(check->ast, rule->filter, &failed);
	unit->body = copy_statements(check->ast, rule->body, &failed);
	if (failed)
		return check_no_memory(check);
	**last = unit;
	*last = &unit->next;
	return 0;
}

/* Takes those of the first one's kind off the list, or only the first. */
static struct ast_target *take_targets(struct ast_target **list, bool only_first)
{
	struct ast_target *first = *list, **taken = &first->next, *rest = NULL, **left = &rest;

	for (struct ast_target *target = first->next, *next; target; target = next) {
		next = target->next;
		target->next = NULL;
		if (!only_first && target->probe->kind == first->probe->kind) {
			*taken = target;
			taken = &target->next;
		} else {
			*left = target;
			left = &target->next;
		}
	}
	*taken = NULL;
	*list = rest;
	return first;
}

static int add_units(struct check *check, const struct ast_rule *rule, struct ast_unit ***last)
{
	struct ast_target *list = NULL;
	int ret = find_all(check, rule, &list);

	while (!ret && list) {
		const bool on_result = list->probe->kind == PROBE_FEXIT ||
			list->probe->kind == PROBE_KRETPROBE;
		const bool depends = expr_depends(rule->filter, on_result) ||
			statements_depend(rule->body, on_result);

		ret = add_unit(check, rule, take_targets(&list, depends), last);
	}
	return ret;
}

int check_units(struct check *check)
{
	struct ast_unit **last = &check->ast->units;
	int ret = 0;

	for (const struct ast_rule *rule = check->ast->rules; !ret && rule; rule = rule->next)
		ret = add_units(check, rule, &last);
	return ret;
}
