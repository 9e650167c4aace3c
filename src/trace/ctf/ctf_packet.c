/* SPDX-License-Identifier: MIT */
/* Packets of CTF: see ctf_packet.h. */
#include "trace/ctf/ctf_packet.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/fdio.h"
#include "base/text.h"

void ctf_append_string(GString *out, const char *text, size_t bytes)
{
	text_append_lines(out, text, bytes);
	ctf_append_u8(out, 0);
}

void ctf_packets_init(struct ctf_packets *packets, int fd, const unsigned char *uuid, uint32_t cpu)
{
	*packets = (struct ctf_packets){ .fd = fd, .cpu = cpu, .content = g_string_new(NULL) };
	memcpy(packets->uuid, uuid, sizeof(packets->uuid));
}

void ctf_packets_fini(struct ctf_packets *packets)
{
	g_string_free(packets->content, TRUE);
}

static int write_packet(struct ctf_packets *packets)
{
	const uint64_t bytes = CTF_PACKET_HEAD_BYTES + packets->content->len;
	g_autoptr(GString) head = g_string_sized_new(CTF_PACKET_HEAD_BYTES);
	int ret;

	ctf_append_u32(head, CTF_MAGIC);
	ctf_append(head, packets->uuid, sizeof(packets->uuid));
	ctf_append_u32(head, 0); /* the one kind of stream */
	ctf_append_u64(head, packets->begin_ns);
	ctf_append_u64(head, packets->end_ns);
	ctf_append_u64(head, bytes * 8); /* all of it is content: no padding */
	ctf_append_u64(head, bytes * 8);
	ctf_append_u64(head, packets->discarded);
	ctf_append_u32(head, packets->cpu);
	ret = fdio_write(packets->fd, head->str, head->len);
	if (!ret)
		ret = fdio_write(packets->fd, packets->content->str, packets->content->len);
	g_string_truncate(packets->content, 0);
	packets->bytes += bytes;
	packets->reported = packets->discarded;
	packets->begin_ns = packets->end_ns;
	return ret;
}

int ctf_packets_begin(struct ctf_packets *packets, uint64_t begin_ns)
{
	packets->begin_ns = packets->end_ns = begin_ns;
	return write_packet(packets);
}

static int flush(struct ctf_packets *packets)
{
	return packets->content->len || packets->reported < packets->discarded
		       ? write_packet(packets)
		       : 0;
}

int ctf_packets_add(struct ctf_packets *packets, uint32_t cpu, uint64_t time_ns, uint32_t id,
	const GString *rest)
{
	int ret = cpu == packets->cpu ? 0 : flush(packets);

	packets->cpu = cpu;
	if (!packets->content->len)
		packets->begin_ns = time_ns;
	packets->end_ns = time_ns;
	ctf_append_u32(packets->content, id);
	ctf_append_u64(packets->content, time_ns);
	ctf_append(packets->content, rest->str, rest->len);
	if (!ret && packets->content->len >= CTF_PACKET_BYTES)
		ret = flush(packets);
	return ret;
}

void ctf_packets_discard(struct ctf_packets *packets, uint64_t count)
{
	packets->discarded += count;
}

int ctf_packets_end(struct ctf_packets *packets)
{
	return flush(packets);
}
