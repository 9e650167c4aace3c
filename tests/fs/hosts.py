# SPDX-License-Identifier: MIT
# hosts.py: writes captures of machines that do not exist, by the layouts in kprof(5).
#
# usage: hosts.py FILE HOST MACHINE-ID PROCESS=COUNT...
# Each PROCESS has COUNT samples of the event "made:period=1", a ms after one another from 10 s on; processes
# have the numbers 100, 101, ... on every machine. HOST "-" writes no HOST record, "none" as PROCESS=COUNT no
# CLOCK record, "from=S+W" samples from S seconds on, which were W s later than those of other captures.
import struct
import sys


def varint(value):
    out = b""
    while value > 127:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])


def record(kind, payload):
    return varint(kind) + varint(len(payload)) + payload


def text(value):
    return value.encode() + b"\0"


path, host, machine, *processes = sys.argv[1:]
BEGIN = 10 * 10**9
wall = 1700000000 * 10**9
out = bytearray()
if processes[0].startswith("from="):
    begin, later = processes.pop(0)[5:].split("+")
    BEGIN = int(begin) * 10**9
    wall += int(later) * 10**9
if processes[:1] == ["none"]:
    processes = processes[1:]
else:
    out += record(71, struct.pack("<QQI", BEGIN, wall, 1) + text("CLOCK_MONOTONIC") + struct.pack("<I", 1))
if host != "-":
    out += record(80, bytes.fromhex(machine) + bytes(16) + text(host))
out += record(64, struct.pack("<IIQQI", 1, 1, 0, 1, 0) + text("made:period=1"))
for number, process in enumerate(processes):
    name, count = process.split("=")
    out += record(67, struct.pack("<QII", BEGIN, 100 + number, 100 + number) + text(name))
    for i in range(int(count)):
        head = struct.pack("<QQIHH", 1, BEGIN + i * 10**6, 100 + number, number, 1)
        out += record(2, head + struct.pack("<Q", 0x1000 + number))
with open(path, "wb") as file:
    file.write(out)
