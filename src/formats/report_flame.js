// SPDX-License-Identifier: MIT
// Report: the flame graph, on a canvas. Callers stand above what they call, the hottest on the left.

const FLAME_ROW = 18, FLAME_PAD = 4, FLAME_CHAR = 7.3;
const FLAME_NARROWEST = 0.3; // pixels; what is narrower is not drawn
const FLAME_ROWS_MAX = 512;  // what is deeper is not drawn

// view: { capture, counts, matches, compare: function of a node or null, whole: before's weight }
function makeFlame(canvas, status, onZoom) {
	const context = canvas.getContext("2d");
	let view = null, frames = [], zoomed = 0, current = null, leftOut = 0;

	function sortedChildren(node) {
		const { start, children } = view.capture, { samples, total } = view.counts;
		const list = Array.from(children.subarray(start[node], start[node + 1]))
			.filter((n) => samples[n]);
		return list.sort((a, b) => total[b] - total[a] || a - b);
	}

	// Frames from the top on: first those above the zoomed one, as wide as the picture.
	function place(width) {
		const { parent } = view.capture, { total, samples } = view.counts;
		const path = [], scale = width / (total[zoomed] || 1), open = [];

		frames = [];
		leftOut = 0;
		for (let n = zoomed; n; n = parent[n])
			path.unshift(n);
		path.unshift(0);
		path.forEach((node, depth) => frames.push({ node, x: 0, w: width, depth, above: node !== zoomed }));
		open.push({ list: sortedChildren(zoomed), next: 0, x: 0, depth: path.length });
		while (open.length) {
			const level = open[open.length - 1], node = level.list[level.next++];
			if (node === undefined) {
				open.pop();
				continue;
			}
			const frame = { node, x: level.x, w: total[node] * scale, depth: level.depth };
			level.x += frame.w;
			if (frame.w < FLAME_NARROWEST || frame.depth >= FLAME_ROWS_MAX) {
				leftOut += samples[node];
				continue;
			}
			frames.push(frame);
			open.push({ list: sortedChildren(node), next: 0, x: frame.x, depth: frame.depth + 1 });
		}
	}

	function colourOf(frame, colours) {
		const { capture, matches } = view, node = frame.node;
		if (matches.match[node])
			return colours.match;
		if (view.compare && node) {
			const change = Math.max(-1, Math.min(1, view.compare(node) / 10));
			const weak = colours.dark ? 25 : 96, strong = colours.dark ? 40 : 65;
			const light = weak + (strong - weak) * Math.abs(change);
			return "hsl(" + (change > 0 ? 8 : 215) + "," + (change ? 80 : 0) + "%," + light + "%)";
		}
		if (!node)
			return colours.all;
		return colours.kinds[capture.kind[node]];
	}

	function readColours() {
		const style = getComputedStyle(canvas), value = (name) => style.getPropertyValue(name).trim();
		return {
			text: value("--frame-text"), edge: value("--back"), match: value("--match"),
			all: value("--all"), focus: value("--text"), dark: value("--dark") === "1",
			kinds: [value("--process"), value("--user"), value("--kernel"), value("--inlined")]
		};
	}

	function label(frame) {
		const room = Math.floor((frame.w - FLAME_CHAR) / FLAME_CHAR);
		if (room < 3)
			return "";
		const chars = Array.from(nodeName(view.capture, frame.node));
		return chars.length <= room ? chars.join("") : chars.slice(0, room - 2).join("") + "..";
	}

	function paint(frame, colours) {
		const y = frame.depth * FLAME_ROW, kind = view.capture.kind[frame.node];
		const width = frame.w > 2 ? frame.w - 0.6 : frame.w;
		context.globalAlpha = frame.above ? 0.6 : 1;
		context.fillStyle = colourOf(frame, colours);
		context.fillRect(frame.x, y, width, FLAME_ROW - 1);
		context.globalAlpha = 1;
		if (kind === KIND_INLINED && frame.w > 4) {
			context.setLineDash([3, 2]);
			context.strokeStyle = colours.text;
			context.lineWidth = 0.6;
			context.strokeRect(frame.x + 0.5, y + 0.5, width - 1, FLAME_ROW - 2);
			context.setLineDash([]);
		}
		if (frame === current) {
			context.strokeStyle = colours.focus;
			context.lineWidth = 2;
			context.strokeRect(frame.x + 1, y + 1, Math.max(1, width - 2), FLAME_ROW - 3);
		}
		const text = label(frame);
		if (text) {
			context.font = (kind === KIND_KERNEL && frame.node ? "italic " : "") + "12px monospace";
			context.fillStyle = colours.text;
			context.fillText(text, frame.x + FLAME_PAD, y + FLAME_ROW - 5);
		}
	}

	function repaint() {
		const colours = readColours(), ratio = window.devicePixelRatio || 1;
		context.setTransform(ratio, 0, 0, ratio, 0, 0);
		context.clearRect(0, 0, canvas.width, canvas.height);
		for (const frame of frames)
			paint(frame, colours);
	}

	function draw() {
		const width = canvas.parentNode.clientWidth, ratio = window.devicePixelRatio || 1;
		if (!view || !width)
			return;
		place(width);
		const rows = frames.reduce((rows, f) => Math.max(rows, f.depth + 1), 1);
		canvas.width = Math.round(width * ratio);
		canvas.height = Math.round(rows * FLAME_ROW * ratio);
		canvas.style.width = width + "px";
		canvas.style.height = rows * FLAME_ROW + "px";
		current = current && frames.find((f) => f.node === current.node) || null;
		repaint();
		showSummary();
	}

	function describe(frame) {
		const { capture, counts } = view, node = frame.node;
		const parts = [nodeName(capture, node) + ": " + plural(counts.samples[node], "sample") + ", " +
			percent(counts.total[node], counts.total[0])];
		if (counts.self[node] && counts.selfSamples[node] < counts.samples[node])
			parts.push(percent(counts.self[node], counts.total[0]) + " in itself");
		if (view.compare && node) {
			const change = view.compare(node);
			parts.push((change < 0 ? "" : "+") + change.toFixed(2) + " since the earlier capture");
		}
		parts.push(["process", "", "kernel", "inlined"][node ? capture.kind[node] : 1]);
		parts.push(nodeFile(capture, node));
		return parts.filter((part) => part && part !== "-").join(", ");
	}

	function showSummary() {
		if (current)
			status.textContent = describe(current);
		else if (view.searched)
			status.textContent = plural(view.matches.count, "frame") + " matching, with what they call: " +
				percent(view.matches.weight, view.counts.total[0]);
		else
			status.textContent = leftOut ? plural(leftOut, "sample") +
				" in frames that are too narrow or too deep to be drawn" : "";
	}

	function frameAt(event) {
		const box = canvas.getBoundingClientRect();
		const x = event.clientX - box.left, depth = Math.floor((event.clientY - box.top) / FLAME_ROW);
		return frames.find((f) => f.depth === depth && x >= f.x && x < f.x + f.w) || null;
	}

	function focusOn(frame) {
		if (!frame || frame === current)
			return;
		current = frame;
		repaint();
		showSummary();
	}

	function zoomTo(node) {
		zoomed = node;
		draw();
		onZoom(node);
	}

	function step(key) {
		if (!current)
			return frames[0];
		const { parent } = view.capture;
		const row = frames.filter((f) => f.depth === current.depth), at = row.indexOf(current);
		if (key === "ArrowUp")
			return frames.find((f) => f.depth === current.depth - 1 && f.node === parent[current.node]);
		if (key === "ArrowDown")
			return frames.find((f) => f.depth === current.depth + 1 && parent[f.node] === current.node);
		return row[at + (key === "ArrowLeft" ? -1 : 1)];
	}

	canvas.addEventListener("mousemove", (event) => focusOn(frameAt(event)));
	canvas.addEventListener("click", function (event) {
		const frame = frameAt(event);
		if (frame)
			zoomTo(frame.node);
	});
	canvas.addEventListener("keydown", function (event) {
		if (event.key.startsWith("Arrow"))
			focusOn(step(event.key));
		else if ((event.key === "Enter" || event.key === " ") && current)
			zoomTo(current.node);
		else
			return;
		event.preventDefault();
	});
	window.addEventListener("resize", draw);

	return {
		draw,
		unzoom: () => zoomTo(0),
		show(next, node) {
			view = next;
			zoomed = node < view.capture.nodes && view.counts.samples[node] ? node : 0;
			current = null;
			draw();
		}
	};
}
