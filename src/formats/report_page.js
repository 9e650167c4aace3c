// SPDX-License-Identifier: MIT
// Report: the page around its parts: what is selected, the controls, the keys, and the fragment of the
// address, in which the selection is kept for bookmarks:
//
//	view	flame, table, tree, time or cpu
//	event	index
//	thread	key of a process or thread (report_model.js)
//	from, to	in us
//	s	search
//	sort, reverse	of the table
//	zoom	node of the flame graph
//	callers, threads	1: of the tree and the time line
//	colours	dark or light; else as the browser says

const VIEWS = [
	["flame", "Flame graph"], ["table", "Functions"], ["tree", "Call tree"],
	["time", "Time line"], ["cpu", "CPUs"],
];
const TEXT_KEYS = ["view", "thread", "s", "sort", "colours"];
const FLAG_KEYS = ["reverse", "callers", "threads"];

function readState(capture) {
	const state = {
		view: "flame", event: 0, thread: "", from: 0, to: capture.last, s: "", sort: "self",
		reverse: false, zoom: 0, callers: false, threads: false, colours: ""
	};
	const fields = new URLSearchParams(location.hash.slice(1));
	const number = (key, otherwise) => fields.has(key) && Number.isFinite(+fields.get(key))
		? Math.max(0, +fields.get(key)) : otherwise;

	for (const key of TEXT_KEYS)
		state[key] = fields.get(key) || state[key];
	for (const key of FLAG_KEYS)
		state[key] = fields.get(key) === "1";
	state.event = Math.min(number("event", 0), capture.events.length - 1);
	state.zoom = number("zoom", 0);
	state.from = number("from", 0);
	state.to = number("to", capture.last);
	if (!VIEWS.some(([name]) => name === state.view))
		state.view = "flame";
	return state;
}

function writeState(capture, state) {
	const fields = new URLSearchParams();
	for (const key of ["view", "event", "thread", "s", "sort", "zoom", "colours"])
		if (state[key])
			fields.set(key, state[key]);
	for (const key of FLAG_KEYS)
		if (state[key])
			fields.set(key, "1");
	if (state.from > 0 || state.to < capture.last) {
		fields.set("from", state.from);
		fields.set("to", state.to);
	}
	try {
		history.replaceState(null, "", "#" + fields);
	} catch (e) {
		// some viewers don't allow a page to change its address
	}
}

// dark, light, or "": what the browser prefers.
function setColours(colours) {
	const preferred = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
	document.documentElement.dataset.colours = colours || preferred;
}

// Processes with their threads, those with the most samples of an event first.
function fillThreads(list, capture, state) {
	const processes = new Map();
	for (const track of capture.tracks) {
		if (track.event !== state.event || track.flags & (TRACK_IDLE | TRACK_OWN))
			continue;
		const key = processKey(track), count = track.end - track.first;
		const process = processes.get(key) || { key, name: track.process, count: 0, threads: new Map() };
		const thread = process.threads.get(threadKey(track)) || { track, count: 0 };
		process.count += count;
		thread.count += count;
		process.threads.set(threadKey(track), thread);
		processes.set(key, process);
	}
	const byCount = (a, b) => b.count - a.count;
	list.replaceChildren(make("option", { value: "", text: "all threads" }));
	for (const process of Array.from(processes.values()).sort(byCount)) {
		list.append(make("option", { value: process.key, text: process.name + " (" + process.count + ")" }));
		for (const { track, count } of Array.from(process.threads.values()).sort(byCount))
			list.append(make("option", {
				value: threadKey(track),
				text: "\u00a0\u00a0" + track.thread + " " + track.tid + " (" + count + ")"
			}));
	}
	list.value = state.thread;
	if (list.selectedIndex < 0)
		list.value = state.thread = "";
}

function makePage(capture, before) {
	const main = document.getElementById("main"), panels = {}, tabs = {};
	const event = make("select", {
		id: "event", "aria-label": "event", change: () => set({ event: +event.value, zoom: 0 })
	});
	const thread = make("select", {
		id: "thread", "aria-label": "process or thread", change: () => set({ thread: thread.value })
	});
	const search = make("input", {
		id: "search", type: "search", placeholder: "search ( / )", "aria-label": "search for functions",
		input: () => set({ s: search.value })
	});
	const range = make("span", { id: "range", role: "status" });
	const all = make("button", {
		id: "all", type: "button", text: "whole time", click: () => set({ from: 0, to: capture.last })
	});
	const colours = make("button", {
		id: "colours", type: "button", text: "dark/light", click: switchColours
	});
	const status = make("p", { id: "status", role: "status" });
	const canvas = make("canvas", {
		id: "flamegraph", tabindex: 0, role: "application",
		"aria-label": "flame graph: arrow keys move, Enter zooms"
	});
	const heat = make("canvas", {
		id: "heatmap", tabindex: 0, role: "application",
		"aria-label": "time line: arrow keys select a time range"
	});
	const heatNote = make("p"), callers = makeCheck("callers", "callers below functions");
	const threads = makeCheck("threads", "by thread");
	let state = readState(capture), parts = null, counted = {};

	function makeCheck(key, text) {
		const box = make("input", { type: "checkbox", id: key, change: () => set({ [key]: box.checked }) });
		const label = make("label", {}, box, " " + text);
		label.box = box;
		return label;
	}

	function build() {
		const bar = make("div", { role: "tablist", id: "tabs" });
		main.append(make("div", { id: "controls" }, bar, event, thread, search, range, all, colours));
		for (const [name, title] of VIEWS) {
			tabs[name] = make("button", {
				type: "button", role: "tab", id: "tab-" + name, "aria-controls": "view-" + name, text: title,
				click: () => set({ view: name })
			});
			bar.append(tabs[name]);
			panels[name] = make("section", {
				role: "tabpanel", id: "view-" + name, "aria-labelledby": "tab-" + name
			});
			main.append(panels[name]);
		}
		panels.flame.append(status, make("div", {}, canvas));
		panels.tree.append(callers);
		panels.time.append(make("p", { text: "Drag to select a time range; a click selects the whole time." }),
			threads, make("div", {}, heat), heatNote);
		capture.events.forEach((e, i) => event.append(make("option", { value: i, text: e.text })));
		parts = {
			flame: makeFlame(canvas, status, (zoom) => remember({ zoom })),
			table: makeTable(panels.table, (sort, reverse) => set({ sort, reverse }),
				(row) => set({ s: "^" + quotePattern(row.name) + "$", view: "flame" })),
			tree: makeTree(panels.tree),
			time: makeTimeline(heat, heatNote, function (from, to) {
				set(from === null ? { from: 0, to: capture.last } : { from, to });
			}),
			cpu: makeCpuTimes(panels.cpu),
		};
	}

	function remember(changes) {
		Object.assign(state, changes);
		writeState(capture, state);
	}

	function set(changes) {
		remember(changes);
		show();
	}

	// Of the earlier capture all time is counted, and threads with the same names.
	function countBefore() {
		const at = before ? matchEvent(before, capture, state.event) : -1;
		const track = capture.tracks.find((t) => threadKey(t) === state.thread);
		const thread = track ? namesKey(track) : state.thread;
		return at < 0 ? null : countSamples(before, { event: at, thread, from: 0, to: Infinity });
	}

	// Counts only if the samples that are counted are others.
	function count() {
		const key = [state.event, state.thread, state.from, state.to].join(" ");
		if (counted.key !== key)
			counted = { key, now: countSamples(capture, state), before: countBefore(), match: null, rows: null };
		return counted;
	}

	function wholeBefore() {
		return counted.before ? counted.before.total[0] : 0;
	}

	function makeCompare() {
		if (!counted.before)
			return null;
		counted.match = counted.match || matchNodes(before, capture, state.event);
		return (node) => share(counted.now.total[node], counted.now.total[0]) -
			share(counted.match[node] ? counted.before.total[counted.match[node]] : 0, wholeBefore());
	}

	function countRows() {
		if (!counted.rows) {
			counted.rows = makeRows(capture, counted.now);
			if (counted.before)
				compareRows(counted.rows, makeRows(before, counted.before));
		}
		return counted.rows;
	}

	const inputs = {
		flame(pattern) {
			return [{
				capture, counts: counted.now, searched: Boolean(pattern), compare: makeCompare(),
				matches: searchNodes(capture, counted.now, pattern)
			}, state.zoom];
		},
		table(pattern) {
			return [{
				rows: countRows(), whole: counted.now.total[0], wholeBefore: wholeBefore(),
				compared: Boolean(counted.before), pattern, sort: state.sort, reverse: state.reverse
			}];
		},
		tree: (pattern) => [{ capture, counts: counted.now, pattern, callers: state.callers }],
		time: () => [{ capture, selection: state, byThread: state.threads }],
		cpu: () => [{ capture, selection: state }],
	};

	function showControls() {
		const { now } = counted;
		for (const [name] of VIEWS) {
			tabs[name].setAttribute("aria-selected", String(name === state.view));
			tabs[name].tabIndex = name === state.view ? 0 : -1;
			panels[name].hidden = name !== state.view;
		}
		event.value = state.event;
		fillThreads(thread, capture, state);
		if (search.value !== state.s)
			search.value = state.s;
		callers.box.checked = state.callers;
		threads.box.checked = state.threads;
		const isAll = state.from <= 0 && state.to >= capture.last;
		all.hidden = isAll;
		range.textContent = plural(now.samples[0], "sample") + (now.idle ? ", " + now.idle + " idle" : "") +
			(now.own ? ", " + now.own + " in kprofs itself" : "") +
			(isAll ? "" : ", from " + seconds(state.from) + " s to " + seconds(state.to) + " s");
		setColours(state.colours);
	}

	function show() {
		count();
		showControls();
		parts[state.view].show(...inputs[state.view](compileSearch(state.s)));
	}

	function switchColours() {
		const isDark = cssValue(document.documentElement, "--dark") === "1";
		set({ colours: isDark ? "light" : "dark" });
	}

	function onKey(key) {
		const at = "12345".indexOf(key.key);
		if (key.key === "Escape") {
			search.blur();
			set({ s: "", zoom: 0 });
		} else if (key.target === search || key.target.tagName === "SELECT" || key.ctrlKey || key.altKey ||
			key.metaKey) {
			return;
		} else if (key.key === "/") {
			search.focus();
			search.select();
		} else if (at >= 0) {
			set({ view: VIEWS[at][0] });
			tabs[state.view].focus();
		} else if (key.key === "d") {
			switchColours();
		} else if (key.target.getAttribute("role") === "tab" && /^Arrow(Left|Right)$/.test(key.key)) {
			const now = VIEWS.findIndex(([name]) => name === state.view);
			set({ view: VIEWS[(now + (key.key === "ArrowLeft" ? VIEWS.length - 1 : 1)) % VIEWS.length][0] });
			tabs[state.view].focus();
		} else {
			return;
		}
		key.preventDefault();
	}

	build();
	window.addEventListener("keydown", onKey);
	window.addEventListener("hashchange", function () {
		state = readState(capture);
		show();
	});
	matchMedia("(prefers-color-scheme: dark)").addEventListener("change", show);
	show();
}

async function start() {
	const main = document.getElementById("main");
	try {
		makePage(await readCapture("data"), await readCapture("before"));
		main.dataset.ready = "yes";
		performance.mark("ready");
	} catch (e) {
		main.textContent = "The data of this page can't be read: " + e;
	}
}

setColours("");
document.addEventListener("DOMContentLoaded", start);
