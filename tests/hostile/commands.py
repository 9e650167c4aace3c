#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""commands: a user queues more commands than a user may, while the thread that carries them out is stopped.

usage: commands SERVER-PID KPCTL UID COUNT

Prints the errors of the user's writes and whether root's write, made meanwhile, succeeded. Exit status 77:
threads cannot be stopped here.
"""
import collections
import ctypes
import errno
import os
import sys
import threading
import time

SEIZE, INTERRUPT, DETACH, WALL = 0x4206, 0x4207, 17, 0x40000000
libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
server, path, uid, count = int(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4])


def control_thread():
    for tid in os.listdir(f"/proc/{server}/task"):
        with open(f"/proc/{server}/task/{tid}/comm") as comm:
            if comm.read() == "kp-control\n":
                return int(tid)
    sys.exit("the server has no thread kp-control")


def write(fd, results):
    try:
        os.write(fd, b"stop\n")
        results.append("ok")
    except OSError as error:
        results.append(errno.errorcode[error.errno])


def write_all(files, results):
    """In threads of a process of this user: credentials are the writer's."""
    threads = [threading.Thread(target=write, args=(fd, results)) for fd in files]
    for thread in threads:
        thread.start()
    return threads


def attacker(refused_all, results):
    """Opens and writes as the user; says so when all that is too much was refused, or should have been."""
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)
    threads = write_all([os.open(path, os.O_WRONLY) for _ in range(count)], results)
    end = time.monotonic() + 30
    while len(results) < count - 64 and time.monotonic() < end:
        time.sleep(0.01)
    os.write(refused_all, b"x")
    for thread in threads:
        thread.join()
    print("user:", *(f"{name}={n}" for name, n in sorted(collections.Counter(results).items())), flush=True)


tid = control_thread()
if libc.ptrace(SEIZE, tid, None, None):
    print("threads cannot be stopped:", os.strerror(ctypes.get_errno()))
    sys.exit(77)
libc.ptrace(INTERRUPT, tid, None, None)
os.waitpid(tid, WALL)
reader, writer = os.pipe()
child = os.fork()
if child == 0:
    os.close(reader)
    attacker(writer, [])
    os._exit(0)
os.close(writer)
os.read(reader, 1)
mine = []
threads = write_all([os.open(path, os.O_WRONLY)], mine)
while libc.ptrace(DETACH, tid, None, None):
    pass
for thread in threads:
    thread.join()
print("root:", *mine)
os.waitpid(child, 0)
