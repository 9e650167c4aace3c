#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""akaros.py KPDATA PERF_DATA: kpdata as Akaros's perf reads it.

A second reading of the records, by the rules of Akaros's converter (tools/dev-util/perf/perfconv.c):
types 1 to 4 are what Akaros emits, any other type is reported and skipped by its size. What a record
of type 1 to 4 holds and Akaros never emits is an error. Writes the perf.data file that the converter
would make, without feature sections, and prints `NAME COUNT` for samples, mappings, processes and
skipped records.
"""
import struct
import sys

PAYLOAD_MAX = 32 << 20
NO_PROCESS = 0xFFFFFFFF
PID_GONE = 0xFFFFFFFE  # our own marker in a sample; a number like any other to the converter
PID_LIMIT = 1 << 22  # Linux has no larger pids

MMAP, COMM, SAMPLE = 1, 3, 9  # of perf
MISC_KERNEL, MISC_USER = 1, 2
SAMPLE_TYPE = 0x100AF  # IP, TID, TIME, ADDR, CALLCHAIN, CPU, IDENTIFIER
ATTR_BYTES = 64  # PERF_ATTR_SIZE_VER0
ATTR_MMAP, ATTR_COMM = 1 << 8, 1 << 9

counts = {"samples": 0, "mappings": 0, "processes": 0, "skipped": 0}
skipped_types = set()


def wrong(offset, text):
    sys.exit(f"offset {offset}: {text}")


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if not byte & 0x80:
            return value, at
        if shift >= 70:
            wrong(at, "a varint of more than 10 bytes")


def records(data):
    at = 0
    while at < len(data):
        begin = at
        kind, at = varint(data, at)
        size, at = varint(data, at)
        if size > PAYLOAD_MAX:
            wrong(begin, f"a payload of {size} bytes")
        if size > len(data) - at:
            wrong(begin, "cut")
        yield begin, kind, data[at : at + size]
        at += size


def path_of(offset, payload, head):
    """The string that fills the rest of the payload."""
    text = payload[head:]
    if not text or text.index(0) != len(text) - 1:
        wrong(offset, "the path does not fill the rest of the record")
    return text[:-1]


def process_of(offset, pid):
    if not 0 < pid < PID_LIMIT:
        wrong(offset, f"pid {pid:#x} is no process")
    return pid


def event(kind, misc, body):
    return struct.pack("<IHH", kind, misc, 8 + len(body)) + body


def padded(text):
    return text + bytes(8 - len(text) % 8)


def take_sample(offset, kind, payload):
    info, time, pid, cpu, count = struct.unpack_from("<QQIHH", payload)
    if len(payload) != 24 + 8 * count or not count:
        wrong(offset, f"a sample of {count} addresses in {len(payload)} bytes")
    if pid not in (NO_PROCESS, PID_GONE):
        process_of(offset, pid)
    frames = struct.unpack_from(f"<{count}Q", payload, 24)
    counts["samples"] += 1
    head = struct.pack("<QQII", info, frames[0], pid, 0 if pid == NO_PROCESS else pid)
    body = head + struct.pack("<QQIIQ", time, frames[0], cpu, 0, count - 1)
    body += struct.pack(f"<{count - 1}Q", *frames[1:])
    return info, event(SAMPLE, MISC_KERNEL if kind == 1 else MISC_USER, body)


def take_mapping(offset, payload):
    _, addr, size, pgoff, pid = struct.unpack_from("<QQQQI", payload)
    path = path_of(offset, payload, 36)
    process_of(offset, pid)
    counts["mappings"] += 1
    return event(MMAP, MISC_USER, struct.pack("<IIQQQ", pid, pid, addr, size, pgoff) + padded(path))


def take_process(offset, payload):
    _, pid = struct.unpack_from("<QI", payload)
    name = path_of(offset, payload, 12).rsplit(b"/", 1)[-1][:15]
    process_of(offset, pid)
    counts["processes"] += 1
    return event(COMM, MISC_USER, struct.pack("<II", pid, pid) + padded(name))


def convert(data):
    kernel = struct.pack("<IIQQQ", NO_PROCESS, 0, 0, 0xFFFFFFFFFFFFFFFF, 0)
    out = [event(MMAP, MISC_KERNEL, kernel + padded(b"[kernel.kallsyms]"))]
    ids = []
    for offset, kind, payload in records(data):
        if kind in (1, 2):
            info, sample = take_sample(offset, kind, payload)
            if info not in ids:
                ids.append(info)
            out.append(sample)
        elif kind == 3:
            out.append(take_mapping(offset, payload))
        elif kind == 4:
            out.append(take_process(offset, payload))
        else:
            counts["skipped"] += 1
            skipped_types.add(kind)
    return ids, b"".join(out)


def perf_data(ids, events):
    """Header, ids, attributes, events; each attribute is the CPU's clock, with one id."""
    ids_at = 104
    attrs_at = ids_at + 8 * len(ids)
    data_at = attrs_at + (ATTR_BYTES + 16) * len(ids)
    header = b"PERFILE2" + struct.pack("<QQ", 104, ATTR_BYTES + 16)
    header += struct.pack("<QQ", attrs_at, data_at - attrs_at)
    header += struct.pack("<QQ", data_at, len(events)) + bytes(16) + bytes(32)
    attrs = b""
    for i in range(len(ids)):
        attr = struct.pack("<IIQQQQQ", 1, ATTR_BYTES, 0, 1000000, SAMPLE_TYPE, 0, ATTR_MMAP | ATTR_COMM)
        attrs += attr + bytes(ATTR_BYTES - len(attr)) + struct.pack("<QQ", ids_at + 8 * i, 8)
    return header + struct.pack(f"<{len(ids)}Q", *ids) + attrs + events


with open(sys.argv[1], "rb") as file:
    ids, events = convert(file.read())
with open(sys.argv[2], "wb") as file:
    file.write(perf_data(ids, events))
for name, count in counts.items():
    print(name, count)
print("skipped types", *sorted(skipped_types))
