#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
faults: a server in which the Nth allocation, or the Nth call of the kernel, fails, for each N of a session.

usage: faults.py [--all] [--seconds=S] [--offset=K] [--kinds=NAMES] [--only=PART:KINDS:BURST:N]

A session: mount, start, work, stop, read kpdata, views/flat, kptrace, kpstat, a program with events,
umount. For each N every operation is answered, with what was asked for or an errno; no process ends by a
signal but the one that makes views; and then, without failures, all of it works. The begin of a server, with
its mount, is a part of its own: there it may also end with a sentence and a status other than 0, and leaves
nothing mounted.

Without --all as many N as fit into S seconds (150), in steps that begin at K (a random number, which is
printed). --only repeats one, and shows the stack of the call that failed. In the build folder, as root.
"""
import argparse
import mmap
import os
import random
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time

KINDS = {"alloc": 1, "map": 2, "open": 4, "task": 8, "call": 16}
PLAN = struct.Struct("<8Q")  # struct fault_plan of faults.h
KINDS_AT, AT_AT, BURST_AT, BYTES_AT, VERBOSE_AT, COUNT_AT, FAILED_AT = range(0, 56, 8)
SERVER, VIEWS = 0, 1
ANSWER_SECONDS = 30  # an operation that is not answered within this never is

class NoAnswer(Exception):
    pass


class Plans:
    """What the library in the server is told."""

    def __init__(self, path):
        self.path = path
        with open(path, "wb") as f:
            f.write(bytes(4096))
        with open(path, "r+b") as f:
            self.map = mmap.mmap(f.fileno(), 4096)

    def put(self, process, at, value):
        struct.pack_into("<Q", self.map, process * PLAN.size + at, value)

    def get(self, process, at):
        return struct.unpack_from("<Q", self.map, process * PLAN.size + at)[0]

    def arm(self, process, kinds, n, burst, verbose=False):
        self.put(process, KINDS_AT, 0)
        for at, value in ((AT_AT, n), (BURST_AT, burst), (VERBOSE_AT, int(verbose)), (COUNT_AT, 0),
                          (FAILED_AT, 0), (KINDS_AT, kinds)):
            self.put(process, at, value)

    def disarm(self):
        for process in (SERVER, VIEWS):
            self.put(process, KINDS_AT, 0)


class Server:
    def __init__(self, work, plans):
        self.work, self.plans = work, plans
        self.mnt = os.path.join(work, "mnt")
        self.socket = os.path.join(work, "socket")
        self.log = os.path.join(work, "server.log")
        self.process = None

    def begin(self):
        """True: it serves. Else it has ended, and its status says so."""
        env = dict(os.environ, LD_PRELOAD=os.path.abspath("tests/faults/.libs/libfaults.so"),
                   FAULTS=self.plans.path, MALLOC_ARENA_MAX="1")
        self.process = subprocess.Popen(
            [os.path.abspath("kprofs"), "-f", "-o", "socket=" + self.socket, self.mnt],
            stdin=subprocess.DEVNULL, stderr=open(self.log, "ab"), env=env)
        end = time.monotonic() + ANSWER_SECONDS
        while time.monotonic() < end:
            if self.process.poll() is not None:
                return False
            if self.is_mounted() and self.answers():
                return True
            time.sleep(0.001)
        raise NoAnswer()

    def answers(self):
        try:
            os.stat(self.mnt + "/kpstat")
            return True
        except OSError:
            return False

    def is_mounted(self):
        with open("/proc/self/mountinfo") as f:
            return any(line.split()[4] == self.mnt for line in f)

    def end(self):
        """Its exit status, after umount."""
        subprocess.run(["umount", self.mnt], check=False, stderr=subprocess.DEVNULL,
                       timeout=ANSWER_SECONDS)
        try:
            status = self.process.wait(ANSWER_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()
            raise NoAnswer()
        self.process = None
        return status

    def kill(self):
        if self.process:
            self.process.kill()
            self.process.wait()
            self.process = None
        subprocess.run(["umount", "-l", self.mnt], check=False, stderr=subprocess.DEVNULL)


def read_all(path):
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        total = 0
        while True:
            try:
                piece = os.read(fd, 1 << 16)
            except BlockingIOError:
                return total
            if not piece:
                return total
            total += len(piece)
    finally:
        os.close(fd)


def write(path, text):
    fd = os.open(path, os.O_WRONLY | os.O_CREAT)
    try:
        os.write(fd, text.encode())
    finally:
        os.close(fd)


def work():
    end = time.process_time() + 0.003
    while time.process_time() < end:
        pass


def attach(server):
    """A program with 20 events. It says that it has written them whether a server is there or not."""
    env = dict(os.environ, KPROF_SOCKET=server.socket, KPROF_BUFFER_KB="64")
    env.pop("LD_PRELOAD", None)
    program = subprocess.Popen([os.path.abspath("tests/fs/tell"), "1", "20"], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, env=env)
    try:
        program.stdout.readline()
        read_all(server.mnt + "/kptrace")
    finally:
        program.communicate()


def session(server):
    """The steps, each a name and a function."""
    mnt = server.mnt
    return [
        ("clear", lambda: write(mnt + "/kpctl", "clear\n")),
        ("event", lambda: write(mnt + "/kpctl", "event cpu-clock:period=500000\n")),
        ("start", lambda: write(mnt + "/kpctl", "start\n")),
        ("work", work),
        ("stop", lambda: write(mnt + "/kpctl", "stop\n")),
        ("kpdata", lambda: read_all(mnt + "/kpdata")),
        ("views/flat", lambda: read_all(mnt + "/views/flat")),
        ("views/trace.json", lambda: read_all(mnt + "/views/trace.json")),
        ("switch", lambda: write(mnt + "/events/test:n", "1\n")),
        ("tell", lambda: attach(server)),
        ("kptrace write", lambda: write(mnt + "/kptrace", "hello\n")),
        ("kptrace", lambda: read_all(mnt + "/kptrace")),
        ("views/ctf", lambda: read_all(mnt + "/views/ctf/metadata")),
        ("events", lambda: os.listdir(mnt + "/events")),
        ("kpstat", lambda: read_all(mnt + "/kpstat")),
        ("mpstat", lambda: read_all(mnt + "/mpstat")),
        ("kperr", lambda: read_all(mnt + "/kperr")),
    ]


def give_up(server, late):
    """Kills the server, since a thread that waits for its answer cannot be ended otherwise."""
    late.set()
    server.process.kill()


def run(server, must=()):
    """All steps. `must`: these have to succeed. Returns what was wrong."""
    for name, step in session(server):
        late = threading.Event()
        watch = threading.Timer(ANSWER_SECONDS, give_up, (server, late))
        watch.start()
        try:
            step()
        except OSError as e:
            if late.is_set():
                return "%s is not answered" % name
            if name in must:
                return "%s: %s, without a failure" % (name, os.strerror(e.errno))
            if server.process.poll() is not None:
                break
        finally:
            watch.cancel()
    status = server.process.poll()
    if status is not None:
        return "the server ended with status %d" % status
    return None


EVERYTHING = ("clear", "event", "start", "stop", "kpdata", "views/flat", "views/trace.json", "switch", "tell",
              "kptrace write", "kptrace", "views/ctf", "events", "kpstat", "mpstat", "kperr")


class Tester:
    def __init__(self, args, work):
        self.args, self.plans = args, Plans(os.path.join(work, "plans"))
        self.server = Server(work, self.plans)
        self.failed = self.tried = 0

    def fail(self, label, n, why):
        self.failed += 1
        print("FAIL: --only=%s:%d: %s" % (label, n, why))
        with open(self.server.log, "rb") as f:
            print(f.read()[-3000:].decode(errors="replace"))
        sys.stdout.flush()

    def serve(self):
        self.plans.disarm()
        open(self.server.log, "wb").close()
        if not self.server.begin():
            sys.exit("faults: the server does not begin")

    def one_session(self, label, process, kinds, burst, n):
        if not self.server.process:
            self.serve()
            wrong = run(self.server, EVERYTHING)
            if wrong:
                sys.exit("faults: without a failure: " + wrong)
        self.plans.arm(process, kinds, n, burst, bool(self.args.only))
        wrong = run(self.server)
        self.plans.disarm()
        if not wrong:
            wrong = run(self.server, EVERYTHING)
            wrong = wrong and "afterwards: " + wrong
        if wrong:
            self.fail(label, n, wrong)
            self.server.kill()

    def one_begin(self, label, process, kinds, burst, n):
        if self.server.process:
            self.server.end()
        open(self.server.log, "wb").close()
        self.plans.arm(process, kinds, n, burst, bool(self.args.only))
        wrong = None
        try:
            serves = self.server.begin()
            self.plans.disarm()
            if serves:
                wrong = run(self.server, ("kpstat", "stop"))
                if self.server.process.poll() == 1 and os.path.getsize(self.server.log):
                    wrong = None  # it served for a moment before the last of its threads failed
                status = self.server.end() if not wrong else 0
                # it may have served for a moment before the last of its threads failed
                if status and (status < 0 or not os.path.getsize(self.server.log)):
                    wrong = "umount ended it with status %d" % status
            else:
                status = self.server.process.returncode
                self.server.process = None
                with open(self.server.log, "rb") as f:
                    said = f.read()
                # before main() there is no reserve: GLib ends it, and says why
                if status <= 0 and not (status in (-signal.SIGABRT, -signal.SIGTRAP) and b"allocate" in said):
                    wrong = "the server ended with status %d at its begin" % status
                elif not said:
                    wrong = "it did not begin and says nothing"
                elif self.server.is_mounted():
                    wrong = "it did not begin, and left its mount"
        except NoAnswer:
            wrong = "the server does not begin and does not end"
        if wrong:
            self.fail(label, n, wrong)
            self.server.kill()

    def count(self, part, process, kinds):
        """How many calls there are in a part without failures."""
        if part == "begin":
            if self.server.process:
                self.server.end()
            self.plans.disarm()
            self.plans.arm(process, kinds, 0, 0)
            self.server.begin()
        else:
            if not self.server.process:
                self.serve()
                run(self.server, EVERYTHING)
            self.plans.arm(process, kinds, 0, 0)
            run(self.server)
        count = self.plans.get(process, COUNT_AT)
        self.plans.disarm()
        return count

    def sweep(self, part, process, name, burst, seconds):
        kinds = KINDS[name]
        one = self.one_begin if part == "begin" else self.one_session
        label = "%s%s:%s:%d" % (part, "-views" if process else "", name, burst)
        count = self.count(part, process, kinds)
        if not count:
            return
        began = time.monotonic()
        # the first tells how long one takes
        one(label, process, kinds, burst, 1)
        each = max(time.monotonic() - began, 0.01)
        step = 1 if self.args.all else max(1, round(count * each / seconds))
        first = 1 if self.args.all else 1 + self.args.offset % step
        tried = 1
        for n in range(first, count + 1, step):
            if not self.args.all and time.monotonic() - began > 2 * seconds:
                break
            one(label, process, kinds, burst, n)
            tried += 1
        self.tried += tried
        print("%-24s %6d calls, every %d. failed: %d tried in %.0f s" %
              (label, count, step, tried, time.monotonic() - began))
        sys.stdout.flush()


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--seconds", type=float, default=150)
    parser.add_argument("--offset", type=int, default=random.randrange(1000000))
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--only")
    args = parser.parse_args()
    if os.geteuid() != 0 or not os.path.exists("/dev/fuse"):
        print("faults: needs root and /dev/fuse")
        return 77
    work = tempfile.mkdtemp()
    os.mkdir(os.path.join(work, "mnt"))
    tester = Tester(args, os.path.realpath(work))
    parts = [(part, process, kind, burst)
             for part, process in (("session", SERVER), ("begin", SERVER), ("session", VIEWS))
             for kind in args.kinds.split(",")
             for burst in ((1, 4) if kind == "alloc" else (1,))]
    try:
        if args.only:
            part, kind, burst, n = args.only.split(":")
            process = VIEWS if part.endswith("-views") else SERVER
            one = tester.one_begin if part == "begin" else tester.one_session
            one(args.only.rsplit(":", 1)[0], process, KINDS[kind], int(burst), int(n))
            with open(tester.server.log, "rb") as f:
                print(f.read().decode(errors="replace"))
        else:
            print("faults: --offset=%d" % args.offset)
            for part, process, kind, burst in parts:
                tester.sweep(part, process, kind, burst, args.seconds / len(parts))
        if tester.server.process:
            status = tester.server.end()
            if status:
                tester.fail("umount", 0, "the server ended with status %d" % status)
    finally:
        tester.server.kill()
        shutil.rmtree(work, ignore_errors=True)
    print("faults: %d tried, %d failed" % (tester.tried, tester.failed))
    return 1 if tester.failed else 0


if __name__ == "__main__":
    sys.exit(main())
