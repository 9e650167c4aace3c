/* SPDX-License-Identifier: MIT */
/* Samples as the kernel writes them: see sample.h. */
#include "prof/sample.h"

#include <errno.h>
#include <string.h>

/*
 * Follows the chain if stacks are copied: u64 abi, [u64 regs[]]; u64 size, [bytes[size], u64
 * filled]. The parts in brackets are missing if abi or size is 0, as for a task without user space.
 * Stacks of 32-bit programs are not kept.
 */
static int take_user_stack(const struct perf_user_regs *user_regs, const uint64_t *p, size_t words,
	struct sample *s)
{
	const uint64_t *const end = p + words;
	uint64_t abi, size, filled;

	if (p == end)
		return -EBADMSG;
	abi = *p++;
	if (abi == PERF_SAMPLE_REGS_ABI_64)
		s->regs = p;
	if (abi != PERF_SAMPLE_REGS_ABI_NONE) {
		if ((size_t)(end - p) < user_regs->count)
			return -EBADMSG;
		p += user_regs->count;
	}
	if (p == end)
		return -EBADMSG;
	size = *p++;
	if (!size)
		return 0;
	if (size % sizeof(*p) || size / sizeof(*p) >= (size_t)(end - p))
		return -EBADMSG;
	filled = p[size / sizeof(*p)];
	if (filled > size)
		return -EBADMSG;
	s->stack = (const uint8_t *)p;
	s->stack_bytes = (uint32_t)filled;
	return 0;
}

/* Follows the chain: u32 size, [bytes[size]], so that the next part is at a multiple of 8. */
static int take_raw(const uint64_t *p, size_t words, size_t *used, struct sample *s)
{
	uint32_t size;

	if (*used == words)
		return -EBADMSG;
	memcpy(&size, &p[*used], sizeof(size));
	if (size % 8 != 4 || size / 8 + 1 > words - *used)
		return -EBADMSG;
	s->raw = p + *used;
	s->raw_bytes = size + sizeof(size);
	*used += s->raw_bytes / 8;
	return 0;
}

/*
 * The kernel's layout: u64 id, ip; u32 pid, tid; u64 time; [u64 period]; [u64 n, u64 ips[n]];
 * then the input of take_raw(), and that of take_user_stack(). Records are aligned to 8 bytes in the
 * ring and in the scratch buffer.
 */
int sample_decode(const struct sample_form *form, const struct perf_event_header *header, struct sample *s)
{
	const uint64_t *p = (const uint64_t *)(const void *)(header + 1);
	const size_t words = header->size / sizeof(uint64_t) - 1; /* after the header */
	const bool freq = form->attr->freq;
	const size_t fixed = 4 + (freq ? 1 : 0) + (form->has_chain ? 1 : 0);
	size_t used;

	if (header->size < sizeof(*header) || words < fixed)
		return -EBADMSG;
	s->ip = p[1];
	memcpy(&s->pid, &p[2], sizeof(s->pid));
	memcpy(&s->tid, (const uint8_t *)&p[2] + sizeof(s->pid), sizeof(s->tid));
	s->time_ns = p[3];
	s->period = freq ? p[4] : form->attr->sample_period;
	s->chain_count = form->has_chain ? p[fixed - 1] : 0;
	s->chain = p + fixed;
	s->regs = NULL;
	s->stack = NULL;
	s->stack_bytes = 0;
	s->raw = NULL;
	s->raw_bytes = 0;
	if (s->chain_count > words - fixed)
		return -EBADMSG;
	used = fixed + s->chain_count;
	if (form->has_raw && take_raw(p, words, &used, s))
		return -EBADMSG;
	return form->user_regs ? take_user_stack(form->user_regs, p + used, words - used, s) : 0;
}

/* The kernel's markers of contexts (PERF_CONTEXT_*) are the top 4095 numbers. */
static bool is_context(uint64_t word)
{
	return word >= (uint64_t)PERF_CONTEXT_MAX;
}

void sample_frames(const struct sample *s, struct sample_frames *f)
{
	const uint64_t *word = s->chain, *const end = s->chain + s->chain_count;

	*f = (struct sample_frames){ 0 };
	while (word < end && !is_context(*word))
		word++; /* before the first marker */
	while (word < end) {
		const bool kernel = *word == (uint64_t)PERF_CONTEXT_KERNEL ||
				    *word == (uint64_t)PERF_CONTEXT_HV;
		const uint64_t **side = kernel ? &f->kernel : &f->user;
		size_t *count = kernel ? &f->kernel_count : &f->user_count;
		const uint64_t *first = ++word;

		if (*count)
			return; /* a second part of the same side: a guest's; left out */
		while (word < end && !is_context(*word))
			word++;
		*side = first;
		*count = (size_t)(word - first);
	}
}

int sample_away(const struct sample *s, struct sample_away *away)
{
	const struct offcpu_sample *head = (const struct offcpu_sample *)(const void *)s->raw;
	size_t rest, wake;

	if (!head || s->raw_bytes < sizeof(*head))
		return -EBADMSG;
	rest = s->raw_bytes - sizeof(*head);
	wake = head->flags & OFFCPU_WAKER ? sizeof(struct offcpu_wake) : 0;
	if (rest < wake || head->kernel_bytes > rest - wake || head->kernel_bytes % sizeof(uint64_t))
		return -EBADMSG;
	*away = (struct sample_away){
		.head = head,
		.kernel = head->rest + wake / sizeof(uint64_t),
		.kernel_count = (uint32_t)(head->kernel_bytes / sizeof(uint64_t)),
	};
	if (wake)
		away->wake = (const struct offcpu_wake *)(const void *)head->rest;
	if (wake && (!away->wake->woken_ns || away->wake->kernel_bytes > sizeof(away->wake->kernel) ||
			    away->wake->user_bytes > sizeof(away->wake->user)))
		away->wake = NULL;
	return 0;
}
