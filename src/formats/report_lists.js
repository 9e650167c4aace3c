// SPDX-License-Identifier: MIT
// Report: the table of functions and the call tree. Texts of the capture are set by textContent only.

const TABLE_ROWS = 500;		// shown at first, and added by the button below
const TREE_SHARE_MIN = 0.05;	// percent; children below this are counted in one line

function make(tag, attributes, ...children) {
	const element = document.createElement(tag);
	for (const [name, value] of Object.entries(attributes || {})) {
		if (name === "text")
			element.textContent = value;
		else if (typeof value === "function")
			element.addEventListener(name, value);
		else if (value !== false && value !== null)
			element.setAttribute(name, value === true ? "" : value);
	}
	element.append(...children);
	return element;
}

// ---- the table -----------------------------------------------------------------------------------------

const TABLE_COLUMNS = [
	{ key: "self", title: "share", number: true, help: "samples in the function itself" },
	{ key: "total", title: "total", number: true, help: "with what it calls" },
	{ key: "samples", title: "samples", number: true, help: "samples in the function itself" },
	{ key: "before", title: "before", number: true, compared: true, help: "share in the earlier capture" },
	{ key: "change", title: "change", number: true, compared: true, help: "of the share, in points" },
	{ key: "process", title: "process" },
	{ key: "name", title: "function" },
	{ key: "file", title: "file" },
];

// onSort(key, reverse): a head was used. onPick(row): a row was chosen.
function makeTable(box, onSort, onPick) {
	const head = make("tr"), body = make("tbody");
	const more = make("button", { type: "button", hidden: true, text: "more rows", click: addRows });
	let rows = [], shown = 0, view = null, columns = [];

	box.append(make("table", { id: "functions" }, make("thead", {}, head), body), more);

	function compareRows(a, b) {
		const column = columns.find((c) => c.key === view.sort) || columns[0];
		const x = a[column.key], y = b[column.key];
		const order = column.number ? y - x : x < y ? -1 : x > y ? 1 : 0;
		return (view.reverse ? -order : order) || b.self - a.self || (rowKey(a) < rowKey(b) ? -1 : 1);
	}

	function cellText(row, column) {
		if (column.key === "samples")
			return String(row.samples);
		if (column.key === "change")
			return (row.change < 0 ? "" : "+") + row.change.toFixed(2);
		if (column.key === "before")
			return percent(row.before, view.wholeBefore);
		return column.number ? percent(row[column.key], view.whole) : row[column.key];
	}

	function addRows() {
		for (const row of rows.slice(shown, shown + TABLE_ROWS)) {
			const line = make("tr", {
				tabindex: shown ? -1 : 0,
				click: () => onPick(row),
				keydown: (event) => moveInRows(event, row)
			});
			for (const column of columns)
				line.append(make("td", { class: column.number ? "n" : column.key, text: cellText(row, column) }));
			body.append(line);
			shown++;
		}
		more.hidden = shown >= rows.length;
	}

	function moveInRows(event, row) {
		const line = event.currentTarget;
		const next = event.key === "ArrowDown" ? line.nextSibling
			: event.key === "ArrowUp" ? line.previousSibling : null;
		if (event.key === "Enter")
			onPick(row);
		else if (next)
			next.focus();
		else
			return;
		event.preventDefault();
	}

	function fillHead() {
		head.replaceChildren(...columns.map(function (column) {
			const isSorted = column.key === view.sort;
			return make("th", {
				class: column.number ? "n" : null, scope: "col", title: column.help,
				"aria-sort": !isSorted ? null
					: Boolean(column.number) !== view.reverse ? "descending" : "ascending"
			}, make("button", {
				type: "button", text: column.title, "data-sort": column.key,
				click: () => onSort(column.key, isSorted && !view.reverse)
			}));
		}));
	}

	return {
		// next: { rows, whole, wholeBefore: 0 without comparison, compared, pattern, sort, reverse }
		show(next) {
			view = next;
			columns = TABLE_COLUMNS.filter((c) => view.compared || !c.compared);
			for (const row of view.rows)
				row.change = share(row.self, view.whole) - share(row.before, view.wholeBefore);
			rows = view.rows.filter((row) => !view.pattern || view.pattern.test(row.name) ||
				view.pattern.test(row.process));
			rows.sort(compareRows);
			shown = 0;
			body.replaceChildren();
			fillHead();
			addRows();
		}
	};
}

// ---- the call tree -------------------------------------------------------------------------------------

// An item of the tree is a set of nodes with a weight in each: with callees one node, with callers all
// nodes through which the samples of a function came.
function childItems(view, item) {
	const { capture, counts } = view, groups = new Map();

	function add(node, weight, samples, label) {
		const key = capture.kind[node] + " " + capture.what[node];
		const group = groups.get(key) || { label, nodes: [], weights: [], samples: [], weight: 0, count: 0 };
		group.nodes.push(node);
		group.weights.push(weight);
		group.samples.push(samples);
		group.weight += weight;
		group.count += samples;
		groups.set(key, group);
	}

	if (!view.callers) {
		const { start, children } = capture;
		for (const node of item.nodes)
			for (let i = start[node]; i < start[node + 1]; i++)
				if (counts.samples[children[i]])
					add(children[i], counts.total[children[i]], counts.samples[children[i]], children[i]);
	} else if (item.nodes[0] === 0) {
		for (let i = 1; i < capture.nodes; i++)
			if (counts.selfSamples[i])
				add(i, counts.self[i], counts.selfSamples[i], i);
	} else {
		item.nodes.forEach(function (node, i) {
			const parent = capture.parent[node];
			if (parent)
				add(parent, item.weights[i], item.samples[i], parent);
		});
	}
	return Array.from(groups.values()).sort((a, b) => b.weight - a.weight || a.label - b.label);
}

function makeTree(box) {
	const list = make("ul", { role: "tree", id: "calls", "aria-label": "call tree" });
	let view = null;

	box.append(list);

	function makeLine(item) {
		const { capture, counts } = view, node = item.label;
		const children = childItems(view, item);
		const line = make("li", {
			role: "treeitem", tabindex: -1, "aria-expanded": children.length ? "false" : null
		}, make("span", {
			class: "line" + (view.pattern && view.pattern.test(nodeName(capture, node)) ? " match" : "")
		},
		make("span", { class: "n", text: percent(item.weight, counts.total[0]) }),
		make("span", { class: "n", text: String(item.count) }),
		make("span", { class: "kind" + capture.kind[node], text: nodeName(capture, node) }),
		make("span", { class: "file", text: nodeFile(capture, node) })));
		line.item = item;
		line.below = children;
		return line;
	}

	function addLines(to, items) {
		const whole = view.counts.total[0];
		const shown = items.filter((item) => share(item.weight, whole) >= TREE_SHARE_MIN);
		to.append(...shown.map(makeLine));
		if (shown.length < items.length)
			to.append(make("li", {
				class: "rest", text: plural(items.length - shown.length, "function") + " below " +
					TREE_SHARE_MIN + "%"
			}));
	}

	function setOpen(line, open) {
		if (!line.below.length || (line.getAttribute("aria-expanded") === "true") === open)
			return;
		line.setAttribute("aria-expanded", String(open));
		if (!open) {
			line.lastChild.remove();
			return;
		}
		const group = make("ul", { role: "group" });
		line.append(group);
		addLines(group, line.below);
	}

	function focusOn(line) {
		for (const other of list.querySelectorAll("[tabindex='0']"))
			other.tabIndex = -1;
		line.tabIndex = 0;
		line.focus();
	}

	function step(line, key) {
		const lines = Array.from(list.querySelectorAll("[role=treeitem]"));
		const at = lines.indexOf(line), isOpen = line.getAttribute("aria-expanded") === "true";
		if (key === "ArrowRight" && !isOpen) {
			setOpen(line, true);
			return line;
		}
		if (key === "ArrowLeft" && isOpen) {
			setOpen(line, false);
			return line;
		}
		if (key === "ArrowLeft")
			return line.parentNode.closest("[role=treeitem]") || line;
		return lines[at + (key === "ArrowUp" ? -1 : 1)] || line;
	}

	list.addEventListener("click", function (event) {
		const line = event.target.closest("[role=treeitem]");
		if (line) {
			setOpen(line, line.getAttribute("aria-expanded") !== "true");
			focusOn(line);
		}
	});
	list.addEventListener("keydown", function (event) {
		const line = event.target.closest("[role=treeitem]");
		if (!line)
			return;
		if (event.key.startsWith("Arrow"))
			focusOn(step(line, event.key));
		else if (event.key === "Enter" || event.key === " ")
			setOpen(line, line.getAttribute("aria-expanded") !== "true");
		else
			return;
		event.preventDefault();
	});

	return {
		// next: { capture, counts, pattern, callers }
		show(next) {
			view = next;
			list.replaceChildren();
			addLines(list, childItems(view, { nodes: [0] }));
			if (list.firstChild)
				list.firstChild.tabIndex = 0;
		}
	};
}
