/* SPDX-License-Identifier: MIT */
/* The protocol of one connection: see connection.h. */
#include "producers/connection.h"

#include <errno.h>
#include <glib.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/atomic.h"
#include "sys/proc.h"
#include "producers/producers.h"

/* connection.sent: 0 or 1 as sent, or one of these. */
#define SENT_NOTHING 2	/* EVENTS had it, and SWITCH is due */
#define SENT_UNDEFINED 3 /* no EVENTS had it */

/*
 * Unchanged switches between two changes: up to this many are sent again, rather than a second
 * packet.
 */
#define GAP 16

void connection_init(struct connection *connection, struct producers *producers, pid_t pid,
	uid_t uid, connection_refused refused, void *arg)
{
	*connection = (struct connection){
		.producers = producers,
		.pid = pid,
		.uid = uid,
		.refused = refused,
		.arg = arg,
		.program = "?",
	};
}

void connection_fini(struct connection *connection)
{
	const char *corruption;

	if (connection->producer) {
		producer_end(connection->producer, connection->hung_up && connection->pid &&
							   proc_lives(NULL, connection->pid));
		corruption = producer_take_corruption(connection->producer);
		if (corruption)
			connection->refused(connection->arg, connection, corruption);
		producer_put(connection->producer);
		connection->producer = NULL;
	}
	g_free(connection->sent);
	g_free(connection->probed);
	connection->sent = connection->probed = NULL;
}

/* EVENTS had this id: a SWITCH for it is due. */
static void expect_answer(struct connection *connection, uint32_t id)
{
	if (id >= connection->ids) {
		uint32_t ids = MIN((id / PRODUCER_BLOCK + 1) * PRODUCER_BLOCK, KPROF_ID_LIMIT);

		connection->sent = g_realloc(connection->sent, ids);
		connection->probed = g_realloc(connection->probed, ids);
		memset(connection->sent + connection->ids, SENT_UNDEFINED, ids - connection->ids);
		memset(connection->probed + connection->ids, 0, ids - connection->ids);
		if (connection->scan_probes == connection->ids)
			connection->scan_probes = ids;
		if (connection->scan == connection->ids)
			connection->scan = ids; /* nothing to send stays nothing to send */
		connection->ids = ids;
	}
	connection->sent[id] = SENT_NOTHING;
	connection->scan = MIN(connection->scan, id);
	connection->scan_probes = MIN(connection->scan_probes, id);
}

/* ---- HELLO ----------------------------------------------------------------------------------- */

/* Magic and version are at the same offsets in every version; the size and the rest may differ. */
static int copy_hello(struct connection *connection, const char *data, size_t bytes,
	struct kprof_packet_hello *hello, struct err *err)
{
	memset(hello, 0, sizeof(*hello));
	memcpy(hello, data, MIN(bytes, sizeof(*hello)));
	if (bytes < offsetof(struct kprof_packet_hello, pid))
		return err_set(err, EPROTO, "a HELLO of the wrong size");
	if (hello->magic != KPROF_ATTACH_MAGIC)
		return err_set(err, EPROTO, "a HELLO with a wrong magic number");
	if (hello->version != KPROF_ATTACH_VERSION) {
		/* WELCOME, with our version, is sent before it is detached */
		connection->welcome = !connection->producer;
		return err_set(err, EPROTO, "it speaks version %u of the protocol, not %d",
			hello->version, KPROF_ATTACH_VERSION);
	}
	if (bytes != sizeof(*hello))
		return err_set(err, EPROTO, "a HELLO of the wrong size");
	if (!connection->producer)
		memcpy(connection->program, hello->program, sizeof(hello->program));
	return 0;
}

static int take_hello(struct connection *connection, const char *data, size_t bytes, int *fd,
	struct err *err)
{
	struct kprof_packet_hello hello;
	struct producer_identity identity = { connection->pid, connection->uid, hello.program };
	int ret = copy_hello(connection, data, bytes, &hello, err);

	if (!ret && connection->producer)
		ret = err_set(err, EPROTO, "a second HELLO");
	if (!ret && *fd < 0)
		ret = err_set(err, EPROTO, "a HELLO without the descriptor of a pool");
	if (!ret)
		ret = producers_attach(
			connection->producers, &identity, *fd, &connection->producer, err);
	if (ret)
		return ret;
	*fd = -1;
	if (connection->producer->reader.layout.pool_bytes != hello.pool_bytes)
		return err_set(err, EPROTO, "its pool has another size than its HELLO says");
	connection->welcome = true;
	for (uint32_t id = 0; id < KPROF_ID_FIRST; id++)
		expect_answer(connection, id);
	return 0;
}

/* ---- EVENTS, GONE ---------------------------------------------------------------------------- */

struct connection_definition {
	struct kprof_event_def def;
	char label[2 * UINT8_MAX + 2];
	char format[KPROF_FORMAT_MAX + 1];
};

/* Copies the definition at `at`, of which `left` bytes are there. */
static int copy_definition(
	const char *at, size_t left, struct connection_definition *d, struct err *err)
{
	const char *provider, *name, *format;
	size_t bytes;

	if (left < sizeof(d->def))
		return err_set(err, EPROTO, "an EVENTS packet that is too short");
	memcpy(&d->def, at, sizeof(d->def));
	bytes = sizeof(d->def) + d->def.provider_bytes + d->def.name_bytes + d->def.format_bytes;
	if (d->def.bytes != bytes || bytes > left || d->def.format_bytes > KPROF_FORMAT_MAX)
		return err_set(err, EPROTO, "an event of a wrong size");
	if (d->def.id < KPROF_ID_FIRST || d->def.id >= KPROF_ID_LIMIT)
		return err_set(err, EPROTO, "an event whose id is out of range");
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

/* Why libkprof itself refused the event, as a sentence. */
static int refused_by_library(const struct connection_definition *d, struct err *err)
{
	switch (d->def.refusal) {
	case KPROF_REFUSED_NO:
		return 0;
	case KPROF_REFUSED_NAME:
		return err_set(err, EINVAL,
			"not a provider and a name of [A-Za-z0-9_.-]{1,100}: %s", d->label);
	case KPROF_REFUSED_FORMAT:
		return err_set(err, EINVAL,
			"a format with an unknown conversion, or too long: '%.200s' of %s",
			d->format, d->label);
	default:
		return err_set(err, EINVAL, "arguments that don't fit the format '%.200s' of %s",
			d->format, d->label);
	}
}

static int take_definition(
	struct connection *connection, const struct connection_definition *d, struct err *err)
{
	struct err why = { "" };
	int ret = refused_by_library(d, &why);

	if (ret)
		producers_count_refused(connection->producers);
	else
		ret = producer_define(connection->producer, d->def.id, d->def.kind, d->label,
			d->format, &why);
	expect_answer(connection, d->def.id);
	if (ret == -EPROTO)
		return err_set(err, EPROTO, "%s", why.text);
	if (ret)
		connection->refused(connection->arg, connection, why.text);
	return 0;
}

static int take_events(
	struct connection *connection, const char *data, size_t bytes, struct err *err)
{
	struct kprof_packet_events head;
	struct connection_definition d;
	size_t at = sizeof(head);

	if (bytes < sizeof(head))
		return err_set(err, EPROTO, "an EVENTS packet that is too short");
	memcpy(&head, data, sizeof(head));
	for (uint32_t i = 0; i < head.count; i++) {
		int ret;

		if (connection->stop && atomic_read_relaxed(connection->stop)) /* relaxed: a flag */
			return 0;
		ret = copy_definition(data + at, bytes - at, &d, err);
		if (!ret)
			ret = take_definition(connection, &d, err);
		if (ret)
			return ret;
		at += d.def.bytes;
	}
	return at == bytes
		       ? 0
		       : err_set(err, EPROTO, "an EVENTS packet with bytes behind its last event");
}

static int take_gone(struct connection *connection, const char *data, size_t bytes, struct err *err)
{
	struct kprof_packet_gone head;

	if (bytes < sizeof(head))
		return err_set(err, EPROTO, "a GONE packet that is too short");
	memcpy(&head, data, sizeof(head));
	if ((bytes - sizeof(head)) / sizeof(uint16_t) != head.count || bytes % sizeof(uint16_t))
		return err_set(err, EPROTO, "a GONE packet whose size does not match its count");
	for (uint32_t i = 0; i < head.count; i++) {
		uint16_t id;

		memcpy(&id, data + sizeof(head) + i * sizeof(id), sizeof(id));
		producer_undefine(connection->producer, id);
		if (id >= KPROF_ID_FIRST && id < connection->ids) {
			connection->sent[id] = SENT_UNDEFINED; /* until another EVENTS has it */
			connection->probed[id] = 0;
		}
	}
	return 0;
}

static int take_synced(
	struct connection *connection, const char *data, size_t bytes, struct err *err)
{
	struct kprof_packet_sync answer;

	if (bytes != sizeof(answer))
		return err_set(err, EPROTO, "a SYNCED of the wrong size");
	memcpy(&answer, data, sizeof(answer));
	if (answer.number <= connection->sync_answered || answer.number > connection->sync_sent)
		return err_set(err, EPROTO, "a SYNCED whose number no SYNC had");
	connection->sync_answered = answer.number;
	return 0;
}

static int take_file(struct connection *connection, const char *data, size_t bytes, struct err *err)
{
	const char *path = data + sizeof(struct kprof_packet_file);
	const size_t length = bytes - sizeof(struct kprof_packet_file);

	if (bytes <= sizeof(struct kprof_packet_file) || length > KPROF_FILE_MAX || path[0] != '/' ||
		memchr(path, '\0', length))
		return err_set(err, EPROTO, "a FILE that is no absolute path");
	producer_set_file(connection->producer, path, length);
	return 0;
}

/* ---- MARK ------------------------------------------------------------------------------------ */

static int take_mark(struct connection *connection, const char *data, size_t bytes, struct err *err)
{
	size_t text_bytes = bytes - sizeof(struct kprof_packet_mark);
	const char *text = data + sizeof(struct kprof_packet_mark);

	if (bytes < sizeof(struct kprof_packet_mark))
		return err_set(err, EPROTO, "a MARK that is too short");
	if (connection->marked)
		return err_set(err, EPROTO, "a MARK before the last one was answered");
	connection->marked = true;
	if (!text_bytes || memchr(text, '\0', text_bytes) || memchr(text, '\n', text_bytes))
		connection->mark_error = -EINVAL;
	else if (text_bytes > KPROF_MARK_MAX)
		connection->mark_error = -EMSGSIZE;
	else if (!connection->mark)
		connection->mark_error = -EOPNOTSUPP;
	else
		connection->mark_error =
			connection->mark(connection->arg, connection, text, text_bytes);
	return 0;
}

int connection_take(
	struct connection *connection, const char *data, size_t bytes, int *fd, struct err *err)
{
	struct kprof_packet head;

	if (bytes < sizeof(head)) {
		head.type = 0;
		head.bytes = 0;
	} else {
		memcpy(&head, data, sizeof(head));
	}
	if (head.bytes == bytes && head.type == KPROF_PACKET_HELLO)
		return take_hello(connection, data, bytes, fd, err);
	if (head.bytes != bytes)
		return err_set(err, EPROTO, "a packet whose size is not the one in its header");
	if (head.type == KPROF_PACKET_MARK)
		return take_mark(connection, data, bytes, err);
	if (head.type != KPROF_PACKET_EVENTS && head.type != KPROF_PACKET_GONE &&
		head.type != KPROF_PACKET_SYNCED && head.type != KPROF_PACKET_FILE)
		return 0; /* of a newer version of libkprof */
	if (!connection->producer)
		return err_set(err, EPROTO, "a packet before HELLO");
	if (head.type == KPROF_PACKET_FILE)
		return take_file(connection, data, bytes, err);
	if (head.type == KPROF_PACKET_EVENTS)
		return take_events(connection, data, bytes, err);
	if (head.type == KPROF_PACKET_SYNCED)
		return take_synced(connection, data, bytes, err);
	return take_gone(connection, data, bytes, err);
}

/* ---- packets to send ------------------------------------------------------------------------- */

void connection_rescan(struct connection *connection)
{
	connection->scan = connection->scan_probes = 0;
}

void connection_skip_rounds(struct connection *connection, uint64_t newest)
{
	connection->sync_wanted = connection->sync_sent = connection->sync_answered = newest;
}

void connection_sync(struct connection *connection, uint64_t round)
{
	connection->sync_wanted = round;
	if (!connection->producer)
		connection_skip_rounds(connection, round);
}

bool connection_is_synced(const struct connection *connection)
{
	return connection->sync_answered == connection->sync_wanted;
}

static bool value_of(const struct connection *connection, uint32_t type, uint32_t id)
{
	return type == KPROF_PACKET_PROBE ? producer_is_probed(connection->producer, (uint16_t)id) :
					    producer_is_on(connection->producer, (uint16_t)id);
}

static bool differs(const struct connection *connection, uint32_t type, uint32_t id)
{
	const uint8_t *sent = type == KPROF_PACKET_PROBE ? connection->probed : connection->sent;

	return connection->sent[id] != SENT_UNDEFINED && sent[id] != value_of(connection, type, id);
}

/*
 * SWITCH, or PROBE, from the first id that differs, as long as ids are defined and the next one that differs
 * is within GAP.
 */
static size_t make_switch(struct connection *connection, uint32_t type, char *packet)
{
	struct kprof_packet_switch head = { .head = { type, 0 } };
	uint32_t *scan = type == KPROF_PACKET_PROBE ? &connection->scan_probes : &connection->scan;
	char *values = packet + sizeof(head);
	uint32_t id = *scan, end;

	while (id < connection->ids && !differs(connection, type, id))
		id++;
	*scan = id;
	if (id == connection->ids)
		return 0;
	head.first = end = id;
	for (; id < connection->ids && id < end + GAP && connection->sent[id] != SENT_UNDEFINED;
		id++) {
		if (differs(connection, type, id))
			end = id + 1;
		values[id - head.first] = value_of(connection, type, id);
	}
	head.count = end - head.first;
	head.head.bytes = (uint32_t)sizeof(head) + head.count;
	memcpy(packet, &head, sizeof(head));
	return head.head.bytes;
}

static size_t make_clear(struct connection *connection, char *packet)
{
	struct kprof_packet_clear clear = { .head = { KPROF_PACKET_CLEAR, sizeof(clear) } };

	clear.ticket = producer_clear_ticket(connection->producer);
	if (clear.ticket == connection->clear_ticket)
		return 0;
	memcpy(packet, &clear, sizeof(clear));
	return sizeof(clear);
}

/* SYNC, when nothing else is to be sent. A producer that has nothing to confirm gets none. */
static size_t make_sync(struct connection *connection, char *packet)
{
	struct kprof_packet_sync sync = {
		.head = { KPROF_PACKET_SYNC, sizeof(sync) },
		.number = connection->sync_wanted,
	};

	if (connection->sync_sent == connection->sync_wanted)
		return 0;
	if (!connection->unconfirmed && connection->sync_sent == connection->sync_answered) {
		connection_skip_rounds(connection, connection->sync_wanted);
		return 0;
	}
	memcpy(packet, &sync, sizeof(sync));
	return sizeof(sync);
}

static size_t make_marked(const struct connection *connection, char *packet)
{
	const struct kprof_packet_marked marked = {
		.head = { KPROF_PACKET_MARKED, sizeof(marked) },
		.error = (uint32_t)-connection->mark_error,
	};

	memcpy(packet, &marked, sizeof(marked));
	return sizeof(marked);
}

size_t connection_next(struct connection *connection, char *packet)
{
	struct kprof_packet_welcome welcome = {
		.head = { KPROF_PACKET_WELCOME, sizeof(welcome) },
		.version = KPROF_ATTACH_VERSION,
	};
	size_t bytes;

	_Static_assert(sizeof(struct kprof_packet_switch) + KPROF_ID_LIMIT <= KPROF_PACKET_MAX,
		"all switches fit");
	if (connection->welcome) {
		memcpy(packet, &welcome, sizeof(welcome));
		return sizeof(welcome);
	}
	if (connection->marked)
		return make_marked(connection, packet);
	if (!connection->producer)
		return 0;
	bytes = make_clear(connection, packet);
	if (!bytes)
		bytes = make_switch(connection, KPROF_PACKET_SWITCH, packet);
	if (!bytes)
		bytes = make_switch(connection, KPROF_PACKET_PROBE, packet);
	return bytes ? bytes : make_sync(connection, packet);
}

void connection_sent(struct connection *connection, const char *packet)
{
	struct kprof_packet_switch head;
	struct kprof_packet_clear clear;
	struct kprof_packet_sync sync;
	bool is_probe;

	memcpy(&head.head, packet, sizeof(head.head));
	if (head.head.type == KPROF_PACKET_WELCOME) {
		connection->welcome = false;
		return;
	}
	if (head.head.type == KPROF_PACKET_MARKED) {
		connection->marked = false;
		return;
	}
	if (head.head.type == KPROF_PACKET_SYNC) {
		memcpy(&sync, packet, sizeof(sync));
		connection->sync_sent = sync.number;
		connection->unconfirmed = false;
		return;
	}
	connection->unconfirmed = true;
	if (head.head.type == KPROF_PACKET_CLEAR) {
		memcpy(&clear, packet, sizeof(clear));
		connection->clear_ticket = clear.ticket;
		return;
	}
	memcpy(&head, packet, sizeof(head));
	is_probe = head.head.type == KPROF_PACKET_PROBE;
	memcpy((is_probe ? connection->probed : connection->sent) + head.first, packet + sizeof(head),
		head.count);
	*(is_probe ? &connection->scan_probes : &connection->scan) = head.first + head.count;
}
