/* SPDX-License-Identifier: MIT */
/*
 * Addresses of sockets, which programs pass to connect, bind and sendto, as text after the example of
 * strace(1):
 *
 *	{AF_INET, 127.0.0.1:80}  {AF_INET6, [fe80::1%2]:53}  {AF_UNIX, "/run/a"}  {AF_UNIX, @"abstract"}
 *
 * The bytes are any that a program had in its memory. Thread-safe.
 */
#ifndef KPROFS_KERNEL_CALLADDRESS_H
#define KPROFS_KERNEL_CALLADDRESS_H

#include <glib.h>
#include <stddef.h>

/* Fewer bytes have no family, and no text. */
#define CALLADDRESS_BYTES_MIN 2u

/*
 * Appends the text of so many bytes, which need not be aligned. Of a family that has no other form here, and
 * where bytes are missing, what follows the family is written as hexadecimal digits.
 */
void calladdress_print(const void *address, size_t bytes, GString *out);

#endif
