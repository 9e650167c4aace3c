// SPDX-License-Identifier: MIT
// Report: the time line of samples by CPU or thread, in which a range is selected, and what the CPUs did.

const TIME_ROW = 16, TIME_LABEL = 170, TIME_BIN = 3; // pixels
const TIME_ROWS_MAX = 60;

const MODES = ["user", "kernel", "other", "kprofs", "idle"];
const MODE_COLOURS = ["--user", "--kernel", "--process", "--match", "--all"]; // report.css: .mode0, .mode1, ..

function seconds(us) {
	return (us / 1e6).toFixed(6).replace(/\.?0+$/, "");
}

// The mode of each sample, an index of MODES.
function modeOf(capture, track, i) {
	if (track.flags & TRACK_IDLE)
		return 4;
	if (track.flags & TRACK_OWN)
		return 3;
	const kind = capture.kind[capture.frame[capture.node[i]]];
	return kind === KIND_USER ? 0 : kind === KIND_KERNEL ? 1 : 2;
}

// Whole time of an event, in which a place of a time is from 0 to 1.
function makeScale(capture) {
	return { span: capture.last + 1, place: (time) => time / (capture.last + 1) };
}

function prepareCanvas(canvas, width, height) {
	const ratio = window.devicePixelRatio || 1, context = canvas.getContext("2d");
	canvas.width = Math.round(width * ratio);
	canvas.height = Math.round(height * ratio);
	canvas.style.width = width + "px";
	canvas.style.height = height + "px";
	context.setTransform(ratio, 0, 0, ratio, 0, 0);
	context.clearRect(0, 0, width, height);
	context.font = "12px monospace";
	return context;
}

function cssValue(element, name) {
	return getComputedStyle(element).getPropertyValue(name).trim();
}

// ---- the heat map --------------------------------------------------------------------------------------

// onSelect(from, to): a range in us was selected; null, null: all.
function makeTimeline(canvas, note, onSelect) {
	let view = null, rows = [], dragged = null, cursor = 0;

	function countRows(bins) {
		const { capture, selection } = view, scale = makeScale(capture), known = new Map();

		function rowOf(key, label) {
			if (!known.has(key))
				known.set(key, { key, label, bins: new Uint32Array(bins), samples: 0 });
			return known.get(key);
		}

		eachRange(capture, { event: selection.event, from: 0, to: Infinity }, function (track, first, end) {
			if (track.flags & (TRACK_IDLE | TRACK_OWN) || !isChosen(track, selection.thread))
				return;
			for (let i = first; i < end; i++) {
				const row = view.byThread ? rowOf(threadKey(track), track.thread + " " + track.tid)
					: rowOf(capture.cpu[i], "CPU " + capture.cpu[i]);
				row.bins[Math.floor(scale.place(capture.time[i]) * bins)]++;
				row.samples++;
			}
		});
		return Array.from(known.values()).sort(view.byThread ? (a, b) => b.samples - a.samples
			: (a, b) => a.key - b.key);
	}

	function xOf(time, width) {
		return TIME_LABEL + makeScale(view.capture).place(time) * (width - TIME_LABEL);
	}

	function drawRange(context, width, height) {
		const { from, to } = dragged || view.selection;
		const left = xOf(Math.max(0, from), width), right = xOf(Math.min(view.capture.last, to), width);
		if (from <= 0 && to >= view.capture.last)
			return;
		context.fillStyle = cssValue(canvas, "--veil");
		context.fillRect(TIME_LABEL, 0, left - TIME_LABEL, height);
		context.fillRect(right, 0, width - right, height);
		context.strokeStyle = cssValue(canvas, "--text");
		context.strokeRect(left, 0.5, Math.max(1, right - left), height - 1);
	}

	function draw() {
		const width = canvas.parentNode.clientWidth;
		if (!view || width <= TIME_LABEL)
			return;
		const bins = Math.ceil((width - TIME_LABEL) / TIME_BIN);
		rows = countRows(bins);
		const hidden = rows.splice(TIME_ROWS_MAX);
		const height = Math.max(1, rows.length) * TIME_ROW + 18;
		const context = prepareCanvas(canvas, width, height);
		const most = rows.reduce((most, row) => row.bins.reduce((a, b) => Math.max(a, b), most), 1);
		const text = cssValue(canvas, "--text"), heat = cssValue(canvas, "--heat");
		rows.forEach(function (row, at) {
			context.globalAlpha = 1;
			context.fillStyle = text;
			context.fillText(Array.from(row.label).slice(0, 22).join(""), 0, at * TIME_ROW + 12);
			context.fillStyle = heat;
			row.bins.forEach(function (count, bin) {
				if (!count)
					return;
				context.globalAlpha = 0.2 + 0.8 * count / most;
				context.fillRect(TIME_LABEL + bin * TIME_BIN, at * TIME_ROW, TIME_BIN, TIME_ROW - 1);
			});
		});
		context.globalAlpha = 1;
		context.fillStyle = text;
		context.fillText("0 s", TIME_LABEL, height - 4);
		context.textAlign = "right";
		context.fillText(seconds(view.capture.last) + " s", width, height - 4);
		context.textAlign = "left";
		drawRange(context, width, height);
		note.textContent = !hidden.length ? "" : plural(hidden.length, "thread") + " with " +
			plural(hidden.reduce((sum, row) => sum + row.samples, 0), "sample") + " not shown";
	}

	function timeAt(event) {
		const box = canvas.getBoundingClientRect();
		const x = (event.clientX - box.left - TIME_LABEL) / (box.width - TIME_LABEL);
		return Math.round(Math.max(0, Math.min(1, x)) * view.capture.last);
	}

	canvas.addEventListener("pointerdown", function (event) {
		canvas.setPointerCapture(event.pointerId);
		dragged = { begin: timeAt(event), from: timeAt(event), to: timeAt(event) };
	});
	canvas.addEventListener("pointermove", function (event) {
		if (!dragged)
			return;
		const now = timeAt(event);
		dragged.from = Math.min(dragged.begin, now);
		dragged.to = Math.max(dragged.begin, now);
		draw();
	});
	canvas.addEventListener("pointerup", function () {
		const range = dragged;
		dragged = null;
		if (range && range.to > range.from)
			onSelect(range.from, range.to);
		else if (range)
			onSelect(null, null);
	});
	// The arrow keys move the range, which is a twentieth of the time at first; with Shift its end.
	canvas.addEventListener("keydown", function (event) {
		const step = view.capture.last / 20, sign = event.key === "ArrowLeft" ? -1 : 1;
		if (event.key !== "ArrowLeft" && event.key !== "ArrowRight")
			return;
		const { from, to } = view.selection;
		const isAll = from <= 0 && to >= view.capture.last;
		const begin = isAll ? 0 : from + (event.shiftKey ? 0 : sign * step);
		const end = isAll ? step : to + sign * step;
		if (begin >= 0 && end > begin && end <= view.capture.last)
			onSelect(Math.round(begin), Math.round(end));
		event.preventDefault();
	});
	window.addEventListener("resize", draw);
	return {
		draw,
		// next: { capture, selection, byThread }
		show(next) {
			view = next;
			draw();
		}
	};
}

// ---- what the CPUs did ---------------------------------------------------------------------------------

// Weight by CPU and mode of the samples in a range; with bins > 0 also by time.
function countModes(capture, selection, bins) {
	const cpus = new Map(), scale = makeScale(capture);

	eachRange(capture, selection, function (track, first, end) {
		for (let i = first; i < end; i++) {
			const mode = modeOf(capture, track, i), number = capture.cpu[i];
			let cpu = cpus.get(number);
			if (!cpu) {
				cpu = { number, modes: [0, 0, 0, 0, 0], bins: new Float64Array(bins * MODES.length) };
				cpus.set(number, cpu);
			}
			cpu.modes[mode] += capture.weight[i];
			if (bins)
				cpu.bins[Math.floor(scale.place(capture.time[i]) * bins) * MODES.length + mode] +=
					capture.weight[i];
		}
	});
	return Array.from(cpus.values()).sort((a, b) => a.number - b.number);
}

// The times of the CPUs as the kernel counted them from the start of each run to its stop.
function makeMeasuredTimes() {
	const note = make("p", { id: "measurednote" }), body = make("tbody");
	const head = make("tr", {}, ...["CPU", "measured", "user", "kern", "irq", "idle", "steal"]
		.map((text) => make("th", { scope: "col", class: "n", text })));
	const table = make("table", { id: "measured" }, make("thead", {}, head), body);

	return {
		box: make("div", {}, note, table),
		show(capture) {
			table.hidden = !capture.cpuTimes.length;
			note.textContent = table.hidden
				? "This capture has no measured times of the CPUs: an earlier kprofs has written it, or the machine has none."
				: "Measured by the kernel, as mpstat shows it, of the whole machine from start to stop, whatever is selected:";
			body.replaceChildren(...capture.cpuTimes.map(function (cpu) {
				const whole = cpu.states.reduce((a, b) => a + b, 0);
				return make("tr", {}, make("td", { class: "n", text: String(cpu.number) }),
					make("td", { class: "n", text: seconds(cpu.measured) + " s" }),
					...cpu.states.map((state) => make("td", { class: "n",
						text: seconds(state) + " s " + percent(state, whole) })));
			}));
		}
	};
}

function makeCpuTimes(box) {
	const note = make("p", { id: "cpunote" });
	const canvas = make("canvas", { role: "img", "aria-label": "modes of the CPUs over the time" });
	const body = make("tbody");
	const head = make("tr", {}, make("th", { scope: "col", class: "n", text: "CPU" }),
		...MODES.map((text, mode) => make("th", { scope: "col", class: "n mode" + mode, text })));
	const measured = makeMeasuredTimes();
	let view = null;

	box.append(measured.box, note, make("div", {}, canvas),
		make("table", { id: "cpus" }, make("thead", {}, head), body));

	function drawCpus() {
		const width = canvas.parentNode.clientWidth, height = 3 * TIME_ROW;
		if (!view || width <= TIME_LABEL)
			return;
		const bins = Math.ceil((width - TIME_LABEL) / TIME_BIN);
		const all = { event: view.selection.event, from: 0, to: Infinity };
		const cpus = countModes(view.capture, all, bins).slice(0, TIME_ROWS_MAX);
		const context = prepareCanvas(canvas, width, Math.max(1, cpus.length) * height);
		const colours = MODE_COLOURS.map((n) => cssValue(canvas, n));
		cpus.forEach(function (cpu, at) {
			const bottom = (at + 1) * height - 3;
			context.fillStyle = cssValue(canvas, "--text");
			context.fillText("CPU " + cpu.number, 0, bottom - height / 2);
			for (let bin = 0; bin < bins; bin++) {
				const parts = cpu.bins.subarray(bin * MODES.length, (bin + 1) * MODES.length);
				const sum = parts.reduce((a, b) => a + b, 0);
				let y = bottom;
				parts.forEach(function (part, mode) {
					const h = sum ? part / sum * (height - 6) : 0;
					context.fillStyle = colours[mode];
					context.fillRect(TIME_LABEL + bin * TIME_BIN, y -= h, TIME_BIN, h);
				});
			}
		});
	}

	function fillTable() {
		const cpus = countModes(view.capture, view.selection, 0);
		body.replaceChildren(...cpus.map(function (cpu) {
			const whole = cpu.modes.reduce((a, b) => a + b, 0);
			return make("tr", {}, make("td", { class: "n", text: String(cpu.number) }),
				...cpu.modes.map((part) => make("td", { class: "n", text: percent(part, whole) })));
		}));
	}

	window.addEventListener("resize", drawCpus);
	return {
		// next: { capture, selection }
		show(next) {
			view = next;
			const event = view.capture.events[view.selection.event];
			note.textContent = "Estimated from the samples of " + event.text + ", of all threads: " +
				(event.clock ? "shares of the time of each CPU."
					: "shares of what the event counts, which is not time.") +
				" \u201cother\u201d is of samples without a stack.";
			measured.show(view.capture);
			drawCpus();
			fillTable();
		}
	};
}
