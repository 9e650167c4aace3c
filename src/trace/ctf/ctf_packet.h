/* SPDX-License-Identifier: MIT */
/*
 * Writes a stream file of CTF 1.8: packets of events, one after the other. The metadata
 * (ctf_class.c) describes the same structs in TSDL.
 *
 * The first packet is empty: readers count discarded events from one packet to the next. A packet
 * is of one CPU; an event of another CPU begins a new packet. One thread at a time.
 */
#ifndef KPROFS_TRACE_CTF_CTF_PACKET_H
#define KPROFS_TRACE_CTF_CTF_PACKET_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#define CTF_MAGIC 0xc1fc1fc1u
#define CTF_UUID_BYTES 16
/* A packet is written at this size. Each CPU holds as much in memory, and one event more. */
#define CTF_PACKET_BYTES 32768u
/* magic, uuid, stream; begin, end, content, size, discarded, CPU */
#define CTF_PACKET_HEAD_BYTES (4 + CTF_UUID_BYTES + 4 + 5 * 8 + 4)

struct ctf_packets {
	int fd;				    /* not owned */
	unsigned char uuid[CTF_UUID_BYTES]; /* of the trace */
	uint32_t cpu;			    /* of the current packet */
	uint64_t begin_ns, end_ns;	    /* of the current packet */
	uint64_t discarded;		    /* events, up to its end */
	uint64_t reported;		    /* of them, those that written packets count */
	GString *content;		    /* after its header; empty: no packet is begun */
	uint64_t bytes;			    /* written */
};

/* The first packet is of this CPU. */
void ctf_packets_init(struct ctf_packets *packets, int fd, const unsigned char *uuid, uint32_t cpu);
void ctf_packets_fini(struct ctf_packets *packets);

/*
 * Writes the first packet, with this time and without events. Events that were missing before it
 * are counted in the next one. 0 or the errno of write(2).
 */
int ctf_packets_begin(struct ctf_packets *packets, uint64_t begin_ns);

/* Adds an event: its id, its time (not before the last one's) and the bytes that follow. */
int ctf_packets_add(struct ctf_packets *packets, uint32_t cpu, uint64_t time_ns, uint32_t id,
	const GString *rest);

/* `count` events are missing: the next packet that is written counts them. */
void ctf_packets_discard(struct ctf_packets *packets, uint64_t count);

/* Writes the last packet, if it has something. */
int ctf_packets_end(struct ctf_packets *packets);

/* Bytes of CTF files: numbers in the machine's byte order, without padding. */
static inline void ctf_append(GString *out, const void *bytes, size_t size)
{
	g_string_append_len(out, bytes, (gssize)size);
}

static inline void ctf_append_u8(GString *out, uint8_t value)
{
	ctf_append(out, &value, sizeof(value));
}

static inline void ctf_append_u16(GString *out, uint16_t value)
{
	ctf_append(out, &value, sizeof(value));
}

static inline void ctf_append_u32(GString *out, uint32_t value)
{
	ctf_append(out, &value, sizeof(value));
}

static inline void ctf_append_u64(GString *out, uint64_t value)
{
	ctf_append(out, &value, sizeof(value));
}

/*
 * A string, which in CTF is UTF-8 and ends with a NUL: bytes below 32 except newline and tab, 127,
 * and bytes that are not UTF-8 become \xNN.
 */
void ctf_append_string(GString *out, const char *text, size_t bytes);

#endif
