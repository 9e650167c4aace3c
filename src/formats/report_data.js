// SPDX-License-Identifier: MIT
// Report: reads the data that html_data.c wrote. html_data.h describes them.

const KIND_PROCESS = 0, KIND_USER = 1, KIND_KERNEL = 2, KIND_INLINED = 3;
const TRACK_IDLE = 1, TRACK_OWN = 2;

// The bytes of the element with this id, unpacked; null: there is no such element.
async function unpack(id) {
	const element = document.getElementById(id);
	if (!element)
		return null;
	const text = atob(element.textContent), bytes = new Uint8Array(text.length);
	for (let i = 0; i < text.length; i++)
		bytes[i] = text.charCodeAt(i);
	element.remove();
	const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
	return new Uint8Array(await new Response(stream).arrayBuffer());
}

function makeReader(bytes) {
	let at = 0;

	// Bit operations have 32 bits; larger numbers are added up.
	function number() {
		let byte = bytes[at++];
		if (byte < 0x80)
			return byte;
		let value = byte & 0x7f, shift = 7;
		do {
			byte = bytes[at++];
			if (shift < 28)
				value |= (byte & 0x7f) << shift;
			else
				value += (byte & 0x7f) * 2 ** shift;
			shift += 7;
		} while (byte >= 0x80);
		return value;
	}

	function difference() {
		const value = number();
		return value % 2 ? -(value + 1) / 2 : value / 2;
	}

	function header() {
		const size = number();
		at += size;
		return JSON.parse(new TextDecoder().decode(bytes.subarray(at - size, at)));
	}

	return { number, difference, header };
}

// parent, what and kind of each node; node 0 is above the processes.
function readNodes(reader, capture) {
	const count = reader.number() + 1;
	capture.nodes = count;
	capture.parent = new Uint32Array(count);
	capture.what = new Uint32Array(count);
	capture.kind = new Uint8Array(count);
	for (let i = 1; i < count; i++)
		capture.parent[i] = i - reader.number();
	for (let i = 1; i < count; i++) {
		const value = reader.number();
		capture.what[i] = Math.floor(value / 4);
		capture.kind[i] = value % 4;
	}
}

function readSamples(reader, capture) {
	const count = reader.number();
	const time = new Float64Array(count), cpu = new Uint16Array(count);
	const node = new Uint32Array(count), weight = new Float64Array(count);

	for (const t of capture.tracks)
		for (let i = t.first, now = 0; i < t.end; i++)
			time[i] = now += reader.number();
	for (let i = 0; i < count; i++)
		cpu[i] = reader.number();
	for (let i = 0; i < count; i++)
		node[i] = reader.number();
	for (const t of capture.tracks)
		for (let i = t.first, now = 0; i < t.end; i++)
			weight[i] = now += reader.difference();
	Object.assign(capture, { samples: count, time, cpu, node, weight });
}

function readTracks(capture, rows) {
	let first = 0;
	capture.tracks = rows.map(function ([event, process, thread, pid, tid, flags, count]) {
		const track = { event, process, thread, pid, tid, flags, first, end: first + count };
		first += count;
		return track;
	});
}

// What follows from the nodes: the children of each, its process, and the function around inlined ones.
function linkNodes(capture) {
	const { nodes, parent, what, kind } = capture;
	const start = new Uint32Array(nodes + 1), children = new Uint32Array(nodes);
	const frame = new Uint32Array(nodes), process = new Uint32Array(nodes);

	for (let i = 1; i < nodes; i++) {
		start[parent[i] + 1]++;
		frame[i] = kind[i] === KIND_INLINED ? frame[parent[i]] : i;
		process[i] = kind[i] === KIND_PROCESS ? what[i] : process[parent[i]];
	}
	for (let i = 0; i < nodes; i++)
		start[i + 1] += start[i];
	const next = start.slice();
	for (let i = 1; i < nodes; i++)
		children[next[parent[i]]++] = i;
	Object.assign(capture, { start, children, frame, process });
}

// The event of each node: nodes of different events are never the same.
function findEvents(capture) {
	const { nodes, parent, node, tracks } = capture;
	const event = new Int32Array(nodes).fill(-1);

	for (const t of tracks)
		for (let i = t.first; i < t.end; i++)
			if (node[i])
				event[node[i]] = t.event;
	for (let i = nodes - 1; i > 0; i--)
		if (event[i] >= 0)
			event[parent[i]] = event[i];
	capture.nodeEvent = event;
}

// The capture in the element with this id; null: there is none.
async function readCapture(id) {
	const bytes = await unpack(id);
	if (!bytes)
		return null;
	const reader = makeReader(bytes), header = reader.header();
	const capture = {
		startMs: header.start_ms,
		events: header.events.map(([text, clock]) => ({ text, clock: clock === 1 })),
		cpuTimes: header.cpu_times.map(([number, measured, ...states]) => ({ number, measured, states })),
		processes: header.processes,
		functions: header.functions.map(([name, file]) => ({ name, file: header.files[file] })),
	};
	readTracks(capture, header.tracks);
	readNodes(reader, capture);
	readSamples(reader, capture);
	linkNodes(capture);
	findEvents(capture);
	capture.last = capture.tracks.reduce((last, t) => Math.max(last, capture.time[t.end - 1]), 0);
	return capture;
}

function nodeName(capture, node) {
	if (!node)
		return "all";
	const what = capture.what[node];
	return capture.kind[node] === KIND_PROCESS ? capture.processes[what] : capture.functions[what].name;
}

function nodeFile(capture, node) {
	return !node || capture.kind[node] === KIND_PROCESS ? "-"
		: capture.functions[capture.what[node]].file;
}
