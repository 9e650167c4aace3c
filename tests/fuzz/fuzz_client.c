/* SPDX-License-Identifier: MIT */
/*
 * Fuzz target: libkprof against a hostile server, which says what it likes and changes the pool of the
 * program, also in the middle of an event.
 *
 * A server of root's or the user's own can do the latter before Linux 5.1; here the changes are made in
 * this process, since the pool is sealed. The input is a list of steps: a packet of the server's, as it
 * is or with its size put right; a change of 8 bytes of the pool, now or at a test point of the writer;
 * events, by this thread or by one that ends. Invariants: nothing is written beside the pool, on both
 * sides of which are guard pages, nor read beside the library's own memory (sanitizers); no call hangs.
 */
#include "client/client.h"
#include "tests/fuzz/fuzz.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define GUARD_BYTES (1u << 20)
#define HANG_S 60
#define BURST_MAX 2000u /* events of a step: 64 KiB hold fewer of them, so chunks are taken again */

enum step_kind { STEP_RAW, STEP_SIZED, STEP_POKE, STEP_EVENTS, STEP_THREAD, STEP_KINDS };

struct step {
	uint8_t kind;	/* modulo STEP_KINDS */
	uint8_t when;	/* of a change: at the so-maniest test point from now; 0: now */
	uint16_t bytes; /* that follow, of a packet; of events: how many */
	uint32_t offset;
	uint64_t value;
};

#define POKES_MAX 16

static struct {
	char dir[64], path[80];
	int listener;
	int server; /* the server's end of the connection */
	char *pool;
	size_t pool_bytes;
	struct {
		struct step step;
		unsigned int left; /* test points until then; 0: made */
	} pokes[POKES_MAX];
	unsigned int poke_count;
} world = {.listener = -1, .server = -1};

/* The library starts no helper and looks for no server on its own: that is done here. */
static void be_the_helper(void)
{
	client.helper_runs = true;
}

/* before all constructors, and so before the library's */
static void (*const first_of_all)(void) __attribute__((section(".preinit_array"), used)) =
	be_the_helper;

static void __attribute__((destructor)) clean_up(void)
{
	if (!world.path[0])
		return;
	unlink(world.path);
	rmdir(world.dir);
}

/* ---- the server's side -------------------------------------------------------------------------- */

static void listen_once(void)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	if (world.listener >= 0)
		return;
	snprintf(world.dir, sizeof(world.dir), "/tmp/fuzz_client.XXXXXX");
	FUZZ_CHECK(mkdtemp(world.dir));
	snprintf(world.path, sizeof(world.path), "%s/socket", world.dir);
	setenv("KPROF_BUFFER_KB", "64", 1);
	client.path_count = 1;
	client.paths[0].owned = 0;
	g_strlcpy(client.paths[0].text, world.path, sizeof(client.paths[0].text));
	g_strlcpy(address.sun_path, world.path, sizeof(address.sun_path));
	world.listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	FUZZ_CHECK(world.listener >= 0);
	FUZZ_CHECK(bind(world.listener, (struct sockaddr *)&address, sizeof(address)) == 0);
	FUZZ_CHECK(listen(world.listener, 4) == 0);
}

/* What the program has said is not looked at here, only taken. */
static void take_all(void)
{
	static char packet[KPROF_PACKET_MAX];

	while (recv(world.server, packet, sizeof(packet), MSG_DONTWAIT) > 0)
		;
}

static void say(const void *packet, size_t bytes)
{
	struct client_signals signals;

	(void)!send(world.server, packet, bytes, MSG_DONTWAIT | MSG_NOSIGNAL);
	client_lock(&signals);
	if (client.socket.fd >= 0)
		attach_receive();
	client_unlock(&signals);
	take_all();
}

/* ---- the pool ----------------------------------------------------------------------------------- */

static void change(const struct step *step)
{
	size_t offset = step->offset % (world.pool_bytes - 8) & ~(size_t)7;

	memcpy(world.pool + offset, &step->value, sizeof(step->value));
}

static void on_point(enum ring_test_point point)
{
	for (unsigned int i = 0; i < world.poke_count; i++)
		if (world.pokes[i].left && --world.pokes[i].left == 0)
			change(&world.pokes[i].step);
}

static void poke(const struct step *step)
{
	if (!step->when || world.poke_count == POKES_MAX) {
		change(step);
		return;
	}
	world.pokes[world.poke_count].step = *step;
	world.pokes[world.poke_count++].left = step->when;
}

/* Moves the pool's mapping between guard pages. */
static void guard_pool(struct pool *pool)
{
	struct ring_pool *ring = &pool->ring;
	char *old = (char *)ring->shared, *room;

	world.pool_bytes = ring->layout.pool_bytes;
	room = mmap(NULL, world.pool_bytes + 2 * GUARD_BYTES, PROT_NONE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	FUZZ_CHECK(room != MAP_FAILED);
	world.pool = mremap(old, world.pool_bytes, world.pool_bytes, MREMAP_MAYMOVE | MREMAP_FIXED,
		room + GUARD_BYTES);
	FUZZ_CHECK(world.pool == room + GUARD_BYTES);
	ring->shared = (void *)world.pool;
	ring->slots = (void *)(world.pool + ((char *)ring->slots - old));
	ring->heads = (void *)(world.pool + ((char *)ring->heads - old));
	ring->data = world.pool + (ring->data - old);
}

static void free_pool(struct pool *pool)
{
	size_t ring_bytes = ring_pool_private_bytes(&pool->ring.layout);

	own_fd_close(&pool->memfd);
	munmap(world.pool - GUARD_BYTES, world.pool_bytes + 2 * GUARD_BYTES);
	/* as pool.c has made it */
	munmap(pool, 2 * KPROF_POOL_PAGE +
		(ring_bytes + KPROF_POOL_PAGE - 1) / KPROF_POOL_PAGE * KPROF_POOL_PAGE);
}

/* ---- the program's side ------------------------------------------------------------------------- */

static void print_list(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void print_list(const char *format, ...)
{
	va_list list;

	va_start(list, format);
	kprof_vprintf(format, list);
	kprof_vprintx(format, list);
	va_end(list);
}

static void write_events(unsigned int count)
{
	static const char text[] = "a text that is longer than what is copied by two moves";

	for (unsigned int i = 0; i < count; i++) {
		KPROF_EVENT(fuzz, word, "%u", i);
		KPROF_EVENT(fuzz, words, "%u %u %u %u", i, i, i, i);
		KPROF_EVENT(fuzz, text, "%s %d", text + i % sizeof(text), (int)i);
		if (i % 16 == 0) {
			kprof_printf("printf %u %s", i, text);
			kprof_backtrace("backtrace %u", i);
			print_list("list %u %f", i, 0.5);
		}
	}
}

static void *run_thread(void *arg)
{
	write_events(*(const unsigned int *)arg);
	return NULL;
}

static void in_a_thread(void *(*run)(void *), void *arg)
{
	pthread_t thread;

	FUZZ_CHECK(pthread_create(&thread, NULL, run, arg) == 0);
	FUZZ_CHECK(pthread_join(thread, NULL) == 0);
}

/* ---- steps -------------------------------------------------------------------------------------- */

struct input {
	const uint8_t *data;
	size_t size;
};

static void run_packet(struct input *input, struct step *step)
{
	uint32_t bytes = (uint32_t)MIN(step->bytes, input->size);
	char *packet = g_malloc(MAX(bytes, 1u));

	memcpy(packet, input->data, bytes);
	if (step->kind % STEP_KINDS == STEP_SIZED && bytes >= sizeof(struct kprof_packet))
		memcpy(packet + offsetof(struct kprof_packet, bytes), &bytes, sizeof(bytes));
	input->data += bytes;
	input->size -= bytes;
	say(packet, bytes);
	g_free(packet);
}

/* In a thread of its own: what the library keeps for it must not outlive the pool. */
static void *run_steps(void *arg)
{
	struct input *input = arg;

	while (input->size >= sizeof(struct step)) {
		struct step step;
		unsigned int count;

		memcpy(&step, input->data, sizeof(step));
		input->data += sizeof(step);
		input->size -= sizeof(step);
		count = step.bytes % BURST_MAX;
		switch (step.kind % STEP_KINDS) {
		case STEP_POKE:
			poke(&step);
			break;
		case STEP_EVENTS:
			write_events(count);
			break;
		case STEP_THREAD:
			in_a_thread(run_thread, &count);
			break;
		default:
			run_packet(input, &step);
		}
	}
	return NULL;
}

static void switch_all_on(void)
{
	struct {
		struct kprof_packet_switch head;
		uint8_t on[64];
	} packet = {.head = {{KPROF_PACKET_SWITCH, sizeof(packet)}, 0, sizeof(packet.on)}};

	memset(packet.on, 1, sizeof(packet.on));
	say(&packet, sizeof(packet));
}

static void attach(void)
{
	struct client_signals signals;

	client.paths[0].refused = false;
	client_lock(&signals);
	FUZZ_CHECK(attach_try() == 0);
	client_unlock(&signals);
	world.server = accept4(world.listener, NULL, NULL, SOCK_CLOEXEC);
	FUZZ_CHECK(world.server >= 0);
	guard_pool(atomic_read_relaxed(&client.pool));
	take_all();
	switch_all_on();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input input = {data, size};
	struct client_signals signals;
	struct pool *pool;

	alarm(HANG_S);
	listen_once();
	attach();
	world.poke_count = 0;
	ring_test_hook = on_point;
	in_a_thread(run_steps, &input);
	ring_test_hook = NULL;
	client_lock(&signals);
	attach_drop();
	pool = atomic_read_relaxed(&client.pool);
	atomic_write_relaxed(&client.pool, NULL);
	client_unlock(&signals);
	free_pool(pool);
	close(world.server);
	return 0;
}

/* ---- the corpus --------------------------------------------------------------------------------- */

static void add(GByteArray *out, struct step step, const void *data, size_t bytes)
{
	if (data)
		step.bytes = (uint16_t)bytes;
	g_byte_array_append(out, (const uint8_t *)&step, sizeof(step));
	if (data)
		g_byte_array_append(out, data, (guint)bytes);
}

static void add_events(GByteArray *out, uint8_t kind, uint16_t count)
{
	add(out, (struct step){.kind = kind, .bytes = count}, NULL, 0);
}

static void add_poke(GByteArray *out, uint8_t when, uint32_t offset, uint64_t value)
{
	add(out, (struct step){.kind = STEP_POKE, .when = when, .offset = offset, .value = value}, NULL, 0);
}

static void add_packets(GByteArray *out)
{
	const struct kprof_packet_welcome welcome = {{KPROF_PACKET_WELCOME, 0}, KPROF_ATTACH_VERSION, 0};
	const struct kprof_packet_clear clear = {{KPROF_PACKET_CLEAR, 0}, 3};
	const struct kprof_packet_sync sync = {{KPROF_PACKET_SYNC, 0}, 1};
	const struct {
		struct kprof_packet_switch head;
		uint8_t on[8];
	} change = {{{KPROF_PACKET_SWITCH, 0}, 0, 8}, {1, 0, 1, 0, 1, 0, 1, 0}};
	const struct step step = {.kind = STEP_SIZED};

	add(out, step, &welcome, sizeof(welcome));
	add(out, step, &change, sizeof(change));
	add(out, step, &clear, sizeof(clear));
	add(out, step, &sync, sizeof(sync));
}

/* A value for each word that a writer of slot 0 reads or writes: far away, and just behind the end. */
static void add_slot_pokes(GByteArray *out, uint8_t when, uint64_t value)
{
	for (uint32_t at = 0; at < sizeof(struct kprof_slot); at += 8)
		add_poke(out, when, KPROF_POOL_PAGE + at, value);
}

static void add_head_pokes(GByteArray *out, uint64_t value)
{
	uint32_t chunks = 7, heads = KPROF_POOL_PAGE + chunks * (uint32_t)sizeof(struct kprof_slot);

	for (uint32_t i = 0; i < chunks; i++)
		add_poke(out, 0, heads + i * (uint32_t)sizeof(struct kprof_chunk) + 16, value);
}

bool fuzz_seed(unsigned int number, GByteArray *out)
{
	switch (number) {
	case 0: /* all is as it should be */
		add_packets(out);
		add_events(out, STEP_EVENTS, 300);
		add_events(out, STEP_THREAD, 20);
		add_events(out, STEP_EVENTS, 1);
		return true;
	case 1: /* the position, the chunk and the counts of a slot; then chunks are changed */
		add_events(out, STEP_EVENTS, 1);
		add_slot_pokes(out, 0, 0x3fff);
		add_events(out, STEP_EVENTS, 2);
		add_slot_pokes(out, 0, 0x7fffffff7fffffffull);
		add_events(out, STEP_EVENTS, 200);
		return true;
	case 2: /* a thread left half a chunk, whose head then says that it ends elsewhere */
		add_events(out, STEP_THREAD, 10);
		add_head_pokes(out, KPROF_CHUNK_WORD(KPROF_CHUNK_PARTIAL, 0xffff, 0xfff0, 1));
		add_events(out, STEP_THREAD, 10);
		add_head_pokes(out, KPROF_CHUNK_WORD(KPROF_CHUNK_PARTIAL, 1, 2, 0xffffff));
		add_events(out, STEP_EVENTS, 10);
		return true;
	case 3: /* in the middle of an event, and of the change of a chunk */
		for (uint8_t when = 1; when < 15; when++)
			add_poke(out, when, KPROF_POOL_PAGE, when & 1 ? 0 : ~0ull);
		add_events(out, STEP_EVENTS, 100);
		return true;
	case 4: /* no chunk at all, and a position that says so otherwise */
		add_slot_pokes(out, 0, 0);
		add_poke(out, 2, KPROF_POOL_PAGE, 0);
		add_events(out, STEP_THREAD, 1);
		add_poke(out, 0, 64, ~0ull); /* tickets */
		add_events(out, STEP_THREAD, 200);
		return true;
	default:
		return false;
	}
}
