/* SPDX-License-Identifier: MIT */
/* The table of the events of a program. See client.h. */
#include "client/client.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

/* memory for names and formats is mapped in pieces of this size */
#define TEXT_BYTES (64u << 10)

/* Memory without malloc: the program may trace its malloc. */
static void *get_pages(size_t bytes)
{
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return at == MAP_FAILED ? NULL : at;
}

struct registry_entry *registry_get(struct registry *registry, uint32_t id)
{
	uint32_t index = id - KPROF_ID_FIRST;

	if (id < KPROF_ID_FIRST || index >= registry->count)
		return NULL;
	return &registry->blocks[index / REGISTRY_BLOCK][index % REGISTRY_BLOCK];
}

/* At most TEXT_BYTES, that are never freed; aligned for any struct here. */
static void *take_memory(struct registry *registry, size_t bytes)
{
	void *taken;

	bytes = (bytes + 7) / 8 * 8;
	if (registry->text_left < bytes) {
		registry->text = get_pages(TEXT_BYTES);
		registry->text_left = registry->text ? TEXT_BYTES : 0;
	}
	if (registry->text_left < bytes)
		return NULL;
	taken = registry->text;
	registry->text += bytes;
	registry->text_left -= bytes;
	return taken;
}

static const char *copy_text(struct registry *registry, const char *text, size_t bytes)
{
	char *copy = take_memory(registry, bytes + 1);

	if (copy) {
		memcpy(copy, text, bytes);
		copy[bytes] = '\0';
	}
	return copy;
}

static uint32_t hash_text(uint32_t hash, const char *text, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		hash = (hash ^ (unsigned char)text[i]) * 16777619u; /* FNV-1a */
	return hash * 16777619u;
}

/* A provider or name as written in the macro: bare, or a string literal with its quotes. */
struct word {
	const char *text;
	size_t bytes;
};

static struct word unquote(const char *text)
{
	struct word word = {text, strlen(text)};

	if (word.bytes >= 2 && text[0] == '"' && text[word.bytes - 1] == '"') {
		word.text++;
		word.bytes -= 2;
	}
	return word;
}

static bool is_name(struct word word)
{
	if (word.bytes < 1 || word.bytes > KPROF_NAME_MAX)
		return false;
	for (size_t i = 0; i < word.bytes; i++) {
		char c = word.text[i];

		if (!(c >= 'A' && c <= 'Z') && !(c >= 'a' && c <= 'z') &&
			!(c >= '0' && c <= '9') && c != '_' && c != '.' && c != '-')
			return false;
	}
	return true;
}

bool registry_is_name(const char *text)
{
	struct word word = {text, strnlen(text, KPROF_NAME_MAX + 1)};

	return is_name(word);
}

/* The shape with argument i a string. */
static uint8_t add_string(uint8_t shape, uint32_t i, const struct args_plan *plan)
{
	uint32_t args = (shape & CLIENT_SHAPE_ARGS) - 1u;

	if (shape == CLIENT_SHAPE_ANY || args > CLIENT_SHAPE_STRINGS_MAX || plan->limited)
		return CLIENT_SHAPE_ANY;
	return (uint8_t)(shape | CLIENT_SHAPE_STRING(i));
}

/* Fills the plan from the format and compares it with the types that the compiler saw. */
static uint8_t make_plan(struct registry_entry *entry, const struct kprof_event *site)
{
	int args = args_plan(entry->format, entry->format_bytes, entry->plan);

	if (args < 0)
		return KPROF_REFUSED_FORMAT;
	/* printf allows more arguments than the format has, too */
	if (args > site->args)
		return KPROF_REFUSED_TYPES;
	entry->args = (uint8_t)args;
	entry->shape = site->kind == KPROF_SITE_BACKTRACE_ ? CLIENT_SHAPE_ANY : (uint8_t)(args + 1);
	for (int i = 0; i < args; i++) {
		uint8_t wants = entry->plan[i].kind, has = site->types[i];

		/* %p of a char * stores the address */
		if (wants != has && !(wants == ARGS_POINTER && has == ARGS_STRING))
			return KPROF_REFUSED_TYPES;
		if (wants == ARGS_STRING)
			entry->shape = add_string(entry->shape, (uint32_t)i, &entry->plan[i]);
	}
	return KPROF_REFUSED_NO;
}

static bool is_same(const struct registry_entry *entry, const struct kprof_event *site,
	struct word provider, struct word name, uint32_t hash)
{
	return entry->hash == hash && entry->kind == site->kind &&
		strlen(entry->provider) == provider.bytes && strlen(entry->name) == name.bytes &&
		memcmp(entry->provider, provider.text, provider.bytes) == 0 &&
		memcmp(entry->name, name.text, name.bytes) == 0 &&
		strcmp(entry->format, site->format) == 0;
}

static struct registry_entry *new_entry(struct registry *registry)
{
	uint32_t block = registry->count / REGISTRY_BLOCK;

	if (registry->count >= KPROF_ID_LIMIT - KPROF_ID_FIRST)
		return NULL;
	if (!registry->blocks[block])
		registry->blocks[block] = get_pages(REGISTRY_BLOCK * sizeof(struct registry_entry));
	if (!registry->blocks[block])
		return NULL;
	return &registry->blocks[block][registry->count % REGISTRY_BLOCK];
}

static bool has_name(uint8_t kind)
{
	return kind == KPROF_SITE_EVENT_ || kind == KPROF_SITE_SPAN_ || kind == KPROF_SITE_COUNTER_;
}

static struct registry_entry *make_entry(struct registry *registry, const struct kprof_event *site,
	struct word provider, struct word name, uint32_t hash)
{
	struct registry_entry *entry = new_entry(registry);
	size_t bytes = strlen(site->format);
	bool named = !has_name(site->kind) || (is_name(provider) && is_name(name));

	if (!entry)
		return NULL;
	memset(entry, 0, sizeof(*entry));
	entry->refusal = named ? KPROF_REFUSED_NO : KPROF_REFUSED_NAME;
	if (bytes > KPROF_FORMAT_MAX) {
		entry->refusal = KPROF_REFUSED_FORMAT;
		bytes = KPROF_FORMAT_MAX;
	}
	if (!named) { /* cut to what EVENTS can carry */
		provider.bytes = provider.bytes > KPROF_NAME_MAX ? KPROF_NAME_MAX : provider.bytes;
		name.bytes = name.bytes > KPROF_NAME_MAX ? KPROF_NAME_MAX : name.bytes;
	}
	entry->provider = copy_text(registry, provider.text, provider.bytes);
	entry->name = copy_text(registry, name.text, name.bytes);
	entry->format = copy_text(registry, site->format, bytes);
	if (!entry->provider || !entry->name || !entry->format)
		return NULL;
	entry->format_bytes = (uint16_t)bytes;
	entry->kind = site->kind;
	entry->hash = hash;
	entry->format_hash = args_hash(entry->format, (uint32_t)bytes);
	entry->id = (uint16_t)(KPROF_ID_FIRST + registry->count++);
	if (!entry->refusal)
		entry->refusal = make_plan(entry, site);
	entry->same_hash = registry->hash[hash % REGISTRY_HASH];
	registry->hash[hash % REGISTRY_HASH] = entry;
	return entry;
}

void registry_mark(struct registry *registry, bool *flag, bool unsent)
{
	if (unsent && !*flag)
		registry->unsent++;
	if (!unsent && *flag)
		registry->unsent--;
	*flag = unsent;
}

/*
 * A probed event is written by write_packed(). When it is probed no longer, an event that is off keeps that
 * shape: otherwise a thread that has read `on` before would write a record.
 */
static void set_shape(struct kprof_event *site, const struct registry_entry *entry)
{
	if (entry->probed)
		__atomic_store_n(&site->shape, CLIENT_SHAPE_ANY, __ATOMIC_RELAXED);
	else if (entry->on != CLIENT_OFF)
		__atomic_store_n(&site->shape, entry->shape, __ATOMIC_RELAXED);
}

static void set_site(struct kprof_event *site, const struct registry_entry *entry)
{
	const uint8_t on = entry->on;
	uint32_t flags = on == CLIENT_PROVISIONAL ? KPROF_RECORD_PROVISIONAL : 0;

	/* relaxed: a thread that reads the old value is a moment late */
	__atomic_store_n(&site->head, (uint32_t)KPROF_HEAD(0, flags, site->id, 0, 0),
		__ATOMIC_RELAXED);
	set_shape(site, entry);
	__atomic_store_n(&site->on, (uint8_t)(on | (entry->probed ? CLIENT_PROBED : 0)),
		__ATOMIC_RELEASE); /* release: the other fields before */
}

void registry_set(struct registry_entry *entry, uint8_t on)
{
	entry->on = on;
	for (struct kprof_event *site = entry->sites; site; site = site->next)
		set_site(site, entry);
}

void registry_probe(struct registry_entry *entry, bool probed)
{
	entry->probed = probed;
	registry_set(entry, entry->on);
}

/* Its entry, made if there is none. Returns NULL beyond the limits, or without memory. */
static struct registry_entry *get_entry(struct registry *registry, const struct kprof_event *site)
{
	struct word provider = unquote(site->provider), name = unquote(site->name);
	struct registry_entry *entry;
	uint32_t hash;

	hash = hash_text(2166136261u, provider.text, provider.bytes);
	hash = hash_text(hash, name.text, name.bytes);
	hash = hash_text(hash, site->format, strlen(site->format));
	for (entry = registry->hash[hash % REGISTRY_HASH]; entry; entry = entry->same_hash)
		if (is_same(entry, site, provider, name, hash))
			return entry;
	return make_entry(registry, site, provider, name, hash);
}

void registry_add(struct registry *registry, struct kprof_event *site, uint8_t on)
{
	struct registry_entry *entry;

	if (!site->format || site->version != KPROF_SITE_VERSION_ || site->entry)
		return; /* not a literal; another version of the header; listed twice */
	entry = get_entry(registry, site);
	if (!entry)
		return;
	if (!entry->sites) {
		entry->on = on;
		registry_mark(registry, &entry->new_unsent, true);
		registry_mark(registry, &entry->gone_unsent, false);
	}
	site->entry = entry;
	site->id = entry->id;
	site->shape = entry->shape;
	site->args = entry->args;
	site->next = entry->sites;
	entry->sites = site;
	if (!entry->refusal)
		set_site(site, entry);
}

void registry_remove(struct registry *registry, struct kprof_event *site)
{
	struct registry_entry *entry = site->entry;
	struct kprof_event **link;

	if (!entry)
		return;
	__atomic_store_n(&site->on, CLIENT_OFF, __ATOMIC_RELAXED);
	site->entry = NULL;
	for (link = &entry->sites; *link; link = &(*link)->next)
		if (*link == site) {
			*link = site->next;
			break;
		}
	if (!entry->sites) {
		entry->on = CLIENT_OFF;
		entry->probed = false;
		registry_mark(registry, &entry->gone_unsent, true);
	}
}

/* A use that registry_define() made. */
struct defined_site {
	struct kprof_event site; /* reserved32 is SITE_DEFINED */
	unsigned char types[KPROF_ARGS_MAX + 1];
};
#define SITE_DEFINED 1u

struct kprof_event *registry_define(
	struct registry *registry, const struct kprof_event *site, uint8_t on)
{
	struct registry_entry *entry = get_entry(registry, site);
	struct defined_site *defined;

	if (!entry)
		return NULL;
	for (struct kprof_event *known = entry->sites; known; known = known->next)
		if (known->reserved32 == SITE_DEFINED)
			return known;
	defined = take_memory(registry, sizeof(*defined));
	if (!defined)
		return NULL;
	defined->site = *site;
	memcpy(defined->types, site->types, site->args);
	defined->types[site->args] = '\0';
	defined->site.provider = entry->provider;
	defined->site.name = entry->name;
	defined->site.format = entry->format;
	defined->site.types = defined->types;
	defined->site.reserved32 = SITE_DEFINED;
	registry_add(registry, &defined->site, on);
	return &defined->site;
}
