/* SPDX-License-Identifier: MIT */
/* The rings of kernel events. */
#include "bpf/rings.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/atomic.h"
#include "bpf/map.h"
#include "bpf/pins.h"

/*
 * How often, and after which time, a reader looks again at a record that is being written. That takes below
 * 1 us, but the CPU of a virtual machine may be stopped meanwhile for some ms.
 */
#define UNFINISHED_TRIES 200
#define UNFINISHED_US 100

/* So many torn pieces are known apart until they are overwritten. Of more the oldest are joined. */
#define TORN_PIECES 64u

/* What readers gave up of one CPU's ring. */
struct torn {
	uint64_t records;
	uint64_t overwritten; /* of these, those that are not in the ring any more */
	uint64_t until;	      /* the position up to which they were counted */
	uint32_t count;
	struct torn_piece {
		uint64_t until, records;
	} pieces[TORN_PIECES]; /* in the ring, by their position */
};

/* l: under the lock; the rest is invariant */
struct rings {
	int map;
	uint32_t cpus;
	uint32_t bytes;
	size_t value_bytes;
	size_t mapped_bytes;
	char *memory;
	pthread_mutex_t lock; /* a leaf */
	uint64_t *overwritten; /* l: the most that was seen, of each CPU */
	struct torn *torn;     /* l: of each CPU */
};

uint32_t rings_head_bytes(uint32_t bytes)
{
	return (uint32_t)(sizeof(struct kernel_ring_head) +
		bytes / KERNEL_CHUNK_BYTES * sizeof(struct kernel_chunk));
}

uint32_t rings_value_bytes(uint32_t bytes)
{
	return rings_head_bytes(bytes) + bytes + KERNEL_RECORD_MAX;
}

static struct kernel_ring_head *head_of(const struct rings *rings, uint32_t cpu)
{
	return (struct kernel_ring_head *)(void *)(rings->memory + cpu * rings->value_bytes);
}

static const char *data_of(const struct rings *rings, uint32_t cpu)
{
	return (const char *)head_of(rings, cpu) + rings_head_bytes(rings->bytes);
}

/* Acquire: what the programs have stored before the word is then visible. */
static uint64_t read_word(const uint64_t *word)
{
	return atomic_plain_read_acquire(word);
}

static int map_memory(struct rings *rings, struct err *err)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *memory;
	int ret;

	rings->mapped_bytes = (rings->cpus * rings->value_bytes + page - 1) / page * page;
	ret = map_mmap(rings->map, rings->mapped_bytes, 0, &memory);
	if (ret)
		return err_set(err, -ret, "the rings can't be mapped: %s", strerror(-ret));
	rings->memory = memory;
	return 0;
}

/* Without its memory. */
static struct rings *make(uint32_t kb)
{
	struct rings *made = calloc(1, sizeof(*made));
	int cpus = map_possible_cpus();

	if (!made)
		return NULL;
	made->map = -1;
	made->cpus = cpus > 0 ? (uint32_t)cpus : 1;
	made->bytes = RINGS_KB_MIN * 1024;
	while (made->bytes * 2 <= kb * 1024)
		made->bytes *= 2;
	made->value_bytes = rings_value_bytes(made->bytes);
	pthread_mutex_init(&made->lock, NULL);
	made->overwritten = calloc(made->cpus, sizeof(uint64_t));
	made->torn = calloc(made->cpus, sizeof(*made->torn));
	if (!made->overwritten || !made->torn) {
		rings_destroy(made);
		return NULL;
	}
	return made;
}

int rings_create(uint32_t kb, struct rings **rings, struct err *err)
{
	struct map_spec spec = { .type = BPF_MAP_TYPE_ARRAY, .name = "kp_rings", .key_bytes = 4,
		.flags = BPF_F_MMAPABLE };
	struct rings *made = make(kb);
	int ret;

	if (!made)
		return err_set(err, ENOMEM, "there is no memory for the rings");
	spec.value_bytes = (uint32_t)made->value_bytes;
	spec.entries = made->cpus;
	ret = map_create(&spec, &made->map, err);
	if (!ret)
		ret = map_memory(made, err);
	if (ret) {
		rings_destroy(made);
		return ret;
	}
	*rings = made;
	return 0;
}

int rings_create_private(uint32_t kb, struct rings **rings, struct err *err)
{
	struct rings *made = make(kb);
	void *memory;

	if (!made)
		return err_set(err, ENOMEM, "there is no memory for the rings");
	made->mapped_bytes = made->cpus * made->value_bytes;
	memory = mmap(NULL, made->mapped_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED) {
		rings_destroy(made);
		return err_set(err, ENOMEM, "there is no memory for the rings");
	}
	made->memory = memory;
	*rings = made;
	return 0;
}

/* In the order of the programs (record.h): readers look at any time. */
void rings_write(struct rings *rings, uint32_t cpu, struct kernel_record *record, size_t bytes, uint32_t id,
	uint32_t flags)
{
	struct kernel_ring_head *head = head_of(rings, cpu);
	const uint64_t pos = head->pos, end = pos + bytes;
	struct kernel_record *at =
		(struct kernel_record *)(void *)(rings->memory + cpu * rings->value_bytes +
			rings_head_bytes(rings->bytes) + (pos & (rings->bytes - 1)));

	record->seq = (uint32_t)head->count;
	record->head = 0;
	atomic_plain_write_release(&head->count, head->count + 1);
	atomic_plain_write_release(&head->pos, end);
	if (pos / KERNEL_CHUNK_BYTES != end / KERNEL_CHUNK_BYTES) {
		struct kernel_chunk *chunk =
			&head->chunks[end / KERNEL_CHUNK_BYTES & (rings->bytes / KERNEL_CHUNK_BYTES - 1)];

		atomic_plain_write_release(&chunk->seq, head->count);
		atomic_plain_write_release(&chunk->pos, end);
	}
	/* the reader's look at pos must not pass the bytes that are written over older records */
	atomic_fence_full();
	memcpy(at, record, bytes);
	atomic_plain_write_release(
		&at->head, KERNEL_HEAD(KERNEL_TAG(pos), (uint32_t)(bytes / 8), flags, id));
}

void rings_set_missed(struct rings *rings, uint32_t cpu, uint64_t missed)
{
	atomic_plain_write_release(&head_of(rings, cpu)->missed, missed);
}

int rings_adopt(int map, struct rings **rings, struct err *err)
{
	struct pins_map found = { 0 };
	uint32_t bytes = RINGS_KB_MIN * 1024;
	struct rings *made;
	int ret = pins_look_at_map(map, &found);

	while (!ret && rings_value_bytes(bytes) < found.value_bytes && bytes < RINGS_KB_MAX * 1024)
		bytes *= 2;
	made = ret ? NULL : make(bytes / 1024);
	if (!made || found.type != BPF_MAP_TYPE_ARRAY || found.flags != BPF_F_MMAPABLE ||
		found.key_bytes != 4 || found.value_bytes != made->value_bytes ||
		found.entries != made->cpus) {
		rings_destroy(made);
		close(map);
		return err_set(err, EINVAL, "the pinned rings are not those of this machine");
	}
	made->map = map;
	ret = map_memory(made, err);
	if (ret)
		rings_destroy(made);
	else
		*rings = made;
	return ret;
}

void rings_destroy(struct rings *rings)
{
	if (!rings)
		return;
	if (rings->memory)
		munmap(rings->memory, rings->mapped_bytes);
	if (rings->map >= 0)
		close(rings->map);
	free(rings->overwritten);
	free(rings->torn);
	pthread_mutex_destroy(&rings->lock);
	free(rings);
}

int rings_map(const struct rings *rings)
{
	return rings->map;
}

uint32_t rings_cpus(const struct rings *rings)
{
	return rings->cpus;
}

uint32_t rings_bytes(const struct rings *rings)
{
	return rings->bytes;
}

/* ---- where records begin ----------------------------------------------------------------------- */

/* The first record at or behind `pos` that a chunk names, below `end`; `end` if there is none. */
static uint64_t find_boundary(const struct rings *rings, uint32_t cpu, uint64_t pos, uint64_t end,
	uint64_t *number)
{
	const struct kernel_ring_head *head = head_of(rings, cpu);
	const uint32_t chunks = rings->bytes / KERNEL_CHUNK_BYTES;
	uint64_t chunk;

	for (chunk = pos / KERNEL_CHUNK_BYTES; chunk <= end / KERNEL_CHUNK_BYTES; chunk++) {
		const struct kernel_chunk *first = &head->chunks[chunk & (chunks - 1)];
		uint64_t at = read_word(&first->pos);

		*number = read_word(&first->seq);
		/*
		 * The program stores the number first, then the position: between them it is the number of
		 * the chunk that is written over this one. Its bytes are reserved before.
		 */
		if (at / KERNEL_CHUNK_BYTES == chunk && at >= pos && at <= end &&
			read_word(&head->pos) / KERNEL_CHUNK_BYTES < chunk + chunks)
			return at;
	}
	*number = read_word(&head->count);
	return end;
}

static uint64_t oldest(const struct rings *rings, uint64_t end)
{
	return end > rings->bytes ? end - rings->bytes : 0;
}

void rings_position(const struct rings *rings, uint32_t cpu, uint64_t *pos, uint64_t *number)
{
	const struct kernel_ring_head *head = head_of(rings, cpu);

	*number = read_word(&head->count);
	*pos = read_word(&head->pos);
}

uint64_t rings_held(const struct rings *rings, uint32_t cpu)
{
	uint64_t end, next, first = 0;

	rings_position(rings, cpu, &end, &next);
	if (oldest(rings, end))
		find_boundary(rings, cpu, oldest(rings, end), end, &first);
	return next > first ? next - first : 0;
}

/* ---- copies ------------------------------------------------------------------------------------ */

/* Whether the record at `at` is finished, in memory that is laid out as the ring. */
static bool is_finished(const char *data, uint32_t mask, uint64_t at, uint64_t *word)
{
	const struct kernel_record *record = (const struct kernel_record *)(const void *)(data + (at & mask));

	*word = read_word(&record->head);
	return KERNEL_HEAD_TAG(*word) == KERNEL_TAG(at) &&
		KERNEL_HEAD_UNITS(*word) >= sizeof(*record) / 8 &&
		KERNEL_HEAD_UNITS(*word) <= KERNEL_RECORD_MAX / 8;
}

static struct kernel_record *record_at(const struct rings_copy *copy, uint64_t at)
{
	return (struct kernel_record *)(void *)(copy->data + (at & copy->mask));
}

const struct kernel_record *rings_next(const struct rings_copy *copy, uint64_t *at)
{
	const struct kernel_record *record;
	uint64_t word;

	while (*at < copy->end && !is_finished(copy->data, copy->mask, *at, &word)) {
		/* a gap: see skip_unfinished() */
		record = record_at(copy, *at);
		if (record->time_ns <= *at || record->time_ns > copy->end)
			return NULL;
		*at = record->time_ns;
	}
	if (*at >= copy->end)
		return NULL;
	record = record_at(copy, *at);
	*at += KERNEL_HEAD_UNITS(word) * 8;
	return *at <= copy->end ? record : NULL;
}

static void copy_bytes(const struct rings *rings, struct rings_copy *copy, uint64_t from, uint64_t end)
{
	const char *data = data_of(rings, copy->cpu);
	uint32_t begin = (uint32_t)(from & copy->mask), stop = (uint32_t)(end & copy->mask);

	if (from == end)
		return;
	if (begin < stop) {
		memcpy(copy->data + begin, data + begin, stop - begin);
		return;
	}
	memcpy(copy->data + begin, data + begin, rings->bytes + KERNEL_RECORD_MAX - begin);
	memcpy(copy->data, data, stop);
}

static void forget_piece(struct torn *torn)
{
	memmove(&torn->pieces[0], &torn->pieces[1], --torn->count * sizeof(torn->pieces[0]));
}

/* Counts what is between two records once, whatever number of readers find it. */
static void count_torn(struct rings *rings, uint32_t cpu, uint64_t until, uint64_t records)
{
	struct torn *torn = &rings->torn[cpu];

	pthread_mutex_lock(&rings->lock);
	if (torn->until < until) {
		if (torn->count == TORN_PIECES) {
			torn->pieces[1].records += torn->pieces[0].records;
			forget_piece(torn);
		}
		torn->pieces[torn->count++] = (struct torn_piece){ until, records };
		torn->until = until;
		torn->records += records;
	}
	pthread_mutex_unlock(&rings->lock);
}

/* Torn records before the position, the first one of the ring, are overwritten by now. With the lock held. */
static void pass_torn(struct torn *torn, uint64_t begin)
{
	while (torn->count && torn->pieces[0].until <= begin) {
		torn->overwritten += torn->pieces[0].records;
		forget_piece(torn);
	}
}

/*
 * The number of the record at `at` of the ring, if those before it in its chunk are finished. False: it is
 * not known, since they are not, or were overwritten.
 */
static bool find_number(const struct rings *rings, uint32_t cpu, uint64_t at, uint32_t *number)
{
	uint64_t word, first, next = find_boundary(rings, cpu, at / KERNEL_CHUNK_BYTES * KERNEL_CHUNK_BYTES,
		at + 8, &first);

	*number = (uint32_t)first;
	for (; next < at && is_finished(data_of(rings, cpu), rings->bytes - 1, next, &word); (*number)++)
		next += KERNEL_HEAD_UNITS(word) * 8;
	return next == at;
}

/* What is known of the numbers of records while a copy is walked. */
struct walk {
	uint64_t at;
	bool numbered;
	uint32_t number; /* behind the highest one that was seen: events interrupt each other */
};

static void pass_record(struct walk *walk, const struct kernel_record *record)
{
	if (!walk->numbered || (int32_t)(record->seq + 1 - walk->number) > 0)
		walk->number = record->seq + 1;
	walk->numbered = true;
	walk->at += KERNEL_HEAD_UNITS(record->head) * 8;
}

/*
 * Leaves out what is between an unfinished record and the first one of the next chunk, or ends the copy if
 * there is none yet.
 */
static void skip_unfinished(struct rings *rings, struct rings_copy *copy, struct walk *walk)
{
	uint64_t number, next = find_boundary(rings, copy->cpu, walk->at + 8, copy->end, &number);
	struct kernel_record *gap = record_at(copy, walk->at);
	int32_t records = 1; /* of more it is not known how many */

	if (next >= copy->end) {
		copy->end = walk->at;
		return;
	}
	if (walk->numbered || find_number(rings, copy->cpu, walk->at, &walk->number))
		records = (int32_t)((uint32_t)number - walk->number);
	count_torn(rings, copy->cpu, next, records > 0 ? (uint64_t)records : 1);
	gap->head = 0;
	gap->time_ns = next;
	*walk = (struct walk){ .at = next, .numbered = true, .number = (uint32_t)number };
}

/*
 * Goes through the copy. At a record that is not finished it copies the rest again, and at last gives it
 * up, or ends the copy before it. One that was overwritten before it was copied is not waited for.
 */
static void settle(struct rings *rings, struct rings_copy *copy, bool skip)
{
	struct walk walk = { .at = copy->begin };
	uint64_t word, least, number;
	int tries = 0;

	while (walk.at < copy->end) {
		if (is_finished(copy->data, copy->mask, walk.at, &word)) {
			pass_record(&walk, record_at(copy, walk.at));
			continue;
		}
		atomic_fence_acquire(); /* after the data */
		least = oldest(rings, read_word(&head_of(rings, copy->cpu)->pos));
		if (walk.at < least) {
			copy->begin = find_boundary(rings, copy->cpu, least, copy->end, &number);
			walk = (struct walk){ .at = copy->begin };
		} else if (tries++ < UNFINISHED_TRIES) {
			usleep(UNFINISHED_US);
			copy_bytes(rings, copy, walk.at, copy->end);
		} else if (skip) {
			skip_unfinished(rings, copy, &walk);
		} else {
			copy->end = walk.at;
		}
	}
}

int rings_copy(struct rings *rings, uint32_t cpu, uint64_t from, bool skip, struct rings_copy *copy)
{
	struct kernel_ring_head *head = head_of(rings, cpu);
	uint64_t end = read_word(&head->pos), least, now, number = 0;

	*copy = (struct rings_copy){ .cpu = cpu, .mask = rings->bytes - 1 };
	least = oldest(rings, end);
	copy->begin = least > from ? find_boundary(rings, cpu, least, end, &number) : from;
	copy->end = end;
	if (copy->begin >= end) {
		copy->begin = copy->end = end;
		return 0;
	}
	copy->data = malloc(rings->bytes + KERNEL_RECORD_MAX);
	if (!copy->data) {
		copy->end = copy->begin;
		return -ENOMEM;
	}
	copy_bytes(rings, copy, copy->begin, end);
	settle(rings, copy, skip);
	/* after the data: what was reserved meanwhile may have been written over the copied records */
	atomic_fence_acquire();
	now = read_word(&head->pos);
	if (oldest(rings, now) > copy->begin)
		copy->begin = find_boundary(rings, cpu, oldest(rings, now), copy->end, &number);
	return 0;
}

void rings_copy_clear(struct rings_copy *copy)
{
	free(copy->data);
	copy->data = NULL;
	copy->begin = copy->end;
}

void rings_total(struct rings *rings, struct rings_totals *totals)
{
	uint32_t cpu;

	*totals = (struct rings_totals){ 0 };
	for (cpu = 0; cpu < rings->cpus; cpu++) {
		const struct kernel_ring_head *head = head_of(rings, cpu);
		uint64_t end = read_word(&head->pos), begin = oldest(rings, end), number = 0;
		struct torn *torn = &rings->torn[cpu];

		if (begin)
			begin = find_boundary(rings, cpu, begin, end, &number);
		pthread_mutex_lock(&rings->lock);
		pass_torn(torn, begin);
		/* an event that interrupted another one between its two counters may be off by one */
		if (number > torn->overwritten && rings->overwritten[cpu] < number - torn->overwritten)
			rings->overwritten[cpu] = number - torn->overwritten;
		totals->overwritten += rings->overwritten[cpu];
		totals->torn += torn->records;
		pthread_mutex_unlock(&rings->lock);
		totals->recorded += read_word(&head->count);
		totals->missed += read_word(&head->missed);
	}
	/* a call is taken back on the CPU of its return, and may be counted on one that was read before */
	if ((int64_t)totals->missed < 0)
		totals->missed = 0;
}
