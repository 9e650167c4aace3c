/* SPDX-License-Identifier: MIT */
/*
 * Fuzz target: what programs say to the server (src/producers/connection.c), in any order and with any
 * bytes.
 *
 * The input is a list of steps: a packet as it is, or with its size put right; a change of the
 * switches; or a write that waits for the program, which answers or does not. Invariants: what the
 * program is told is well-formed, comes to an end, and is about ids that it spoke of; an event that
 * it has been told of is what the switches say; and when the program is gone, nothing of it is
 * left.
 */
#include "tests/fuzz/fuzz.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tests/race/fixture.h"
#include "producers/catalog.h"
#include "producers/producers.h"
#include "producers/connection.h"

#define POOL_BYTES 65536u

enum step_kind { STEP_RAW, STEP_SIZED, STEP_SWITCH, STEP_POOL, STEP_SYNC, STEP_KINDS };

struct step {
	uint8_t kind; /* modulo STEP_KINDS */
	uint8_t value;
	uint16_t bytes; /* that follow */
};

struct world {
	struct catalog *catalog;
	struct producers *producers;
	struct connection connection;
	uint8_t on[KPROF_ID_LIMIT]; /* what the program believes; 2: nothing */
	unsigned int refused;
	uint64_t round;	      /* the newest */
	uint64_t asked;	      /* the number of the last SYNC */
	bool has_sent_mark;
};

static void on_refused(void *arg, const struct connection *connection, const char *reason)
{
	struct world *world = arg;

	FUZZ_CHECK(connection == &world->connection && *reason && strlen(reason) < ERR_TEXT_MAX);
	world->refused++;
}

static int on_mark(void *arg, const struct connection *connection, const char *text, size_t bytes)
{
	struct world *world = arg;

	FUZZ_CHECK(connection == &world->connection && bytes > 0 && bytes <= KPROF_MARK_MAX);
	FUZZ_CHECK(!memchr(text, '\0', bytes) && !memchr(text, '\n', bytes));
	return text[0] == 'e' ? -EDQUOT : 0;
}

static void hear_switch(struct world *world, const char *packet, size_t bytes)
{
	struct kprof_packet_switch head;

	memcpy(&head, packet, sizeof(head));
	FUZZ_CHECK(head.count > 0 && bytes == sizeof(head) + head.count);
	FUZZ_CHECK(head.first < KPROF_ID_LIMIT && head.count <= KPROF_ID_LIMIT - head.first);
	for (uint32_t i = 0; i < head.count; i++) {
		FUZZ_CHECK((uint8_t)packet[sizeof(head) + i] <= 1);
		world->on[head.first + i] = (uint8_t)packet[sizeof(head) + i];
	}
}

static void hear_sync(struct world *world, const char *packet, size_t bytes)
{
	struct kprof_packet_sync sync;

	FUZZ_CHECK(bytes == sizeof(sync));
	memcpy(&sync, packet, sizeof(sync));
	FUZZ_CHECK(sync.number == world->round && sync.number > world->asked);
	world->asked = sync.number;
}

/* All that the program is told, as by a socket with room. */
static void hear_marked(struct world *world, const char *packet, size_t bytes)
{
	struct kprof_packet_marked marked;

	FUZZ_CHECK(bytes == sizeof(marked) && world->has_sent_mark);
	memcpy(&marked, packet, sizeof(marked));
	FUZZ_CHECK(marked.error == 0 || marked.error == EINVAL || marked.error == EMSGSIZE ||
		marked.error == EDQUOT);
	world->has_sent_mark = false; /* one answer for each */
}

static void hear_all(struct world *world)
{
	static char packet[KPROF_PACKET_MAX] __attribute__((aligned(8)));
	size_t bytes;

	for (uint32_t n = 0; (bytes = connection_next(&world->connection, packet)); n++) {
		struct kprof_packet head;

		FUZZ_CHECK(n <= KPROF_ID_LIMIT + 2);
		FUZZ_CHECK(bytes >= sizeof(head) && bytes <= sizeof(packet));
		memcpy(&head, packet, sizeof(head));
		FUZZ_CHECK(head.bytes == bytes);
		if (head.type == KPROF_PACKET_SWITCH)
			hear_switch(world, packet, bytes);
		else if (head.type == KPROF_PACKET_SYNC)
			hear_sync(world, packet, bytes);
		else if (head.type == KPROF_PACKET_MARKED)
			hear_marked(world, packet, bytes);
		else
			FUZZ_CHECK(head.type == KPROF_PACKET_WELCOME && bytes == 16);
		connection_sent(&world->connection, packet);
	}
	for (uint32_t id = 0; world->connection.producer && id < KPROF_ID_LIMIT; id++) {
		const struct producer_event *event =
			producer_event(world->connection.producer, (uint16_t)id);

		if (event && event->held)
			FUZZ_CHECK(world->on[id] ==
				producer_is_on(world->connection.producer, (uint16_t)id));
	}
}

/* false if the program is to be detached. */
static bool say(struct world *world, char *data, size_t bytes, bool sized, int pool)
{
	uint32_t size = (uint32_t)bytes;
	struct err err = {""};
	int fd = pool < 0 ? -1 : dup(pool), ret;

	if (sized && bytes >= sizeof(struct kprof_packet))
		memcpy(data + offsetof(struct kprof_packet, bytes), &size, sizeof(size));
	if (bytes >= sizeof(struct kprof_packet_mark)) {
		uint32_t type;

		memcpy(&type, data, sizeof(type));
		world->has_sent_mark = type == KPROF_PACKET_MARK;
	}
	ret = connection_take(&world->connection, data, bytes, &fd, &err);
	FUZZ_CHECK(ret <= 0 && (ret == 0 || err.text[0]));
	if (fd >= 0)
		close(fd);
	return ret == 0;
}

/* A write waits for the program, which answers it where `answers`. */
static void run_sync(struct world *world, bool answers)
{
	struct kprof_packet_sync answer = {.head = {KPROF_PACKET_SYNCED, sizeof(answer)}};

	connection_sync(&world->connection, ++world->round);
	hear_all(world);
	FUZZ_CHECK(connection_is_synced(&world->connection) == (world->asked != world->round));
	answer.number = world->asked;
	if (answers && world->asked == world->round) {
		FUZZ_CHECK(say(world, (char *)&answer, sizeof(answer), false, -1));
		FUZZ_CHECK(connection_is_synced(&world->connection));
	}
}

static void run_steps(struct world *world, const uint8_t *data, size_t size, int pool)
{
	bool stays = true;

	while (stays && size >= sizeof(struct step)) {
		struct step step;
		char *packet;

		memcpy(&step, data, sizeof(step));
		data += sizeof(step);
		size -= sizeof(step);
		step.bytes = (uint16_t)MIN(step.bytes, size);
		/* of just this size, so that a step too far is seen */
		packet = malloc(step.bytes + 1u);
		memcpy(packet, data, step.bytes);
		packet = realloc(packet, step.bytes ? step.bytes : 1u);
		data += step.bytes;
		size -= step.bytes;
		if (step.kind % STEP_KINDS == STEP_SYNC)
			run_sync(world, step.value & 1);
		else if (step.kind % STEP_KINDS != STEP_SWITCH)
			stays = say(world, packet, step.bytes, step.kind % STEP_KINDS != STEP_RAW,
				step.kind % STEP_KINDS == STEP_POOL ? pool : -1);
		else if (step.value & 2)
			catalog_set_enabled(world->catalog, step.value & 1);
		else
			catalog_set_all(world->catalog, step.value & 1);
		free(packet);
		connection_rescan(&world->connection);
		if (stays)
			hear_all(world);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct world world;
	struct producers_totals totals;
	struct catalog_counts counts;
	struct producers_limits limits;
	struct fixture f;

	memset(&world, 0, sizeof(world));
	memset(world.on, 2, sizeof(world.on));
	producers_limits_init(&limits, 1024, 1u << 30);
	limits.user_ids = 300; /* of that size it can be met */
	world.catalog = catalog_create(NULL);
	world.producers = producers_create(world.catalog, &limits);
	fixture_open(&f, POOL_BYTES, KPROF_MODE_OVERWRITE);
	connection_init(&world.connection, world.producers, 1234, 1000, on_refused, &world);
	world.connection.mark = on_mark;
	run_steps(&world, data, size, f.fd);
	producers_total(world.producers, &totals);
	FUZZ_CHECK(totals.attached == (world.connection.producer != NULL));
	FUZZ_CHECK(totals.refused >= world.refused);
	connection_fini(&world.connection);
	producers_total(world.producers, &totals);
	FUZZ_CHECK(totals.attached == 0 && totals.exited == 0 && totals.pool_bytes == 0);
	producers_destroy(world.producers);
	catalog_count(world.catalog, &counts);
	FUZZ_CHECK(counts.events == 0 && counts.kept == 0 && counts.bytes == 0);
	catalog_destroy(world.catalog);
	fixture_close(&f);
	return 0;
}

/* ---- the corpus ------------------------------------------------------------------------------ */

static void add(GByteArray *out, uint8_t kind, uint8_t value, const void *data, size_t bytes)
{
	const struct step step = {kind, value, (uint16_t)bytes};

	g_byte_array_append(out, (const uint8_t *)&step, sizeof(step));
	g_byte_array_append(out, data, (guint)bytes);
}

static void add_hello(GByteArray *out)
{
	const struct kprof_packet_hello hello = {
		.head = {KPROF_PACKET_HELLO, sizeof(hello)},
		.magic = KPROF_ATTACH_MAGIC,
		.version = KPROF_ATTACH_VERSION,
		.pool_bytes = POOL_BYTES,
		.program = "fuzz",
	};

	add(out, STEP_POOL, 0, &hello, sizeof(hello));
}

/* Events with the ids from `first` on. */
static void add_events(GByteArray *out, uint16_t first, uint16_t count, const char *format)
{
	GByteArray *packet = g_byte_array_new();
	struct kprof_packet_events head = {.head = {KPROF_PACKET_EVENTS, 0}, .count = count};

	g_byte_array_append(packet, (const uint8_t *)&head, sizeof(head));
	for (uint16_t i = 0; i < count; i++) {
		char name[16];
		struct kprof_event_def def = {.id = (uint16_t)(first + i), .provider_bytes = 1,
			.kind = (uint8_t)(1 + i % 4), .format_bytes = (uint16_t)strlen(format)};

		def.name_bytes = (uint8_t)g_snprintf(name, sizeof(name), "n%u", i);
		def.bytes = (uint16_t)(sizeof(def) + 1 + def.name_bytes + def.format_bytes);
		g_byte_array_append(packet, (const uint8_t *)&def, sizeof(def));
		g_byte_array_append(packet, (const uint8_t *)"p", 1);
		g_byte_array_append(packet, (const uint8_t *)name, def.name_bytes);
		g_byte_array_append(packet, (const uint8_t *)format, def.format_bytes);
	}
	add(out, STEP_SIZED, 0, packet->data, packet->len);
	g_byte_array_unref(packet);
}

static void add_gone(GByteArray *out, uint16_t id)
{
	const struct {
		struct kprof_packet_gone head;
		uint16_t ids[4];
	} packet = {{{KPROF_PACKET_GONE, 24}, 4, 0}, {id, (uint16_t)(id + 1), 0, 65535}};

	add(out, STEP_SIZED, 0, &packet, sizeof(packet));
}

static void add_synced(GByteArray *out, uint64_t number)
{
	const struct kprof_packet_sync packet = {{KPROF_PACKET_SYNCED, sizeof(packet)}, number};

	add(out, STEP_SIZED, 0, &packet, sizeof(packet));
}

static void add_mark(GByteArray *out, const char *text)
{
	const struct kprof_packet_mark head = {.head = {KPROF_PACKET_MARK, 0}};
	char packet[sizeof(head) + KPROF_MARK_MAX];

	memcpy(packet, &head, sizeof(head));
	memcpy(packet + sizeof(head), text, strlen(text));
	add(out, STEP_SIZED, 0, packet, sizeof(head) + strlen(text));
}

bool fuzz_seed(unsigned int number, GByteArray *out)
{
	switch (number) {
	case 0:
		add_hello(out);
		return true;
	case 1:
		add_hello(out);
		add_events(out, 2, 5, "%d %s");
		add(out, STEP_SWITCH, 1, "", 0);
		add_gone(out, 2);
		add_events(out, 2, 5, "%d %s");
		return true;
	case 2: /* another format for the same names, more ids than a user may have, far ids */
		add_hello(out);
		add_events(out, 2, 200, "%lu");
		add_events(out, 300, 200, "%p");
		add_events(out, KPROF_ID_LIMIT - 3, 3, "%5.*f");
		add(out, STEP_SWITCH, 2, "", 0);
		return true;
	case 3: /* out of order */
		add_events(out, 2, 1, "x");
		add_hello(out);
		add_hello(out);
		return true;
	case 4: /* formats that are not taken */
		add_hello(out);
		add_events(out, 2, 4, "%n");
		add_events(out, 2, 4, "%99999d");
		return true;
	case 5: /* writes that wait: answered, not answered, answered later */
		add(out, STEP_SYNC, 0, "", 0);
		add_hello(out);
		add(out, STEP_SYNC, 1, "", 0);
		add(out, STEP_SWITCH, 2, "", 0);
		add(out, STEP_SYNC, 0, "", 0);
		add_synced(out, 3);
		add(out, STEP_SYNC, 0, "", 0);
		add(out, STEP_SWITCH, 3, "", 0);
		add(out, STEP_SYNC, 0, "", 0);
		add_synced(out, 5);
		add_synced(out, 5);
		return true;
	case 6: /* messages, of no producer and of one */
		add_mark(out, "text");
		add_mark(out, "");
		add_mark(out, "e");
		add_mark(out, "two\nlines");
		add_hello(out);
		add_mark(out, "text");
		add_events(out, 2, 5, "%d %s");
		return true;
	default:
		return false;
	}
}
