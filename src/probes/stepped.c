/* SPDX-License-Identifier: MIT */
/* What a uprobe costs at an instruction. */
#include "probes/stepped.h"

#if defined(__x86_64__)
#define PREFIX_WIDTH 0x66
#define REX_FIRST 0x40
#define REX_LAST 0x4f

static bool is_between(uint8_t byte, uint8_t first, uint8_t last)
{
	return byte >= first && byte <= last;
}

bool stepped_is_likely(const uint8_t *code, size_t bytes)
{
	size_t i = 0;

	while (i < bytes && (code[i] == PREFIX_WIDTH || is_between(code[i], REX_FIRST, REX_LAST)))
		i++;
	if (i == bytes)
		return true;
	/* push, jcc, nop, call, jmp */
	if (is_between(code[i], 0x50, 0x57) || is_between(code[i], 0x70, 0x7f) || code[i] == 0x90 ||
		is_between(code[i], 0xe8, 0xe9) || code[i] == 0xeb)
		return false;
	/* jcc with 4 bytes, nops of several bytes */
	return !(code[i] == 0x0f && i + 1 < bytes &&
		(is_between(code[i + 1], 0x80, 0x8f) || code[i + 1] == 0x1f));
}
#else
bool stepped_is_likely(const uint8_t *code, size_t bytes)
{
	(void)code, (void)bytes;
	return false;
}
#endif
