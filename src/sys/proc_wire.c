/* SPDX-License-Identifier: MIT */
/* Encodes records about processes: see proc_wire.h. */
#include "sys/proc_wire.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define ALIGN 8

enum kind { KIND_PROCESS = 1, KIND_THREAD, KIND_MAPPING, KIND_UNREADABLE };

/* A text with its NUL follows, padded. */
struct wire {
	uint32_t kind;
	uint32_t text_bytes; /* with the NUL */
	uint32_t pid;
	uint32_t number; /* of a process its user, of a thread its tid */
	uint64_t start;	 /* address; of a process its start in ticks */
	uint64_t size; /* of a process its real user */
	uint64_t offset;
	uint64_t inode;
	uint32_t dev_major;
	uint32_t dev_minor;
	uint8_t build_id_known;
	uint8_t build_id_length;
	uint8_t build_id[PROC_BUILD_ID_MAX];
	uint8_t unused[2];
};

_Static_assert(sizeof(struct wire) == 80, "see PROC_WIRE_MAX");
_Static_assert(sizeof(struct wire) % ALIGN == 0, "the next record is aligned");

static size_t padded(size_t bytes)
{
	return (bytes + ALIGN - 1) / ALIGN * ALIGN;
}

static size_t put(void *out, struct wire *wire, const char *text)
{
	size_t length = strnlen(text, PROC_WIRE_MAX - sizeof(*wire) - ALIGN);
	unsigned char *bytes = out;

	wire->text_bytes = (uint32_t)length + 1;
	memcpy(bytes, wire, sizeof(*wire));
	memcpy(bytes + sizeof(*wire), text, length);
	memset(bytes + sizeof(*wire) + length, 0, padded(length + 1) - length);
	return sizeof(*wire) + padded(length + 1);
}

size_t proc_wire_process(void *out, const struct proc_process *process)
{
	struct wire wire = {
		.kind = KIND_PROCESS,
		.pid = (uint32_t)process->pid,
		.number = process->uid,
		.start = process->start_ticks,
		.size = process->real_uid,
	};

	return put(out, &wire, process->exe);
}

size_t proc_wire_thread(void *out, const struct proc_thread *thread)
{
	struct wire wire = {
		.kind = KIND_THREAD,
		.pid = (uint32_t)thread->pid,
		.number = (uint32_t)thread->tid,
	};

	return put(out, &wire, thread->comm);
}

size_t proc_wire_mapping(void *out, const struct proc_mapping *mapping)
{
	struct wire wire = {
		.kind = KIND_MAPPING,
		.pid = (uint32_t)mapping->pid,
		.start = mapping->start,
		.size = mapping->size,
		.offset = mapping->offset,
		.inode = mapping->inode,
		.dev_major = mapping->dev_major,
		.dev_minor = mapping->dev_minor,
		.build_id_known = mapping->build_id_known,
		.build_id_length = mapping->build_id_length,
	};

	memcpy(wire.build_id, mapping->build_id, mapping->build_id_length);
	return put(out, &wire, mapping->path);
}

size_t proc_wire_unreadable(void *out, pid_t pid)
{
	struct wire wire = { .kind = KIND_UNREADABLE, .pid = (uint32_t)pid };

	return put(out, &wire, "");
}

/* ---- decoding -------------------------------------------------------------------------------- */

static int tell_mapping(const struct wire *wire, const char *text, const struct proc_visitor *visitor)
{
	const struct proc_mapping mapping = {
		.pid = (pid_t)wire->pid,
		.start = wire->start,
		.size = wire->size,
		.offset = wire->offset,
		.inode = wire->inode,
		.dev_major = wire->dev_major,
		.dev_minor = wire->dev_minor,
		.path = text,
		.build_id = wire->build_id,
		.build_id_length = wire->build_id_length,
		.build_id_known = wire->build_id_known,
	};

	return visitor->mapping(visitor->arg, &mapping);
}

static int tell(const struct wire *wire, const char *text, const struct proc_visitor *visitor,
	int (*unreadable)(void *arg, pid_t pid))
{
	const struct proc_process process = {
		.pid = (pid_t)wire->pid,
		.uid = wire->number,
		.real_uid = (uid_t)wire->size,
		.comm = "",
		.start_ticks = wire->start,
		.exe = text,
	};
	const struct proc_thread thread = {
		.pid = (pid_t)wire->pid, .tid = (pid_t)wire->number, .comm = text
	};

	switch ((enum kind)wire->kind) {
	case KIND_PROCESS:
		return visitor->process ? visitor->process(visitor->arg, &process) : 0;
	case KIND_THREAD:
		return visitor->thread ? visitor->thread(visitor->arg, &thread) : 0;
	case KIND_MAPPING:
		return visitor->mapping ? tell_mapping(wire, text, visitor) : 0;
	case KIND_UNREADABLE:
		return unreadable ? unreadable(visitor->arg, (pid_t)wire->pid) : 0;
	}
	return -EBADMSG;
}

int proc_wire_read(const void *bytes, size_t size, const struct proc_visitor *visitor,
	int (*unreadable)(void *arg, pid_t pid))
{
	const unsigned char *at = bytes;
	struct wire wire;
	int ret = 0;

	while (!ret && size) {
		const char *text = (const char *)at + sizeof(wire);

		if (size < sizeof(wire))
			return -EBADMSG;
		memcpy(&wire, at, sizeof(wire));
		if (!wire.text_bytes || wire.text_bytes > size - sizeof(wire) ||
			padded(wire.text_bytes) > size - sizeof(wire) ||
			text[wire.text_bytes - 1] || !wire.pid || wire.pid > INT32_MAX ||
			wire.build_id_length > sizeof(wire.build_id))
			return -EBADMSG;
		ret = tell(&wire, text, visitor, unreadable);
		at += sizeof(wire) + padded(wire.text_bytes);
		size -= sizeof(wire) + padded(wire.text_bytes);
	}
	return ret;
}
