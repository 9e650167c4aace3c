/* SPDX-License-Identifier: MIT */
/* Addresses of sockets as text. */
#include "kernel/calladdress.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "kernel/callflags.h"

/* The padding at the end of an IPv4 address may be missing, and the scope of an IPv6 address. */
#define INET_BYTES offsetof(struct sockaddr_in, sin_zero)
#define INET6_BYTES offsetof(struct sockaddr_in6, sin6_scope_id)
_Static_assert(sizeof(sa_family_t) == CALLADDRESS_BYTES_MIN, "the family of each address");
#define PATH_BEGIN offsetof(struct sockaddr_un, sun_path)

static void print_family(sa_family_t family, GString *out)
{
	const struct callflags *names = callflags_find("family", strlen("family"));

	callflags_print(names, family, out);
}

static bool print_inet(const char *address, size_t bytes, GString *out)
{
	char text[INET_ADDRSTRLEN];
	struct sockaddr_in inet;

	if (bytes < INET_BYTES)
		return false;
	memcpy(&inet, address, INET_BYTES);
	inet_ntop(AF_INET, &inet.sin_addr, text, sizeof(text));
	g_string_append_printf(out, ", %s:%u", text, ntohs(inet.sin_port));
	return true;
}

static bool print_inet6(const char *address, size_t bytes, GString *out)
{
	char text[INET6_ADDRSTRLEN];
	struct sockaddr_in6 inet6 = { .sin6_scope_id = 0 };

	if (bytes < INET6_BYTES)
		return false;
	memcpy(&inet6, address, bytes < sizeof(inet6) ? INET6_BYTES : sizeof(inet6));
	inet_ntop(AF_INET6, &inet6.sin6_addr, text, sizeof(text));
	g_string_append_printf(out, ", [%s", text);
	if (inet6.sin6_scope_id)
		g_string_append_printf(out, "%%%u", inet6.sin6_scope_id);
	g_string_append_printf(out, "]:%u", ntohs(inet6.sin6_port));
	return true;
}

/* A path ends at a NUL; an abstract name begins with one, and may have others. */
static bool print_unix(const char *address, size_t bytes, GString *out)
{
	const char *name = address + PATH_BEGIN;
	size_t length = bytes - PATH_BEGIN;

	if (!length)
		return true; /* it has no name: the kernel chooses one */
	g_string_append(out, ", ");
	if (name[0]) {
		length = strnlen(name, length);
	} else {
		g_string_append_c(out, '@');
		name++;
		length--;
	}
	g_string_append_c(out, '"');
	for (size_t i = 0; i < length; i++) {
		if (g_ascii_iscntrl(name[i]))
			g_string_append_printf(out, "\\x%02x", (unsigned char)name[i]);
		else
			g_string_append_c(out, name[i]);
	}
	g_string_append_c(out, '"');
	return true;
}

static void print_bytes(const char *address, size_t bytes, GString *out)
{
	for (size_t i = sizeof(sa_family_t); i < bytes; i++)
		g_string_append_printf(out, "%s%02x", i == sizeof(sa_family_t) ? ", 0x" : "",
			(unsigned char)address[i]);
}

void calladdress_print(const void *address, size_t bytes, GString *out)
{
	sa_family_t family;
	bool printed = false;

	memcpy(&family, address, sizeof(family));
	g_string_append_c(out, '{');
	print_family(family, out);
	if (family == AF_INET)
		printed = print_inet(address, bytes, out);
	else if (family == AF_INET6)
		printed = print_inet6(address, bytes, out);
	else if (family == AF_UNIX)
		printed = print_unix(address, bytes, out);
	if (!printed)
		print_bytes(address, bytes, out);
	g_string_append_c(out, '}');
}
