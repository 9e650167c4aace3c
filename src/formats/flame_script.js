// SPDX-License-Identifier: MIT
// The script inside of a flame graph. The page is complete without it; it adds:
//
//	zoom	a click on a frame, or Enter: the frame as wide as the page; Escape, or a click on
//		the top row: all of it
//	search	a field at the top right, focused by / and Ctrl-F: matching frames are coloured, and
//		their share is shown. A regular expression; case matters if it has capitals
//	keys	Tab to the frames, arrows to callers, callees and neighbours
//	width	the picture is as wide as the window
//
// Search and zoom are kept in the fragment of the address (#s=TEXT&z=EVENT.FRAME), for bookmarks.
"use strict";
(function () {
	const NS = "http://www.w3.org/2000/svg";
	const XHTML = "http://www.w3.org/1999/xhtml";
	const PAD = 10, EDGE_MIN = 2, CHAR = 7.3, LABEL_MIN = 3;
	const WIDTH_MIN = 480;
	const svg = document.documentElement;
	const drawn = svg.viewBox.baseVal.width; // the width that the file was drawn for
	const height = svg.viewBox.baseVal.height;
	let width = drawn;

	// A frame: its elements, and where it is as a part of its event, from 0 to 1.
	function readFrame(g, at, event) {
		const rect = g.querySelector("rect"), title = g.querySelector("title").textContent;
		const inner = drawn - 2 * PAD;
		return {
			g, rect, event, at, text: g.querySelector("text"), title,
			name: title.split("\n")[0],
			x: (+rect.getAttribute("x") - PAD) / inner,
			w: +rect.getAttribute("width") / inner,
			y: +rect.getAttribute("y"), parent: null, first: null, next: null, prev: null,
			shown: true
		};
	}

	// Frames come before what they call; rows tell how deep they are.
	function link(frames) {
		const above = [], last = [];
		for (const f of frames) {
			const depth = Math.round((f.y - frames[0].y) / 18);
			const parent = depth ? above[depth - 1] : null;
			f.depth = depth;
			f.parent = parent;
			if (parent && !parent.first)
				parent.first = f;
			else if (parent && last[depth]) {
				f.prev = last[depth];
				last[depth].next = f;
			}
			above[depth] = last[depth] = f;
			last.length = depth + 1;
		}
	}

	const events = Array.from(svg.querySelectorAll("g.e"), function (group, number) {
		const event = { number, frames: [], zoomed: null };
		event.frames = Array.from(group.querySelectorAll("g"),
			(g, at) => readFrame(g, at, event));
		link(event.frames);
		return event;
	});

	// ---- drawing ---------------------------------------------------------------------------

	function label(frame, x, w) {
		const room = Math.floor((w - CHAR) / CHAR);
		if (room < LABEL_MIN) {
			if (frame.text)
				frame.text.textContent = "";
			return;
		}
		if (!frame.text) {
			frame.text = document.createElementNS(NS, "text");
			frame.text.setAttribute("y", frame.y + 13);
			frame.g.appendChild(frame.text);
		}
		const chars = Array.from(frame.name);
		frame.text.textContent = chars.length <= room ? frame.name
			: chars.slice(0, room - 2).join("") + "..";
		frame.text.setAttribute("x", x + 3);
	}

	function place(frame, x, w, above) {
		frame.shown = w > 0;
		frame.g.style.display = frame.shown ? "" : "none";
		if (!frame.shown)
			return;
		frame.g.classList.toggle("a", above);
		frame.rect.setAttribute("x", x);
		frame.rect.setAttribute("width", w);
		frame.rect.classList.toggle("w", w > EDGE_MIN);
		label(frame, x, w);
	}

	function draw(event) {
		const z = event.zoomed, inner = width - 2 * PAD, left = z ? z.x : 0, scale = z ? z.w : 1;
		const path = new Set();
		for (let f = z && z.parent; f; f = f.parent)
			path.add(f);
		let inside = false; // of the zoomed frame: it and what follows, as long as it is deeper
		for (const f of event.frames) {
			inside = !z || f === z || (inside && f.depth > z.depth);
			if (path.has(f))
				place(f, PAD, inner, true);
			else if (inside)
				place(f, PAD + (f.x - left) / scale * inner, f.w / scale * inner, false);
			else
				place(f, 0, 0, false);
		}
	}

	function fit() {
		width = Math.max(WIDTH_MIN, window.innerWidth - 16);
		svg.setAttribute("width", width);
		svg.setAttribute("viewBox", "0 0 " + width + " " + height);
		field.setAttribute("x", width - PAD - 260);
		events.forEach(draw);
	}

	// ---- status line -----------------------------------------------------------------------

	const statusLine = document.createElementNS(NS, "text");
	statusLine.setAttribute("x", 620);
	statusLine.setAttribute("y", 72);
	statusLine.setAttribute("role", "status");

	function showStatus(text) {
		statusLine.textContent = text;
	}

	function showTitle(frame) {
		showStatus(frame.title.split("\n").slice(0, 2).join(": "));
	}

	// ---- the fragment ----------------------------------------------------------------------

	const state = { s: "", z: "" };

	function remember() {
		const parts = Object.keys(state).filter((k) => state[k])
			.map((k) => k + "=" + encodeURIComponent(state[k]));
		try {
			history.replaceState(null, "", "#" + parts.join("&"));
		} catch (e) {
			// some viewers don't allow a page to change its address
		}
	}

	function recall() {
		state.s = state.z = "";
		for (const part of location.hash.slice(1).split("&")) {
			const at = part.indexOf("=");
			if (at > 0 && part.slice(0, at) in state) {
				try {
					state[part.slice(0, at)] = decodeURIComponent(part.slice(at + 1));
				} catch (e) {
					// an invalid fragment is ignored
				}
			}
		}
		const [event, at] = state.z.split(".").map(Number);
		for (const e of events)
			e.zoomed = e.number === event && e.frames[at] || null;
		events.forEach(draw);
		input.value = state.s;
		search(state.s);
	}

	// ---- zoom ------------------------------------------------------------------------------

	function zoom(frame) {
		frame.event.zoomed = frame.parent ? frame : null;
		state.z = frame.parent ? frame.event.number + "." + frame.at : "";
		draw(frame.event);
		remember();
	}

	function unzoom() {
		for (const event of events) {
			event.zoomed = null;
			draw(event);
		}
		state.z = "";
		remember();
	}

	// ---- search ----------------------------------------------------------------------------

	function compile(text) {
		const flags = text === text.toLowerCase() ? "iu" : "u";
		try {
			return new RegExp(text, flags);
		} catch (e) {
			return new RegExp(text.replace(/[\\^$.*+?()[\]{}|\/]/g, "\\$&"), flags);
		}
	}

	function search(text) {
		const pattern = text ? compile(text) : null;
		let count = 0;
		const shares = events.map(function (event) {
			let sum = 0, until = -1; // depth of the matching frame around this one
			for (const f of event.frames) {
				// the event at the top is no function and never matches
				const hit = pattern !== null && f.depth > 0 && pattern.test(f.name);
				f.g.classList.toggle("m", hit);
				count += hit;
				if (until >= 0 && f.depth <= until)
					until = -1;
				if (hit && until < 0) {
					sum += f.w;
					until = f.depth;
				}
			}
			return (100 * sum).toFixed(2) + "%";
		});
		state.s = text;
		showStatus(!text ? "" : count + (count === 1 ? " frame matches" : " frames match") +
			", with what they call: " + shares.join(", "));
	}

	const field = document.createElementNS(NS, "foreignObject");
	const input = document.createElementNS(XHTML, "input");
	field.setAttribute("y", 6);
	field.setAttribute("width", 260);
	field.setAttribute("height", 24);
	input.setAttribute("type", "search");
	input.setAttribute("placeholder", "search ( / )");
	input.setAttribute("aria-label", "search for functions");
	field.appendChild(input);
	input.addEventListener("input", function () {
		search(input.value);
		remember();
	});

	// ---- mouse and keys --------------------------------------------------------------------

	const frameOf = new Map();
	for (const event of events)
		for (const f of event.frames)
			frameOf.set(f.g, f);

	function frameAt(target) {
		for (; target && target !== svg; target = target.parentNode)
			if (frameOf.has(target))
				return frameOf.get(target);
		return null;
	}

	// Tab reaches one frame at a time; the arrow keys move on from it.
	let current = null;

	function enter(frame) {
		if (current)
			current.g.setAttribute("tabindex", -1);
		current = frame;
		frame.g.setAttribute("tabindex", 0);
		frame.g.setAttribute("role", "button");
		frame.g.setAttribute("aria-label", frame.title);
	}

	function step(frame, key) {
		let to = frame;
		do {
			to = key === "ArrowUp" ? to.parent : key === "ArrowDown" ? to.first
				: key === "ArrowLeft" ? to.prev : to.next;
		} while (to && !to.shown);
		if (!to)
			return;
		enter(to);
		to.g.focus();
	}

	svg.addEventListener("click", function (e) {
		const frame = frameAt(e.target);
		if (frame) {
			enter(frame);
			zoom(frame);
		}
	});
	svg.addEventListener("mouseover", function (e) {
		const frame = frameAt(e.target);
		if (frame)
			showTitle(frame);
	});
	svg.addEventListener("focusin", function (e) {
		const frame = frameAt(e.target);
		if (frame)
			showTitle(frame);
	});
	window.addEventListener("keydown", function (e) {
		const frame = frameAt(document.activeElement);
		if (e.key === "Escape") {
			input.value = "";
			search("");
			unzoom();
		} else if (e.target === input) {
			return;
		} else if (e.key === "/" || (e.key === "f" && (e.ctrlKey || e.metaKey))) {
			input.focus();
			input.select();
		} else if (frame && (e.key === "Enter" || e.key === " ")) {
			zoom(frame);
		} else if (frame && e.key.startsWith("Arrow")) {
			step(frame, e.key);
		} else {
			return;
		}
		e.preventDefault();
	});

	svg.appendChild(statusLine);
	svg.appendChild(field);
	if (events.length && events[0].frames.length)
		enter(events[0].frames[0]);
	window.addEventListener("resize", fit);
	window.addEventListener("hashchange", recall);
	fit();
	recall();
})();
