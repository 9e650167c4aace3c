# SPDX-License-Identifier: MIT
# Makes system calls with known constants, all of which fail or change nothing, for call_names.sh.
#
# usage: call_names.py MACHINE's numbers: "NUMBER NAME" lines on standard input
import ctypes
import os
import sys

numbers = {}
for line in sys.stdin:
    number, name = line.split()
    numbers[name] = int(number)

libc = ctypes.CDLL(None, use_errno=True)
BAD_FD = -1


def call(name, *args):
    if name in numbers:  # a call that only some machines have
        libc.syscall(ctypes.c_long(numbers[name]), *[ctypes.c_ulong(a & 2**64 - 1) for a in args])


# open: no folder has the descriptor, so that nothing is opened or made
for name in ("CREAT", "EXCL", "NOCTTY", "TRUNC", "APPEND", "NONBLOCK", "DSYNC", "ASYNC", "DIRECT",
             "DIRECTORY", "NOFOLLOW", "NOATIME", "CLOEXEC", "PATH"):
    call("openat", BAD_FD, 0, getattr(os, "O_" + name), 0o644)
for flags in (0, 1, 2, os.O_SYNC, os.O_TMPFILE | 2, os.O_DIRECTORY | os.O_CLOEXEC):
    call("openat", BAD_FD, 0, flags, 0o600)
for flags in (os.O_CLOEXEC, os.O_NONBLOCK, os.O_CLOEXEC | os.O_DIRECT, os.O_CLOEXEC | os.O_NONBLOCK):
    call("pipe2", 0, flags)
for flags in (0, 0x100, 0x800, 0x1000, 0x1900):
    call("newfstatat", -100, 0, 0, flags)
call("faccessat", -100, 0, 0)
call("faccessat", -100, 0, 6)
call("faccessat2", -100, 0, 5, 0x200)
call("unlinkat", -100, 0, 0x200)
call("statx", BAD_FD, 0, 0x1000, 0x7ff, 0)
call("statx", BAD_FD, 0, 0x2000, 0x801, 0)
for whence in range(5):
    call("lseek", BAD_FD, 0, whence)
for command in list(range(0, 12)) + [1024, 1025, 1026, 1030, 1031, 1032]:
    call("fcntl", BAD_FD, command, 0)
for operation in (1, 2, 8, 5, 6):
    call("flock", BAD_FD, operation)
for mode in (1, 2, 3, 8, 16, 32, 64):
    call("fallocate", BAD_FD, mode, 0, 1)
for advice in range(6):
    call("fadvise64", BAD_FD, 0, 0, advice)
for flags in (1, 2, 4):
    call("renameat2", BAD_FD, 0, BAD_FD, 0, flags)
for flags in (1, 2, 4, 8, 3):
    call("splice", BAD_FD, 0, BAD_FD, 0, 0, flags)
for flags in (1, 2, 4, 7):
    call("sync_file_range", BAD_FD, 0, 0, flags)
for bit in range(12):
    call("inotify_add_watch", BAD_FD, 0, 1 << bit)
for operation in (1, 2, 3):
    call("epoll_ctl", BAD_FD, operation, BAD_FD, 0)

# memory: lengths of 0 and addresses that are not aligned
for prot in (0, 1, 2, 3, 4, 5, 7, 0x01000000):
    call("mprotect", 1, 0, prot)
for flags in (1, 2, 3, 0x22, 0x12, 0x40, 0x100, 0x800, 0x2000, 0x4000, 0x8000, 0x10000, 0x20000, 0x40000):
    call("mmap", 0, 0, 3, flags | 2, BAD_FD, 0)
for advice in list(range(0, 5)) + list(range(8, 24)):
    call("madvise", 1, 0, advice)
for flags in (1, 2, 4, 3):
    call("msync", 1, 0, flags)
call("mremap", 1, 0, 0, 3, 0)

# processes: none has the number -1 or 2^31 - 1
for signal in range(0, 32):
    call("tgkill", -1, -1, signal)
for options in (0, 1, 2, 8, 0x20000000, 0x40000000, 0x80000000):
    call("wait4", 0x7fffffff, 0, options, 0)
for which in (0, 1, 2, 3):
    call("waitid", which, 0x7fffffff, 0, 0x80000000, 0)
for operation in (0, 1, 3, 9, 10, 0x80, 0x81, 0x83, 0x84, 0x89, 0x8a, 0x189):
    call("futex", 1, operation, 0, 0, 0, 0)
for clock in (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 11):
    call("clock_gettime", clock, 1)
for resource in range(16):
    call("prlimit64", 0x7fffffff, resource, 0, 0)
for who in (0, 0xffffffff, 1):
    call("getrusage", who, 1)
for which in (0, 1, 2):
    call("getpriority", which, 0x7fffffff)
for policy in (0, 1, 2, 3, 5, 6):
    call("sched_setscheduler", 0x7fffffff, policy, 0)
for how in (0, 1, 2):
    call("rt_sigprocmask", how, 1, 0, 8)
for flags in (1, 2, 3):
    call("getrandom", 1, 1, flags)

# sockets: protocols that are none
for family in (1, 2, 10, 16, 17, 38, 40):
    call("socket", family, 1, 99)
for kind in (1, 2, 3, 5, 1 | os.O_CLOEXEC, 2 | os.O_NONBLOCK | os.O_CLOEXEC):
    call("socket", 1, kind, 99)
for bit in (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 18):
    call("sendto", BAD_FD, 0, 0, 1 << bit, 0, 0)
for how in range(3):
    call("shutdown", BAD_FD, how)
