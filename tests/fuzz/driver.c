/* SPDX-License-Identifier: MIT */
/*
 * Runs a fuzz target without libFuzzer: so many inputs, each a mutation of the target's corpus that
 * depends on nothing but --seed and the number of the run. What breaks a target is named so that
 * --seed=S --only=N repeats it.
 *
 * usage: fuzz_X [--runs=N] [--seed=S] [--only=N] [FILE...]
 */
#include "tests/fuzz/fuzz.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef KPROFS_LIBFUZZER

/* Half a minute on a slow machine with sanitizers, where a run takes longest. */
#define RUNS_DEFAULT 5000

#define INPUT_MAX 65536

#define MUTATIONS_MAX 8

/* where a run is, for the handlers of signals */
static volatile unsigned long current_seed, current_run;

/* called by the sanitizers before they end the program, where there are any */
void __sanitizer_set_death_callback(void (*callback)(void)) __attribute__((weak));

static void say_where(void)
{
	char text[128];
	int n = snprintf(text, sizeof(text), "\nfuzz: to repeat: --seed=%lu --only=%lu\n",
		current_seed, current_run);

	if (write(STDERR_FILENO, text, (size_t)n) < 0)
		return;
}

static void on_signal(int number)
{
	say_where();
	signal(number, SIG_DFL);
	raise(number);
}

/* ---- numbers ---------------------------------------------------------------------------------- */

static uint64_t draw(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15ull;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return z ^ (z >> 31);
}

static size_t draw_below(uint64_t *state, size_t below)
{
	return below ? draw(state) % below : 0;
}

/* Numbers at which things change: zero, the ends of each width, signs, and their neighbours. */
static uint64_t draw_number(uint64_t *state)
{
	uint64_t value = 1ull << draw_below(state, 64);

	switch (draw(state) % 4) {
	case 0:
		return value;
	case 1:
		return value - 1;
	case 2:
		return 0 - value;
	default:
		return draw(state) % 300;
	}
}

/* ---- mutations -------------------------------------------------------------------------------- */

static void insert_bytes(GByteArray *input, size_t at, const uint8_t *bytes, size_t count)
{
	size_t old = input->len;

	if (old + count > INPUT_MAX)
		return;
	g_byte_array_set_size(input, (guint)(old + count));
	memmove(input->data + at + count, input->data + at, old - at);
	memcpy(input->data + at, bytes, count);
}

/* Writes a number of 1, 2, 4 or 8 bytes over what is there. */
static void overwrite_number(GByteArray *input, uint64_t *state)
{
	size_t width = 1u << draw(state) % 4, at = draw_below(state, input->len);
	uint64_t value = draw_number(state);

	if (width > input->len - at)
		width = input->len - at;
	memcpy(input->data + at, &value, width);
}

static void copy_piece(GByteArray *input, uint64_t *state)
{
	size_t from = draw_below(state, input->len);
	size_t count = draw_below(state, MIN(input->len - from, 256));
	uint8_t piece[256];

	memcpy(piece, input->data + from, count);
	insert_bytes(input, draw_below(state, input->len), piece, count);
}

static void insert_noise(GByteArray *input, uint64_t *state)
{
	uint8_t noise[16];
	size_t count = 1 + draw_below(state, sizeof(noise)), i;

	for (i = 0; i < count; i++)
		noise[i] = (uint8_t)draw(state);
	insert_bytes(input, draw_below(state, input->len + 1u), noise, count);
}

static void mutate(GByteArray *input, uint64_t *state)
{
	size_t at = draw_below(state, input->len);

	if (!input->len) {
		insert_noise(input, state);
		return;
	}
	switch (draw(state) % 7) {
	case 0:
		input->data[at] ^= (uint8_t)(1u << draw(state) % 8);
		break;
	case 1:
		input->data[at] = (uint8_t)draw(state);
		break;
	case 2:
		overwrite_number(input, state);
		break;
	case 3:
		insert_noise(input, state);
		break;
	case 4:
		copy_piece(input, state);
		break;
	case 5:
		g_byte_array_remove_range(input, (guint)at,
			(guint)draw_below(state, MIN(input->len - at, 64) + 1));
		break;
	default:
		if (draw(state) % 4 == 0) /* rarely: it leaves little to try */
			g_byte_array_set_size(input, (guint)at);
		break;
	}
}

/* ---- runs ------------------------------------------------------------------------------------- */

static unsigned int count_seeds(void)
{
	GByteArray *input = g_byte_array_new();
	unsigned int count = 0;

	while (fuzz_seed(count, input))
		count++;
	g_byte_array_free(input, TRUE);
	return count;
}

/* The first runs are the corpus as it is; each other one begins with one or two of its inputs. */
static void make_input(GByteArray *input, unsigned int seeds, unsigned long seed, unsigned long run)
{
	uint64_t state = seed * 0x100000001b3ull + run;
	size_t i, count;

	g_byte_array_set_size(input, 0);
	if (run < seeds) {
		fuzz_seed((unsigned int)run, input);
		return;
	}
	fuzz_seed((unsigned int)draw_below(&state, seeds), input);
	if (draw(&state) % 4 == 0)
		fuzz_seed((unsigned int)draw_below(&state, seeds), input);
	count = 1 + draw_below(&state, MUTATIONS_MAX);
	for (i = 0; i < count; i++)
		mutate(input, &state);
}

/* A copy of just its size, so that a step too far is seen. */
static void run_one(const uint8_t *data, size_t size)
{
	uint8_t *copy = malloc(size ? size : 1);

	if (!copy)
		abort();
	if (size)
		memcpy(copy, data, size);
	LLVMFuzzerTestOneInput(copy, size);
	free(copy);
}

static int run_file(const char *path)
{
	g_autofree char *text = NULL;
	gsize size;

	if (!g_file_get_contents(path, &text, &size, NULL)) {
		g_printerr("fuzz: %s can't be read\n", path);
		return 1;
	}
	run_one((const uint8_t *)text, size);
	return 0;
}

#endif

#ifdef KPROFS_LIBFUZZER

int LLVMFuzzerInitialize(int *argc, char ***argv);

/* libFuzzer's main() calls it: the corpus goes to the folder in which it then looks. */
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	GByteArray *input = g_byte_array_new();
	const char *folder = getenv("FUZZ_CORPUS");
	unsigned int number;

	for (number = 0; folder && fuzz_seed(number, input); number++) {
		g_autofree char *path = g_strdup_printf("%s/seed-%u", folder, number);

		g_file_set_contents(path, (const char *)input->data, input->len, NULL);
		g_byte_array_set_size(input, 0);
	}
	g_byte_array_free(input, TRUE);
	return 0;
}

#else

int main(int argc, char **argv)
{
	static const int fatal[] = { SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL };
	unsigned long runs = RUNS_DEFAULT, seed = 1, run = 0;
	GByteArray *input = g_byte_array_new();
	unsigned int seeds = count_seeds();
	int files = 0, status = 0, i;

	for (i = 1; i < argc; i++) {
		if (sscanf(argv[i], "--runs=%lu", &runs) == 1 ||
			sscanf(argv[i], "--seed=%lu", &seed) == 1)
			continue;
		if (sscanf(argv[i], "--only=%lu", &run) == 1) {
			runs = run + 1;
			continue;
		}
		files++;
		status |= run_file(argv[i]);
	}
	for (i = 0; i < (int)G_N_ELEMENTS(fatal); i++)
		signal(fatal[i], on_signal);
	if (__sanitizer_set_death_callback)
		__sanitizer_set_death_callback(say_where);
	current_seed = seed;
	for (; !files && run < runs; run++) {
		current_run = run;
		make_input(input, seeds, seed, run);
		run_one(input->data, input->len);
	}
	g_byte_array_free(input, TRUE);
	if (!files)
		printf("fuzz: %lu runs of seed %lu over %u inputs\n", runs, seed, seeds);
	return status;
}

#endif
