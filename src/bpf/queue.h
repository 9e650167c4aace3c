/* SPDX-License-Identifier: MIT */
/*
 * A queue of small records from programs to the server: BPF's ring buffer, whose writes wake a reader.
 * One thread reads; programs write with bpf_ringbuf_output().
 */
#ifndef KPROFS_BPF_QUEUE_H
#define KPROFS_BPF_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct queue;

/*
 * bytes: a power of two, at least a page. each() gets a record at a time, from queue_read(). -ENOMEM,
 * -EPERM, -EINVAL on kernels before 5.8.
 */
int queue_create(uint32_t bytes, void (*each)(void *arg, const void *record, size_t bytes), void *arg,
	struct queue **queue, struct err *err);
/* NULL is allowed. */
void queue_destroy(struct queue *queue);
/* For programs: the map. */
int queue_map(const struct queue *queue);
/* Becomes readable when there are records; valid as long as the queue. */
int queue_fd(const struct queue *queue);
/* Whether there are records that queue_read() has not taken, or not let each() end with. */
bool queue_has_records(const struct queue *queue);
/* Takes all records that are there. */
void queue_read(struct queue *queue);

#endif
