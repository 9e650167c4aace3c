#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""viewer: processes that read one file repeatedly, as users who share a server's threads do.

usage: viewer UID PROCESSES UID PATH TURNS

The processes of the first user read until the end. Then one process of the second user reads the file
TURNS times; for each it prints how many reads of the first user's were finished meanwhile, and how long
it took in ms.
"""
import multiprocessing
import os
import sys
import time

uid, processes, other_uid = (int(word) for word in sys.argv[1:4])
path, turns = sys.argv[4], int(sys.argv[5])


def become(user):
    os.setgroups([])
    os.setresgid(65534, 65534, 65534)
    os.setresuid(user, user, user)


def read():
    with open(path, "rb") as file:
        while file.read(1 << 20):
            pass


def read_for_ever(done):
    become(uid)
    while True:
        read()
        with done.get_lock():
            done.value += 1


def read_in_turn(done):
    become(other_uid)
    for _ in range(turns):
        before, begun = done.value, time.monotonic()
        read()
        print(done.value - before, round((time.monotonic() - begun) * 1000), flush=True)


done = multiprocessing.Value("i", 0)
readers = [multiprocessing.Process(target=read_for_ever, args=(done,)) for _ in range(processes)]
for reader in readers:
    reader.start()
while done.value < processes:
    time.sleep(0.01)
victim = multiprocessing.Process(target=read_in_turn, args=(done,))
victim.start()
victim.join()
for reader in readers:
    reader.kill()
    reader.join()
sys.exit(victim.exitcode)
