/* SPDX-License-Identifier: MIT */
/* Boots of machines, and how their clocks differ. See boots.h. */
#include "capture/boots.h"

#include <glib.h>
#include <stdbool.h>
#include <string.h>

struct boots_section {
	struct kprof_rec_host host; /* zeros: not known */
	bool has_clock;
	uint64_t wall_ns; /* when the section's clock was 0 */
	uint32_t boot;
};

struct boots {
	GArray *sections; /* struct boots_section */
	GArray *walls;	  /* uint64_t: of each boot the wall clock when its clock was 0; 0: not known */
	uint64_t first_ns; /* the least of them that is known, else 0 */
};

struct boots *boots_create(void)
{
	struct boots *boots = g_new0(struct boots, 1);

	boots->sections = g_array_new(FALSE, TRUE, sizeof(struct boots_section));
	boots->walls = g_array_new(FALSE, TRUE, sizeof(uint64_t));
	return boots;
}

void boots_destroy(struct boots *boots)
{
	if (!boots)
		return;
	g_array_free(boots->sections, TRUE);
	g_array_free(boots->walls, TRUE);
	g_free(boots);
}

static struct boots_section *section_at(struct boots *boots, uint32_t section)
{
	if (boots->sections->len <= section)
		g_array_set_size(boots->sections, section + 1); /* cleared */
	return &g_array_index(boots->sections, struct boots_section, section);
}

void boots_add_clock(struct boots *boots, uint32_t section, const struct kprof_rec_clock *clock)
{
	struct boots_section *at = section_at(boots, section);

	at->has_clock = true;
	at->wall_ns = clock->wall_ns - clock->time_ns;
}

void boots_add_host(struct boots *boots, uint32_t section, const struct kprof_rec_host *host)
{
	section_at(boots, section)->host = *host;
}

static guint hash_host(gconstpointer key)
{
	const unsigned char *bytes = key;
	guint hash = 5381;

	for (size_t i = 0; i < sizeof(struct kprof_rec_host); i++)
		hash = hash * 33 + bytes[i];
	return hash;
}

static gboolean equal_host(gconstpointer a, gconstpointer b)
{
	return memcmp(a, b, sizeof(struct kprof_rec_host)) == 0;
}

static void number_section(struct boots *boots, GHashTable *known, struct boots_section *section)
{
	gpointer found;
	uint64_t *wall;

	if (!g_hash_table_lookup_extended(known, &section->host, NULL, &found)) {
		found = GUINT_TO_POINTER(boots->walls->len);
		g_hash_table_insert(known, &section->host, found);
		g_array_set_size(boots->walls, boots->walls->len + 1); /* cleared */
	}
	section->boot = GPOINTER_TO_UINT(found);
	wall = &g_array_index(boots->walls, uint64_t, section->boot);
	/* of several sections the first: a wall clock may be set meanwhile */
	if (*wall == 0 && section->has_clock)
		*wall = section->wall_ns;
}

void boots_finish(struct boots *boots)
{
	GHashTable *known = g_hash_table_new(hash_host, equal_host);

	for (guint i = 0; i < boots->sections->len; i++)
		number_section(boots, known, &g_array_index(boots->sections, struct boots_section, i));
	g_hash_table_destroy(known);
	for (guint i = 0; i < boots->walls->len; i++) {
		uint64_t wall = g_array_index(boots->walls, uint64_t, i);

		if (wall && (!boots->first_ns || wall < boots->first_ns))
			boots->first_ns = wall;
	}
}

uint32_t boots_count(const struct boots *boots)
{
	return MAX(boots->walls->len, 1);
}

uint32_t boots_of(const struct boots *boots, uint32_t section)
{
	return section < boots->sections->len
		       ? g_array_index(boots->sections, struct boots_section, section).boot : 0;
}

uint64_t boots_shift_ns(const struct boots *boots, uint32_t section)
{
	uint32_t boot = boots_of(boots, section);
	uint64_t wall = boot < boots->walls->len ? g_array_index(boots->walls, uint64_t, boot) : 0;

	return boots_count(boots) > 1 && wall ? wall - boots->first_ns : 0;
}

uint64_t boots_wall_ns(const struct boots *boots)
{
	return boots->first_ns;
}
