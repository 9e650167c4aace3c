// SPDX-License-Identifier: MIT
// Report: counts the selected samples. A selection is
//
//	event		index
//	thread		"": all; else the key of a process or a thread
//	from, to	times in us, both included

// Keys of a process and of a thread. Names are last, since they may have any character.
function processKey(track) {
	return "p" + track.process;
}

function threadKey(track) {
	return "t" + track.pid + "." + track.tid + "." + track.process;
}

// Of a thread in another capture, where the same thread may have another number.
function namesKey(track) {
	return "n" + track.process + "\n" + track.thread;
}

function isChosen(track, thread) {
	return !thread || processKey(track) === thread || threadKey(track) === thread ||
		namesKey(track) === thread;
}

// The first sample of a track at or after a time.
function findTime(capture, track, time) {
	let low = track.first, high = track.end;
	while (low < high) {
		const middle = (low + high) >> 1;
		if (capture.time[middle] < time)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

// Calls visit(track, first, end) for the samples of each track of the event in the range.
function eachRange(capture, selection, visit) {
	for (const track of capture.tracks) {
		if (track.event !== selection.event)
			continue;
		const first = findTime(capture, track, selection.from);
		let end = track.end;
		if (capture.time[end - 1] > selection.to)
			end = findTime(capture, track, selection.to + 1);
		if (first < end)
			visit(track, first, end);
	}
}

// Weight and samples of each node, in itself and with all below it; and what is in no node.
function countSamples(capture, selection) {
	const { nodes, parent, node, weight } = capture;
	const self = new Float64Array(nodes), selfSamples = new Uint32Array(nodes);
	let idle = 0, own = 0;

	eachRange(capture, selection, function (track, first, end) {
		if (!isChosen(track, selection.thread))
			return;
		if (track.flags & TRACK_IDLE) {
			idle += end - first;
			return;
		}
		if (track.flags & TRACK_OWN) {
			own += end - first;
			return;
		}
		for (let i = first; i < end; i++) {
			self[node[i]] += weight[i];
			selfSamples[node[i]]++;
		}
	});
	const total = self.slice(), samples = selfSamples.slice();
	for (let i = nodes - 1; i > 0; i--) {
		total[parent[i]] += total[i];
		samples[parent[i]] += samples[i];
	}
	return { self, selfSamples, total, samples, idle, own };
}

function share(part, whole) {
	return whole ? 100 * part / whole : 0;
}

function percent(part, whole) {
	return share(part, whole).toFixed(2) + "%";
}

function plural(count, one) {
	return count + " " + one + (count === 1 ? "" : "s");
}

// Whether a caller of the node, in its own stack, is the same function: then its total is counted there.
function findRepeated(capture) {
	const { nodes, parent, what, kind } = capture, repeated = new Uint8Array(nodes);
	for (let i = 1; i < nodes; i++) {
		if (kind[i] === KIND_PROCESS || kind[i] === KIND_INLINED)
			continue;
		for (let above = parent[i]; above; above = parent[above]) {
			if (what[above] === what[i] && kind[above] !== KIND_PROCESS &&
				kind[above] !== KIND_INLINED) {
				repeated[i] = 1;
				break;
			}
		}
	}
	return repeated;
}

// The rows of `kprof report`: functions in processes of one name. Inlined code counts for the function
// around it.
function makeRows(capture, counts) {
	const { nodes, what, kind, frame, process } = capture, rows = new Map();
	capture.repeated = capture.repeated || findRepeated(capture);

	function rowOf(node) {
		const isFunction = kind[node] !== KIND_PROCESS;
		const key = process[node] * (capture.functions.length + 1) + (isFunction ? what[node] + 1 : 0);
		let row = rows.get(key);
		if (!row) {
			row = {
				process: capture.processes[process[node]],
				name: isFunction ? nodeName(capture, node) : "-",
				file: nodeFile(capture, node),
				self: 0, samples: 0, total: 0, before: 0
			};
			rows.set(key, row);
		}
		return row;
	}

	for (let i = 1; i < nodes; i++) {
		if (counts.selfSamples[i]) {
			const row = rowOf(frame[i]);
			row.self += counts.self[i];
			row.samples += counts.selfSamples[i];
		}
		if (counts.samples[i] && kind[i] !== KIND_PROCESS && kind[i] !== KIND_INLINED &&
			!capture.repeated[i])
			rowOf(i).total += counts.total[i];
		else if (counts.selfSamples[i] && kind[i] === KIND_PROCESS)
			rowOf(i).total += counts.self[i];
	}
	return Array.from(rows.values());
}

// ---- comparison with an earlier capture --------------------------------------------------------------

// The event of the earlier capture with the same text; if both have one event, that; -1: none.
function matchEvent(before, capture, event) {
	if (before.events.length === 1 && capture.events.length === 1)
		return 0;
	return before.events.findIndex((e) => e.text === capture.events[event].text);
}

// For each node of an event the node of the earlier capture with the same names above it; 0: none.
function matchNodes(before, capture, event) {
	const other = matchEvent(before, capture, event), known = new Map();
	const match = new Uint32Array(capture.nodes);

	function key(c, node, parent) {
		return parent + " " + c.kind[node] + " " + nodeName(c, node) + "\n" + nodeFile(c, node);
	}
	for (let i = 1; i < before.nodes; i++)
		if (before.nodeEvent[i] === other)
			known.set(key(before, i, before.parent[i]), i);
	for (let i = 1; i < capture.nodes; i++) {
		const parent = capture.parent[i];
		if (capture.nodeEvent[i] === event && (!parent || match[parent]))
			match[i] = known.get(key(capture, i, match[parent])) || 0;
	}
	return match;
}

function rowKey(row) {
	return row.process + "\n" + row.name + "\n" + row.file;
}

// Adds the earlier shares to rows, and the rows that there are no more.
function compareRows(rows, rowsBefore) {
	const known = new Map(rows.map((row) => [rowKey(row), row]));
	for (const old of rowsBefore) {
		let row = known.get(rowKey(old));
		if (!row) {
			row = Object.assign({}, old, { self: 0, samples: 0, total: 0 });
			rows.push(row);
		}
		row.before = old.self;
	}
	return rows;
}

// ---- search --------------------------------------------------------------------------------------------

function quotePattern(text) {
	return text.replace(/[\\^$.*+?()[\]{}|\/]/g, "\\$&");
}

// A regular expression, or the text itself if it is none. Case matters if the text has capitals.
function compileSearch(text) {
	const flags = text === text.toLowerCase() ? "iu" : "u";
	try {
		return text ? new RegExp(text, flags) : null;
	} catch (e) {
		return new RegExp(quotePattern(text), flags);
	}
}

// Which nodes match, and the weight of the matches with what they call.
function searchNodes(capture, counts, pattern) {
	const { nodes, parent, kind, what } = capture;
	const names = pattern && capture.functions.map((f) => pattern.test(f.name));
	const processes = pattern && capture.processes.map((name) => pattern.test(name));
	const match = new Uint8Array(nodes), inside = new Uint8Array(nodes);
	let weight = 0, count = 0;

	for (let i = 1; pattern && i < nodes; i++) {
		match[i] = kind[i] === KIND_PROCESS ? processes[what[i]] : names[what[i]];
		inside[i] = match[i] || inside[parent[i]];
		if (match[i] && !inside[parent[i]])
			weight += counts.total[i];
		if (match[i] && counts.samples[i])
			count++;
	}
	return { match, weight, count };
}
