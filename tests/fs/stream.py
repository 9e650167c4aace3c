#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""stream.py MOUNT: kpdata as a stream, call by call, on a mount of kprofs_canned.

There `prof_qlimit N` appends N records of 16 bytes, numbered from 1 (canned_profiler.c). Prints what
is wrong and ends with 1 if anything is.
"""
import errno
import os
import select
import signal
import subprocess
import sys
import threading
import time

mount = sys.argv[1]
kpdata = os.path.join(mount, "kpdata")
failures = 0
records = 0


def fail(text):
    global failures
    failures += 1
    print("FAIL:", text)


def same(what, expected, found):
    if expected != found:
        fail(f"{what}: expected {expected!r:.100}, found {found!r:.100}")


def fails(what, code, call, *args):
    try:
        found = call(*args)
    except OSError as error:
        same(what, errno.errorcode[code], errno.errorcode[error.errno])
    else:
        fail(f"{what}: worked, with {found!r:.100}")


def ctl(text):
    with open(os.path.join(mount, "kpctl"), "w") as file:
        file.write(text)


def append(n):
    global records
    ctl(f"prof_qlimit {n}\n")
    records += n


def expected(first, last):
    return b"".join(b"record %08d\n" % i for i in range(first, last + 1))


def opened(flags=os.O_RDONLY):
    return os.open(kpdata, flags)


def read_all(fd, size=1 << 20):
    pieces = []
    while True:
        piece = os.read(fd, size)
        if not piece:
            return b"".join(pieces)
        pieces.append(piece)


def is_readable(fd):
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    return poll.poll(0) == [(fd, select.POLLIN)]


def waiting_reads():
    with open(os.path.join(mount, "kpstat")) as file:
        rows = dict(line.rstrip("\n").split(" ", 1) for line in file)
    return int(rows["fs.waiting_reads"])


def wait_for(what, predicate, seconds=30):
    end = time.monotonic() + seconds
    while not predicate():
        if time.monotonic() > end:
            fail("waited in vain: " + what)
            return
        time.sleep(0.01)


def test_empty():
    """Never started: end of file, every time, and poll says so."""
    fd = opened()
    for _ in range(5):
        same("read of an empty capture", b"", os.read(fd, 100))
    same("poll of it", True, is_readable(fd))
    os.close(fd)


def test_no_position():
    append(3)
    fd = opened()
    fails("lseek", errno.ESPIPE, os.lseek, fd, 0, os.SEEK_SET)
    fails("lseek to the end", errno.ESPIPE, os.lseek, fd, 0, os.SEEK_END)
    fails("pread", errno.ESPIPE, os.pread, fd, 16, 0)
    fails("preadv", errno.ESPIPE, os.preadv, fd, [bytearray(16)], 16)
    same("read", expected(1, 3), read_all(fd))
    os.close(fd)


def test_page_cache():
    """What would go through the page cache is told to read instead."""
    out = os.open("/dev/null", os.O_WRONLY)
    pipe = os.pipe()
    fd = opened()
    fails("sendfile", errno.EINVAL, os.sendfile, out, fd, None, 16)
    fails("splice", errno.EINVAL, os.splice, fd, pipe[1], 16)
    same("read after it", expected(1, records), read_all(fd))
    for each in (fd, out, *pipe):
        os.close(each)


def test_sizes():
    """Whatever the sizes of the reads, the bytes are those of one big read; no record is cut
    unless the buffer is too small for one."""
    append(200000 - records)
    whole = expected(1, records)
    for size in (7, 16, 17, 1000, 4096, 65537, 1 << 20, 3 << 20):
        limit = len(whole) if size >= 1000 else 20000
        fd = opened()
        got = bytearray()
        while len(got) < limit:
            piece = os.read(fd, size)
            if not piece:
                break
            if size >= 16 and len(piece) % 16:
                fail(f"a read of {size} returned {len(piece)}: not whole records")
            got += piece
        same(f"reads of {size}", True, bytes(got) == whole[:len(got)] and len(got) >= limit)
        os.close(fd)
    fd = opened()
    same("one read of 1 MiB", 1 << 20, len(os.read(fd, 1 << 20)))
    os.close(fd)


def test_two_readers():
    """Each open has a cursor of its own; an open sees what was held before it."""
    a, b = opened(), opened()
    same("the first", expected(1, 1000), os.read(a, 16000))
    same("the second", expected(1, 500), os.read(b, 8000))
    same("the first goes on", expected(1001, 1001), os.read(a, 16))
    os.close(a)
    os.close(b)


def test_follow():
    """A read at the end waits while the profiler runs; data and stop end the wait."""
    ctl("clear\nstart\n")
    fd = opened()
    got = []
    thread = threading.Thread(target=lambda: got.append(read_all(fd)))
    thread.start()
    first = records + 1
    wait_for("a waiting read", lambda: waiting_reads() == 1)
    for _ in range(20):
        append(5)
    wait_for("the reader at the end again", lambda: waiting_reads() == 1)
    ctl("flush\n")  # wakes the reader for nothing
    wait_for("the reader still there", lambda: waiting_reads() == 1)
    same("it goes on waiting", True, thread.is_alive())
    ctl("stop\n")
    thread.join(30)
    same("the reader ended", False, thread.is_alive())
    same("what it got", [expected(first, records)], got)
    os.close(fd)


def test_nonblock():
    """O_NONBLOCK counts as it is at each read."""
    ctl("clear\nstart\n")
    fd = opened(os.O_RDONLY | os.O_NONBLOCK)
    fails("read with O_NONBLOCK", errno.EAGAIN, os.read, fd, 16)
    append(1)
    same("with data", expected(records, records), os.read(fd, 100))
    os.set_blocking(fd, True)

    def append_late():
        wait_for("a waiting read", lambda: waiting_reads() == 1)
        append(1)

    thread = threading.Thread(target=append_late)
    thread.start()
    got = os.read(fd, 100)
    thread.join()
    same("without the flag it waits", expected(records, records), got)
    os.set_blocking(fd, False)
    fails("and not with it", errno.EAGAIN, os.read, fd, 16)
    ctl("stop\n")
    same("at the end", b"", os.read(fd, 16))
    os.close(fd)


def test_poll():
    ctl("clear\nstart\n")
    fd = opened()
    same("poll with nothing to read", False, is_readable(fd))
    for how in ("data", "stop"):
        pollers, woken = [], []
        for _ in range(3):
            def wait():
                poll = select.poll()
                poll.register(fd, select.POLLIN)
                woken.append(poll.poll(30000))
            pollers.append(threading.Thread(target=wait))
            pollers[-1].start()
        epoll = select.epoll()
        epoll.register(fd, select.EPOLLIN)
        same("epoll before", [], epoll.poll(0.05))
        same("pollers before", [], woken)
        if how == "data":
            append(1)
        else:
            ctl("stop\n")
        for thread in pollers:
            thread.join(30)
        same(f"pollers after {how}", [[(fd, select.POLLIN)]] * 3, woken)
        same(f"epoll after {how}", [(fd, select.EPOLLIN)], epoll.poll(30))
        epoll.close()
        if how == "data":
            same("read", expected(records, records), os.read(fd, 100))
            same("poll again", False, is_readable(fd))
    same("read at the end", b"", os.read(fd, 100))
    os.close(fd)


def test_interrupt():
    """A signal with a handler ends the wait, and takes nothing away."""
    class Interrupted(Exception):
        pass

    def handler(*_):
        raise Interrupted

    ctl("clear\nstart\n")
    fd = opened()
    signal.signal(signal.SIGALRM, handler)
    for _ in range(20):
        signal.setitimer(signal.ITIMER_REAL, 0.01)
        try:
            fail(f"the read returned {os.read(fd, 100)!r}")
        except Interrupted:
            pass
    wait_for("no read left", lambda: waiting_reads() == 0)
    append(1)
    same("read after interruptions", expected(records, records), os.read(fd, 100))
    ctl("stop\n")
    os.close(fd)


def test_shared():
    """Two processes share a descriptor: both waiting, each can be killed, the others live on."""
    ctl("clear\nstart\n")
    fd = opened()
    cats = [subprocess.Popen(["cat"], stdin=fd, stdout=subprocess.PIPE) for _ in range(3)]
    wait_for("three waiting reads", lambda: waiting_reads() == 3)
    begun = time.monotonic()
    cats[1].send_signal(signal.SIGTERM)
    cats[1].wait(10)
    same("a killed reader ends", True, time.monotonic() - begun < 5)
    os.set_blocking(fd, False)
    fails("the descriptor is not stuck", errno.EAGAIN, os.read, fd, 16)
    os.set_blocking(fd, True)
    cats[2].kill()
    cats[2].wait(10)
    append(1)
    ctl("stop\n")
    out, _ = cats[0].communicate(timeout=30)
    same("the one left", expected(records, records), out)
    os.close(fd)


def test_write():
    """O_RDWR: a write does not wait behind a read of the same descriptor."""
    ctl("clear\nstart\n")
    fd = opened(os.O_RDWR)
    thread = threading.Thread(target=lambda: os.read(fd, 100))
    thread.start()
    wait_for("a waiting read", lambda: waiting_reads() == 1)
    fails("write of no number", errno.EINVAL, os.write, fd, b"ten")
    fails("write of a number", errno.ENOSPC, os.write, fd, b"0x10\n")
    ctl("stop\n")
    thread.join(30)
    os.close(fd)


def test_many():
    """Many readers wait, and the tree answers as ever."""
    ctl("clear\nstart\n")
    cats = [subprocess.Popen(["cat", kpdata], stdout=subprocess.PIPE) for _ in range(40)]
    wait_for("40 waiting reads", lambda: waiting_reads() == 40)
    subprocess.run(["ls", "-l", mount], check=True, timeout=5, stdout=subprocess.DEVNULL)
    append(2)
    ctl("stop\n")
    for cat in cats:
        same("each gets all", expected(records - 1, records), cat.communicate(timeout=30)[0])


for name, test in list(globals().items()):
    if name.startswith("test_"):
        before = failures
        test()
        if failures != before:
            print("in", name)
sys.exit(1 if failures else 0)
