/* SPDX-License-Identifier: MIT */
/*
 * wordcount: counts the words of a text again and again, as a program to profile.
 *
 *	wordcount [SECONDS]
 *
 * The text, 8 MiB of made-up words of which a few are frequent and most are rare, is the same in
 * each run. Nearly all of the time is spent in the four small functions that read a word, hash it,
 * find it and compare it. They are not inlined, so that a report shows each.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define TEXT_BYTES (8u << 20)
#define VOCABULARY 20000
#define WORD_MAX 16	     /* letters */
#define SLOTS (1u << 16)     /* of the hash table: a power of two, three times the vocabulary */
#define SHOWN 5		     /* most frequent words that are printed */
#define SECONDS_DEFAULT 5

struct slot {
	char word[WORD_MAX];
	uint32_t length; /* 0: a free slot */
	uint32_t count;
};

static uint32_t next_random(uint32_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 17;
	*state ^= *state << 5;
	return *state;
}

static size_t make_word(uint32_t number, char *word)
{
	static const char consonants[] = "bdfgklmnprst";
	static const char vowels[] = "aeiou";
	size_t length = 0;

	do {
		word[length++] = consonants[number % 12];
		word[length++] = vowels[number / 12 % 5];
		number /= 60;
	} while (number && length + 2 <= WORD_MAX);
	return length;
}

/*
 * the product of two evenly distributed numbers is often small: the word frequencies of a text are
 * alike
 */
static void make_text(char *text, size_t bytes)
{
	uint32_t state = 2463534242u;
	size_t at = 0;

	while (at + WORD_MAX + 1 < bytes) {
		uint32_t a = next_random(&state) % VOCABULARY;
		uint32_t b = next_random(&state) % VOCABULARY;

		at += make_word((uint32_t)((uint64_t)a * b / VOCABULARY), text + at);
		text[at++] = next_random(&state) % 11 ? ' ' : '\n';
	}
	text[at] = '\0';
}

/* the next word at *text, which is advanced past it; returns its length, 0 at the end */
static __attribute__((noinline)) size_t read_word(const char **text, const char **word)
{
	const char *at = *text;

	while (*at == ' ' || *at == '\n')
		at++;
	*word = at;
	while (*at >= 'a' && *at <= 'z')
		at++;
	*text = at;
	return (size_t)(at - *word);
}

static __attribute__((noinline)) uint32_t hash_word(const char *word, size_t length)
{
	uint32_t hash = 2166136261u;
	size_t i;

	for (i = 0; i < length; i++)
		hash = (hash ^ (unsigned char)word[i]) * 16777619u;
	return hash ^ hash >> 16;
}

static __attribute__((noinline)) int same_word(const struct slot *slot, const char *word,
	size_t length)
{
	size_t i;

	if (slot->length != length)
		return 0;
	for (i = 0; i < length; i++)
		if (slot->word[i] != word[i])
			return 0;
	return 1;
}

static __attribute__((noinline)) struct slot *find_slot(struct slot *table, const char *word,
	size_t length)
{
	uint32_t at = hash_word(word, length) & (SLOTS - 1);

	while (table[at].length && !same_word(&table[at], word, length))
		at = (at + 1) & (SLOTS - 1);
	return &table[at];
}

static __attribute__((noinline)) uint64_t count_words(struct slot *table, const char *text)
{
	uint64_t words = 0;
	const char *word;
	size_t length;

	while ((length = read_word(&text, &word)) != 0) {
		struct slot *slot = find_slot(table, word, length);

		if (!slot->length) {
			memcpy(slot->word, word, length);
			slot->length = (uint32_t)length;
		}
		slot->count++;
		words++;
	}
	return words;
}

static int by_count(const void *a, const void *b)
{
	uint32_t left = ((const struct slot *)a)->count, right = ((const struct slot *)b)->count;

	return left < right ? 1 : left > right ? -1 : 0;
}

static double seconds_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
	double end = seconds_now() + (argc > 1 ? atof(argv[1]) : SECONDS_DEFAULT);
	struct slot *table = calloc(SLOTS, sizeof(*table));
	char *text = malloc(TEXT_BYTES);
	uint64_t words = 0;
	int passes = 0, i;

	if (!table || !text) {
		perror("wordcount");
		return 1;
	}
	make_text(text, TEXT_BYTES);
	do {
		words += count_words(table, text);
		passes++;
	} while (seconds_now() < end);

	qsort(table, SLOTS, sizeof(*table), by_count);
	printf("%llu words in %d passes, most frequent:", (unsigned long long)words, passes);
	for (i = 0; i < SHOWN; i++)
		printf(" %.*s", (int)table[i].length, table[i].word);
	printf("\n");
	free(text);
	free(table);
	return 0;
}
