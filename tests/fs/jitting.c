/* SPDX-License-Identifier: MIT */
/*
 * jitting dump FOLDER | map | none: compiles two functions at run time. For each byte of standard
 * input it calls them for 0.4 s of its CPU time, of which they take three quarters and one quarter, and
 * prints a line.
 *
 * dump: writes FOLDER/jit-PID.dump as a JIT does, and maps it; the quarter was recorded at another
 * address and moved. map: writes /tmp/perf-PID.map. Prints its pid when it runs. Exits with 77 on a
 * machine whose code it does not know.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define PLACE 256 /* bytes for each function */
#define TURNS 1000000
#define USED_MS 400
#define SECONDS_MAX 300 /* if no script ends it */

/* void spin(uint64_t turns) */
#if defined(__x86_64__)
static const uint8_t code[] = {0x48, 0xff, 0xcf, 0x75, 0xfb, 0xc3}; /* dec rdi; jnz; ret */
#elif defined(__aarch64__)
static const uint32_t code[] = {0xf1000400, 0x54ffffe1, 0xd65f03c0}; /* subs; b.ne; ret */
#else
static const uint8_t code[] = {0};
#define NOT_KNOWN
#endif

typedef void (*spin_fn)(uint64_t turns);

static void put(FILE *out, const void *bytes, size_t size)
{
	if (fwrite(bytes, size, 1, out) != 1)
		exit(1);
}

static void put_u32(FILE *out, uint32_t value)
{
	put(out, &value, sizeof(value));
}

static void put_u64(FILE *out, uint64_t value)
{
	put(out, &value, sizeof(value));
}

static void put_head(FILE *out, uint32_t id, size_t size)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	put_u32(out, id);
	put_u32(out, (uint32_t)size);
	put_u64(out, (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec);
}

static void put_load(FILE *out, uint64_t address, uint64_t index, const char *name)
{
	put_head(out, 0, 16 + 40 + strlen(name) + 1 + sizeof(code));
	put_u32(out, (uint32_t)getpid());
	put_u32(out, (uint32_t)getpid());
	put_u64(out, address);
	put_u64(out, address);
	put_u64(out, sizeof(code));
	put_u64(out, index);
	put(out, name, strlen(name) + 1);
	put(out, code, sizeof(code));
}

static void put_move(FILE *out, uint64_t from, uint64_t to, uint64_t index)
{
	put_head(out, 1, 16 + 48);
	put_u32(out, (uint32_t)getpid());
	put_u32(out, (uint32_t)getpid());
	put_u64(out, to);
	put_u64(out, from);
	put_u64(out, to);
	put_u64(out, sizeof(code));
	put_u64(out, index);
}

static void write_dump(const char *folder, uint64_t first, uint64_t second)
{
	static const uint32_t machine =
#if defined(__x86_64__)
		62;
#else
		183;
#endif
	char path[4096];
	FILE *out;

	snprintf(path, sizeof(path), "%s/jit-%d.dump", folder, (int)getpid());
	out = fopen(path, "w+");
	if (!out)
		exit(1);
	put_u32(out, 0x4a695444);
	put_u32(out, 1);
	put_u32(out, 40);
	put_u32(out, machine);
	put_u32(out, 0);
	put_u32(out, (uint32_t)getpid());
	put_u64(out, 0);
	put_u64(out, 0);
	put_load(out, first, 1, "jitted three quarters");
	put_load(out, second + 2 * PLACE, 2, "jitted_quarter");
	put_move(out, second + 2 * PLACE, second, 2);
	/* the mapping by which a profiler finds the file */
	if (fflush(out) || mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fileno(out), 0) ==
				   MAP_FAILED)
		exit(1);
}

static void write_map(uint64_t first, uint64_t second)
{
	char path[64];
	FILE *out;

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
	out = fopen(path, "wx");
	if (!out || fprintf(out, "%jx %zx jitted three quarters\n%jx %zx jitted_quarter\n",
			    (uintmax_t)first, sizeof(code), (uintmax_t)second, sizeof(code)) < 0 ||
		fclose(out))
		exit(1);
}

static uint64_t used_ms(void)
{
	struct timespec used;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
	return (uint64_t)used.tv_sec * 1000 + (uint64_t)used.tv_nsec / 1000000;
}

int main(int argc, char **argv)
{
	uint8_t *memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	spin_fn first = (spin_fn)(uintptr_t)memory, second = (spin_fn)(uintptr_t)(memory + PLACE);

#ifdef NOT_KNOWN
	return 77;
#endif
	if (argc < 2 || memory == MAP_FAILED)
		return 1;
	memcpy(memory, code, sizeof(code));
	memcpy(memory + PLACE, code, sizeof(code));
	if (mprotect(memory, 4096, PROT_READ | PROT_EXEC))
		return 1;
	__builtin___clear_cache((char *)memory, (char *)memory + 2 * PLACE);
	if (!strcmp(argv[1], "dump") && argc > 2)
		write_dump(argv[2], (uintptr_t)first, (uintptr_t)second);
	else if (!strcmp(argv[1], "map"))
		write_map((uintptr_t)first, (uintptr_t)second);
	alarm(SECONDS_MAX);
	for (;;) {
		uint64_t from = used_ms();

		printf("%d\n", (int)getpid());
		fflush(stdout);
		if (getchar() == EOF)
			return 0;
		while (used_ms() - from < USED_MS) {
			first(3 * TURNS);
			second(TURNS);
		}
	}
}
