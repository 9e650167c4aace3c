/* SPDX-License-Identifier: MIT */
/* One program's side of the protocol: see session.h. */
#include "producers/session.h"

#include <errno.h>
#include <glib.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/atomic.h"
#include "sys/proc.h"
#include "producers/producers.h"

/* session.told: 0 or 1 as sent, or one of these. */
#define TOLD_NOTHING 2	/* the program has announced it and waits for an answer */
#define TOLD_UNDEFINED 3 /* it never spoke of it */

/* What is between two changes and shorter than this is sent again rather than as another packet. */
#define GAP 16

void session_init(struct session *session, struct producers *producers, pid_t pid, uid_t uid,
	session_refused refused, void *arg)
{
	*session = (struct session){
		.producers = producers,
		.pid = pid,
		.uid = uid,
		.refused = refused,
		.arg = arg,
		.program = "?",
	};
}

void session_fini(struct session *session)
{
	const char *lie;

	if (session->producer) {
		producer_end(session->producer,
			session->hung_up && session->pid && proc_lives(NULL, session->pid));
		lie = producer_take_lie(session->producer);
		if (lie)
			session->refused(session->arg, session, lie);
		producer_put(session->producer);
		session->producer = NULL;
	}
	g_free(session->told);
	session->told = NULL;
}

/* The program has announced this id: it will be answered. */
static void expect_answer(struct session *session, uint32_t id)
{
	if (id >= session->ids) {
		uint32_t ids = MIN((id / PRODUCER_BLOCK + 1) * PRODUCER_BLOCK, KPROF_ID_LIMIT);

		session->told = g_realloc(session->told, ids);
		memset(session->told + session->ids, TOLD_UNDEFINED, ids - session->ids);
		if (session->scan == session->ids)
			session->scan = ids; /* all looked at still means all */
		session->ids = ids;
	}
	session->told[id] = TOLD_NOTHING;
	session->scan = MIN(session->scan, id);
}

/*
 * ---- HELLO ------------------------------------------------------------------------------------
 */

/* Magic and version stand where they do in every version; the size and the rest may differ. */
static int copy_hello(struct session *session, const char *data, size_t bytes,
	struct kprof_packet_hello *hello, struct err *err)
{
	memset(hello, 0, sizeof(*hello));
	memcpy(hello, data, MIN(bytes, sizeof(*hello)));
	if (bytes < offsetof(struct kprof_packet_hello, pid))
		return err_set(err, EPROTO, "a greeting of another size");
	if (hello->magic != KPROF_ATTACH_MAGIC)
		return err_set(err, EPROTO, "a greeting that is none");
	if (hello->version != KPROF_ATTACH_VERSION) {
		session->welcome = !session->producer; /* so it learns ours */
		return err_set(err, EPROTO, "it speaks version %u of the protocol, not %d",
			hello->version, KPROF_ATTACH_VERSION);
	}
	if (bytes != sizeof(*hello))
		return err_set(err, EPROTO, "a greeting of another size");
	if (!session->producer)
		memcpy(session->program, hello->program, sizeof(hello->program));
	return 0;
}

static int take_hello(struct session *session, const char *data, size_t bytes, int *fd,
	struct err *err)
{
	struct kprof_packet_hello hello;
	struct producer_identity identity = { session->pid, session->uid, hello.program };
	int ret = copy_hello(session, data, bytes, &hello, err);

	if (!ret && session->producer)
		ret = err_set(err, EPROTO, "a second greeting");
	if (!ret && *fd < 0)
		ret = err_set(err, EPROTO, "a greeting without its memory");
	if (!ret)
		ret = producers_attach(session->producers, &identity, *fd, &session->producer, err);
	if (ret)
		return ret;
	*fd = -1;
	if (session->producer->reader.layout.pool_bytes != hello.pool_bytes)
		return err_set(err, EPROTO, "its memory is of another size than it says");
	session->welcome = true;
	for (uint32_t id = 0; id < KPROF_ID_FIRST; id++)
		expect_answer(session, id);
	return 0;
}

/*
 * ---- EVENTS, GONE -----------------------------------------------------------------------------
 */

struct definition {
	struct kprof_event_def def;
	char label[2 * UINT8_MAX + 2];
	char format[KPROF_FORMAT_MAX + 1];
};

/* The definition at `at`, of the `left` bytes there are. */
static int copy_definition(const char *at, size_t left, struct definition *d, struct err *err)
{
	const char *provider, *name, *format;
	size_t bytes;

	if (left < sizeof(d->def))
		return err_set(err, EPROTO, "events that are cut off");
	memcpy(&d->def, at, sizeof(d->def));
	bytes = sizeof(d->def) + d->def.provider_bytes + d->def.name_bytes + d->def.format_bytes;
	if (d->def.bytes != bytes || bytes > left || d->def.format_bytes > KPROF_FORMAT_MAX)
		return err_set(err, EPROTO, "an event of a wrong size");
	if (d->def.id < KPROF_ID_FIRST || d->def.id >= KPROF_ID_LIMIT)
		return err_set(err, EPROTO, "an event with an id that can't be");
	provider = at + sizeof(d->def);
	name = provider + d->def.provider_bytes;
	format = name + d->def.name_bytes;
	if (memchr(provider, '\0', bytes - sizeof(d->def)))
		return err_set(err, EPROTO, "an event with a NUL in it");
	snprintf(d->label, sizeof(d->label), "%.*s:%.*s", (int)d->def.provider_bytes, provider,
		(int)d->def.name_bytes, name);
	memcpy(d->format, format, d->def.format_bytes);
	d->format[d->def.format_bytes] = '\0';
	return 0;
}

/* What the library itself refused, in words. */
static int own_refusal(const struct definition *d, struct err *err)
{
	switch (d->def.refusal) {
	case KPROF_REFUSED_NO:
		return 0;
	case KPROF_REFUSED_NAME:
		return err_set(err, EINVAL,
			"not a provider and a name of [A-Za-z0-9_.-]{1,100}: %s", d->label);
	case KPROF_REFUSED_FORMAT:
		return err_set(err, EINVAL, "a format that is not taken: '%.200s' of %s", d->format,
			d->label);
	default:
		return err_set(err, EINVAL, "arguments that don't fit the format '%.200s' of %s",
			d->format, d->label);
	}
}

static int take_definition(struct session *session, const struct definition *d, struct err *err)
{
	struct err why = { "" };
	int ret = own_refusal(d, &why);

	if (ret)
		producers_count_refused(session->producers);
	else
		ret = producer_define(session->producer, d->def.id, d->def.kind, d->label,
			d->format, &why);
	expect_answer(session, d->def.id);
	if (ret == -EPROTO)
		return err_set(err, EPROTO, "%s", why.text);
	if (ret)
		session->refused(session->arg, session, why.text);
	return 0;
}

static int take_events(struct session *session, const char *data, size_t bytes, struct err *err)
{
	struct kprof_packet_events head;
	struct definition d;
	size_t at = sizeof(head);

	if (bytes < sizeof(head))
		return err_set(err, EPROTO, "events that are cut off");
	memcpy(&head, data, sizeof(head));
	for (uint32_t i = 0; i < head.count; i++) {
		int ret;

		if (session->stop && atomic_read_relaxed(session->stop)) /* a flag, nothing else */
			return 0;
		ret = copy_definition(data + at, bytes - at, &d, err);
		if (!ret)
			ret = take_definition(session, &d, err);
		if (ret)
			return ret;
		at += d.def.bytes;
	}
	return at == bytes ? 0 : err_set(err, EPROTO, "more events than it says");
}

static int take_gone(struct session *session, const char *data, size_t bytes, struct err *err)
{
	struct kprof_packet_gone head;

	if (bytes < sizeof(head))
		return err_set(err, EPROTO, "a list that is cut off");
	memcpy(&head, data, sizeof(head));
	if ((bytes - sizeof(head)) / sizeof(uint16_t) != head.count || bytes % sizeof(uint16_t))
		return err_set(err, EPROTO, "a list of another length than it says");
	for (uint32_t i = 0; i < head.count; i++) {
		uint16_t id;

		memcpy(&id, data + sizeof(head) + i * sizeof(id), sizeof(id));
		producer_undefine(session->producer, id);
		if (id >= KPROF_ID_FIRST && id < session->ids)
			session->told[id] = TOLD_UNDEFINED; /* until it comes again */
	}
	return 0;
}

static int take_synced(struct session *session, const char *data, size_t bytes, struct err *err)
{
	struct kprof_packet_sync answer;

	if (bytes != sizeof(answer))
		return err_set(err, EPROTO, "an answer of another size");
	memcpy(&answer, data, sizeof(answer));
	if (answer.number <= session->sync_answered || answer.number > session->sync_asked)
		return err_set(err, EPROTO, "an answer to what it was not asked");
	session->sync_answered = answer.number;
	return 0;
}

int session_take(struct session *session, const char *data, size_t bytes, int *fd, struct err *err)
{
	struct kprof_packet head;

	if (bytes < sizeof(head)) {
		head.type = 0;
		head.bytes = 0;
	} else {
		memcpy(&head, data, sizeof(head));
	}
	if (head.bytes == bytes && head.type == KPROF_PACKET_HELLO)
		return take_hello(session, data, bytes, fd, err);
	if (head.bytes != bytes)
		return err_set(err, EPROTO, "a packet of another size than it says");
	if (head.type != KPROF_PACKET_EVENTS && head.type != KPROF_PACKET_GONE &&
		head.type != KPROF_PACKET_SYNCED)
		return 0; /* a newer program's */
	if (!session->producer)
		return err_set(err, EPROTO, "it did not greet");
	if (head.type == KPROF_PACKET_EVENTS)
		return take_events(session, data, bytes, err);
	if (head.type == KPROF_PACKET_SYNCED)
		return take_synced(session, data, bytes, err);
	return take_gone(session, data, bytes, err);
}

/*
 * ---- what is to be said -----------------------------------------------------------------------
 */

void session_look(struct session *session)
{
	session->scan = 0;
}

void session_skip_rounds(struct session *session, uint64_t newest)
{
	session->sync_wanted = session->sync_asked = session->sync_answered = newest;
}

void session_sync(struct session *session, uint64_t round)
{
	session->sync_wanted = round;
	if (!session->producer)
		session_skip_rounds(session, round);
}

bool session_is_synced(const struct session *session)
{
	return session->sync_answered == session->sync_wanted;
}

static bool is_news(const struct session *session, uint32_t id)
{
	return session->told[id] != TOLD_UNDEFINED &&
		session->told[id] != producer_is_on(session->producer, (uint16_t)id);
}

/* From the first id with news: as long as ids are defined and news come within GAP. */
static size_t make_switch(struct session *session, char *packet)
{
	struct kprof_packet_switch head = { .head = { KPROF_PACKET_SWITCH, 0 } };
	char *values = packet + sizeof(head);
	uint32_t id = session->scan, end;

	while (id < session->ids && !is_news(session, id))
		id++;
	session->scan = id;
	if (id == session->ids)
		return 0;
	head.first = end = id;
	for (; id < session->ids && id < end + GAP && session->told[id] != TOLD_UNDEFINED; id++) {
		if (is_news(session, id))
			end = id + 1;
		values[id - head.first] = producer_is_on(session->producer, (uint16_t)id);
	}
	head.count = end - head.first;
	head.head.bytes = (uint32_t)sizeof(head) + head.count;
	memcpy(packet, &head, sizeof(head));
	return head.head.bytes;
}

static size_t make_clear(struct session *session, char *packet)
{
	struct kprof_packet_clear clear = { .head = { KPROF_PACKET_CLEAR, sizeof(clear) } };

	clear.ticket = producer_clear_ticket(session->producer);
	if (clear.ticket == session->clear_ticket)
		return 0;
	memcpy(packet, &clear, sizeof(clear));
	return sizeof(clear);
}

/* Once it has been told all. A program that has nothing to confirm is not asked. */
static size_t make_sync(struct session *session, char *packet)
{
	struct kprof_packet_sync sync = {
		.head = { KPROF_PACKET_SYNC, sizeof(sync) },
		.number = session->sync_wanted,
	};

	if (session->sync_asked == session->sync_wanted)
		return 0;
	if (!session->unconfirmed && session->sync_asked == session->sync_answered) {
		session_skip_rounds(session, session->sync_wanted);
		return 0;
	}
	memcpy(packet, &sync, sizeof(sync));
	return sizeof(sync);
}

size_t session_next(struct session *session, char *packet)
{
	struct kprof_packet_welcome welcome = {
		.head = { KPROF_PACKET_WELCOME, sizeof(welcome) },
		.version = KPROF_ATTACH_VERSION,
	};
	size_t bytes;

	_Static_assert(sizeof(struct kprof_packet_switch) + KPROF_ID_LIMIT <= KPROF_PACKET_MAX,
		"all switches fit");
	if (session->welcome) {
		memcpy(packet, &welcome, sizeof(welcome));
		return sizeof(welcome);
	}
	if (!session->producer)
		return 0;
	bytes = make_clear(session, packet);
	if (!bytes)
		bytes = make_switch(session, packet);
	return bytes ? bytes : make_sync(session, packet);
}

void session_told(struct session *session, const char *packet)
{
	struct kprof_packet_switch head;
	struct kprof_packet_clear clear;
	struct kprof_packet_sync sync;

	memcpy(&head.head, packet, sizeof(head.head));
	if (head.head.type == KPROF_PACKET_WELCOME) {
		session->welcome = false;
		return;
	}
	if (head.head.type == KPROF_PACKET_SYNC) {
		memcpy(&sync, packet, sizeof(sync));
		session->sync_asked = sync.number;
		session->unconfirmed = false;
		return;
	}
	session->unconfirmed = true;
	if (head.head.type == KPROF_PACKET_CLEAR) {
		memcpy(&clear, packet, sizeof(clear));
		session->clear_ticket = clear.ticket;
		return;
	}
	memcpy(&head, packet, sizeof(head));
	for (uint32_t i = 0; i < head.count; i++)
		session->told[head.first + i] = (uint8_t)packet[sizeof(head) + i];
	session->scan = head.first + head.count;
}
