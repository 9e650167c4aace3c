/* SPDX-License-Identifier: MIT */
/* The calls of kprof/typed.h: events that are defined at run time, and values with their types. */
#include "client/client.h"

#include <kprof/typed.h>

#include <errno.h>
#include <string.h>

_Static_assert(KPROF_VALUE_INT == KPROF_TYPE_INT_ && KPROF_VALUE_DOUBLE == KPROF_TYPE_DOUBLE_ &&
		KPROF_VALUE_STRING == KPROF_TYPE_STRING_ && KPROF_VALUE_POINTER == KPROF_TYPE_POINTER_,
	"values have the types of kprof.h");
_Static_assert(KPROF_TYPE_INT_ == ARGS_INT && KPROF_TYPE_DOUBLE_ == ARGS_DOUBLE &&
		KPROF_TYPE_STRING_ == ARGS_STRING && KPROF_TYPE_POINTER_ == ARGS_POINTER,
	"and the kinds of plans");
_Static_assert(sizeof(struct kprof_value) == 16, "bindings of other languages have this layout");

/* ---- defining -------------------------------------------------------------------------------- */

/* The types of the arguments of a format. Returns false if it is not valid. */
static bool find_types(const char *format, unsigned char types[KPROF_ARGS_MAX + 1])
{
	struct args_plan plan[KPROF_ARGS_MAX];
	size_t bytes = strnlen(format, KPROF_FORMAT_MAX + 1);
	int args = bytes <= KPROF_FORMAT_MAX ? args_plan(format, (uint32_t)bytes, plan) : -E2BIG;

	memset(types, 0, KPROF_ARGS_MAX + 1);
	for (int i = 0; i < args; i++)
		types[i] = plan[i].kind;
	return args >= 0;
}

static int define(int kind, const char *provider, const char *name, const char *format,
	struct kprof_event **event)
{
	unsigned char types[KPROF_ARGS_MAX + 1];
	struct kprof_event site = {
		.kind = (uint8_t)kind,
		.version = KPROF_SITE_VERSION_,
		.provider = provider,
		.name = name,
		.format = format,
		.types = types,
	};
	struct kprof_event *defined = NULL;
	struct client_signals signals;
	int saved = errno;

	if (!provider || !name || !format || !registry_is_name(provider) || !registry_is_name(name) ||
		!find_types(format, types))
		return -EINVAL;
	site.args = (uint8_t)strlen((const char *)types);
	client_lock(&signals);
	if (module_begin()) {
		defined = registry_define(&client.registry, &site, module_first_state());
		module_go_on();
	}
	client_unlock(&signals);
	errno = saved;
	if (!defined)
		return -ENOMEM;
	*event = defined;
	return 0;
}

int kprof_typed_define(
	const char *provider, const char *name, const char *format, struct kprof_event **event)
{
	return define(KPROF_SITE_EVENT_, provider, name, format, event);
}

int kprof_typed_span(
	const char *provider, const char *name, const char *format, struct kprof_event **event)
{
	return define(KPROF_SITE_SPAN_, provider, name, format, event);
}

int kprof_typed_counter(const char *provider, const char *name, enum kprof_value_type type,
	struct kprof_event **event)
{
	if (type != KPROF_VALUE_INT && type != KPROF_VALUE_DOUBLE)
		return -EINVAL;
	return define(KPROF_SITE_COUNTER_, provider, name,
		type == KPROF_VALUE_INT ? KPROF_COUNTER_FORMAT_(1ll) : KPROF_COUNTER_FORMAT_(1.0), event);
}

/* ---- writing --------------------------------------------------------------------------------- */

static bool is_on(const struct kprof_event *event)
{
	return __atomic_load_n(&event->on, __ATOMIC_RELAXED) != CLIENT_OFF;
}

int kprof_typed_is_on(const struct kprof_event *event)
{
	return is_on(event);
}

/* Returns false if the values are not those of the format. */
static inline bool get_words(const struct kprof_event *event, const struct kprof_value *values,
	size_t count, uint64_t words[KPROF_ARGS_MAX])
{
	if (count != event->args)
		return false;
	for (size_t i = 0; i < count; i++) {
		if (values[i].type != event->types[i] || values[i].reserved)
			return false;
		words[i] = values[i].as.word;
	}
	return true;
}

int kprof_typed_write(struct kprof_event *event, const struct kprof_value *values, size_t count)
{
	uint64_t words[KPROF_ARGS_MAX];

	if (!is_on(event))
		return 0;
	/* without its end it would be shown as an open span */
	if (event->kind == KPROF_SITE_SPAN_ || !get_words(event, values, count, words))
		return -EINVAL;
	if (count == 1)
		kprof_write_1_(event, words[0]);
	else if (count == 2)
		kprof_write_2_(event, words[0], words[1]);
	else
		kprof_write_(event, words);
	return 0;
}

int kprof_typed_span_begin(struct kprof_event *event, const struct kprof_value *values,
	size_t count, struct kprof_span *span)
{
	uint64_t words[KPROF_ARGS_MAX];

	*span = (struct kprof_span){ 0 };
	if (!is_on(event))
		return 0;
	if (event->kind != KPROF_SITE_SPAN_ || !get_words(event, values, count, words))
		return -EINVAL;
	kprof_span_begin_(event, words, span);
	return 0;
}

void kprof_typed_span_end(struct kprof_span *span)
{
	kprof_span_end_of_(span);
}

void kprof_puts(const char *text)
{
	/* relaxed: if it is read too early, the library is only begun once more */
	if (__builtin_expect(!__atomic_load_n(&client.puts_begun, __ATOMIC_RELAXED), 0)) {
		struct client_signals signals;
		int saved = errno;

		client_lock(&signals);
		if (module_begin())
			module_go_on();
		__atomic_store_n(&client.puts_begun, true, __ATOMIC_RELAXED);
		client_unlock(&signals);
		errno = saved;
	}
	print_puts(text);
}
