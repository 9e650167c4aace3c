/* SPDX-License-Identifier: MIT */
/*
 * A stream file of CTF 1.8: packets of events, front to back. What the bytes mean is said in the
 * metadata (ctf_class.c), which has the same structs in its own words.
 *
 * The first packet is empty: what a later one says was discarded was so since then. A packet is of
 * one CPU; an event of another one than the packet before begins a new one. One thread at a time.
 */
#ifndef KPROFS_TRACE_CTF_CTF_PACKET_H
#define KPROFS_TRACE_CTF_CTF_PACKET_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#define CTF_MAGIC 0xc1fc1fc1u
#define CTF_UUID_BYTES 16
/* A packet goes out when it has as much: so much each CPU holds in memory, and an event more. */
#define CTF_PACKET_BYTES 32768u
/* magic, uuid, stream; begin, end, content, size, discarded, CPU */
#define CTF_PACKET_HEAD_BYTES (4 + CTF_UUID_BYTES + 4 + 5 * 8 + 4)

struct ctf_packets {
	int fd;				    /* not owned */
	unsigned char uuid[CTF_UUID_BYTES]; /* of the trace */
	uint32_t cpu;			    /* of the packet at hand */
	uint64_t begin_ns, end_ns;	    /* of the packet at hand */
	uint64_t discarded;		    /* events, up to its end */
	uint64_t told;			    /* of them, in packets that are written */
	GString *content;		    /* behind its head; empty: no packet is begun */
	uint64_t bytes;			    /* written */
};

/* The first packet is of this CPU. */
void ctf_packets_init(struct ctf_packets *packets, int fd, const unsigned char *uuid, uint32_t cpu);
void ctf_packets_fini(struct ctf_packets *packets);

/*
 * Writes the first packet, of this moment and without events. What was missing before it is told
 * with the next one. 0 or the errno of write(2).
 */
int ctf_packets_begin(struct ctf_packets *packets, uint64_t begin_ns);

/* An event with its id, time (not below the one before) and what follows in it. */
int ctf_packets_add(struct ctf_packets *packets, uint32_t cpu, uint64_t time_ns, uint32_t id,
	const GString *rest);

/* So many events are missing: they are told with the next packet that goes out. */
void ctf_packets_discard(struct ctf_packets *packets, uint64_t count);

/* Writes what is left. */
int ctf_packets_end(struct ctf_packets *packets);

/* Writes all of it: write(2) may stop short. */
int ctf_write_all(int fd, const void *bytes, size_t size);

/* What CTF files are made of: numbers in the machine's byte order, next to each other. */
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
 * A string, which CTF ends with a NUL and calls UTF-8: bytes below 32 but newline and tab, 127, and
 * what is not UTF-8 become \xNN.
 */
void ctf_append_string(GString *out, const char *text, size_t bytes);

#endif
