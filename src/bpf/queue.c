/* SPDX-License-Identifier: MIT */
/* A queue of small records from programs to the server. */
#include "bpf/queue.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include "bpf/map.h"

/* Records of one reading: each may print a map of some thousand keys. */
#define READ_MAX 32

struct queue {
	int map;
	struct ring_buffer *ring;
	void (*each)(void *arg, const void *record, size_t bytes);
	void *arg;
	unsigned int left; /* records that may be read before others get the caller's lock */
};

static int take(void *arg, void *record, size_t bytes)
{
	struct queue *queue = arg;

	queue->each(queue->arg, record, bytes);
	/* other than 0 ends the reading behind this record; the rest is readable still */
	return --queue->left ? 0 : -EAGAIN;
}

int queue_create(uint32_t bytes, void (*each)(void *arg, const void *record, size_t bytes), void *arg,
	struct queue **queue, struct err *err)
{
	const struct map_spec spec = { .type = BPF_MAP_TYPE_RINGBUF, .name = "kp_queue", .entries = bytes };
	struct queue *made = calloc(1, sizeof(*made));
	int ret;

	if (!made)
		return err_set(err, ENOMEM, "there is no memory for the queue");
	made->map = -1;
	made->each = each;
	made->arg = arg;
	ret = map_create(&spec, &made->map, err);
	if (!ret) {
		made->ring = ring_buffer__new(made->map, take, made, NULL);
		if (!made->ring)
			ret = err_set(err, errno, "the queue can't be mapped");
	}
	if (ret) {
		queue_destroy(made);
		return ret;
	}
	*queue = made;
	return 0;
}

void queue_destroy(struct queue *queue)
{
	if (!queue)
		return;
	ring_buffer__free(queue->ring);
	if (queue->map >= 0)
		close(queue->map);
	free(queue);
}

int queue_map(const struct queue *queue)
{
	return queue->map;
}

int queue_fd(const struct queue *queue)
{
	return ring_buffer__epoll_fd(queue->ring);
}

bool queue_has_records(const struct queue *queue)
{
	struct pollfd fd = { .fd = queue_fd(queue), .events = POLLIN };

	return poll(&fd, 1, 0) > 0;
}

void queue_read(struct queue *queue)
{
	queue->left = READ_MAX;
	ring_buffer__consume(queue->ring);
}
