/* The page's only script: shows the record of a cell, out of the page itself. Nothing is fetched,
   and whatever a host said is put in as text, never as markup. */
"use strict";
(() => {
  const SVG = "http://www.w3.org/2000/svg";
  const WIDE = 600, HIGH = 220, LEFT = 58, RIGHT = 14, TOP = 12, BOTTOM = 40;
  const SORTED_FROM = 4, FILTERED_FROM = 12; // rows
  const LOOKS = 6; // of lines, see page.css
  const dialog = document.getElementById("cell");
  const LANGUAGE = document.documentElement.lang;
  const WORDS = JSON.parse(dialog.dataset.words); // in that language, see script_words.py
  const unpacked = new Map();
  let pieces = null;
  let shown = 0;

  async function cellAt(index) {
    pieces ??= JSON.parse(document.getElementById("cells").textContent);
    const at = pieces.findLastIndex(([first]) => first <= index);
    if (!unpacked.has(at)) unpacked.set(at, unpack(pieces[at][1]));
    const piece = await unpacked.get(at);
    return { ...piece.cells[index - pieces[at][0]], shapes: piece.shapes };
  }

  async function unpack(text) {
    const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return JSON.parse(await new Response(stream).text());
  }

  /* A text by its name, with values in its braces. */
  function say(name, values = {}) {
    return WORDS[name].replace(/\{(\w+)\}/g, (_, each) => values[each]);
  }

  function make(tag, attributes = {}, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    element.append(...children);
    return element;
  }

  function draw(tag, attributes, ...children) {
    const element = document.createElementNS(SVG, tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    element.append(...children);
    return element;
  }

  /* A table in a box of its own, so that it and not the page is scrolled sideways. */
  function table(caption, heads, rows) {
    const head = make("tr", {}, ...heads.map((words) => make("th", { scope: "col" }, words)));
    const lines = rows.map(([label, ...places]) =>
      make("tr", {}, make("th", { scope: "row" }, label), ...places.map((text) => make("td", {}, text))));
    const found = make("table", { class: "plain" }, make("caption", {}, caption),
      make("thead", {}, head), make("tbody", {}, ...lines));
    return make("div", { class: "wide", role: "region", tabindex: "0", "aria-label": caption }, found);
  }

  function trials(cell) {
    const blank = cell.trials.some((trial) => trial.why);
    const ends = [...new Set(cell.trials.map((trial) => trial.ends))].filter(Boolean);
    const heads = [say("trial"), say("ended"), ...cell.figures, say("began"), ...(blank ? [say("why")] : [])];
    const rows = cell.trials.map((trial) => [
      trial.attempt > 1 ? say("attempt", trial) : String(trial.trial), trial.status,
      ...trial.figures.map((text) => text || "–"), trial.began || "–",
      ...(blank ? [[trial.why, trial.detail].filter(Boolean).join(" ")] : []),
    ]);
    return table([say("trials"), ...ends].join(", "), heads, rows);
  }

  /* Every name that a trial has a value for, in the records' order; a trial without it is blank. */
  function values(cell) {
    const measured = cell.trials.filter((trial) => trial.values);
    const found = measured.map((trial) =>
      new Map(cell.shapes[trial.shape].map((name, index) => [name, trial.values[index]])));
    const names = [...new Set(found.flatMap((each) => [...each.keys()]))];
    if (!names.length) return [];
    const box = table(say("values"),
      [say("value"), ...measured.map((trial) => say("trial_number", { number: trial.trial }))],
      names.map((name) => [name, ...found.map((each) => (each.has(name) ? String(each.get(name)) : ""))]));
    const input = make("input", { type: "search", autocomplete: "off", spellcheck: "false" });
    input.addEventListener("input", () => {
      for (const row of box.querySelectorAll("tbody tr"))
        row.hidden = !row.firstChild.textContent.includes(input.value.trim().toLowerCase());
    });
    const label = make("label", { class: "filter" }, `${say("filter")} `, input);
    return [folded(say("measured", { number: names.length }), label, box)];
  }

  function folded(words, ...children) {
    return make("details", {}, make("summary", {}, words), ...children);
  }

  function ticks(low, high, wanted) {
    const raw = (high - low || 1) / wanted;
    const power = 10 ** Math.floor(Math.log10(raw));
    const step = [1, 2, 5, 10].map((factor) => factor * power).find((each) => each >= raw * 0.999);
    const found = [];
    for (let n = Math.ceil(low / step - 1e-9); n * step <= high * (1 + 1e-9); n++) found.push(n * step);
    return found;
  }

  const words = (number) => Number(number.toPrecision(6)).toLocaleString(LANGUAGE);

  /* What a reader who does not see the chart is told of a line. */
  function spoken(line) {
    const ys = line.points.map(([, y]) => y);
    const mean = ys.reduce((sum, y) => sum + y, 0) / ys.length;
    const [least, most] = [words(Math.min(...ys)), words(Math.max(...ys))];
    return say("line", { line: line.label, number: ys.length, least, most, mean: words(mean) });
  }

  function chart(data) {
    const points = data.lines.flatMap((line) => line.points);
    const xs = points.map(([x]) => x);
    const low = Math.min(...xs), high = Math.max(...xs) === low ? low + 1 : Math.max(...xs);
    const top = 1.08 * Math.max(data.level ?? 0, ...points.map(([, y]) => y)) || 1;
    const x = (value) => (LEFT + ((value - low) / (high - low)) * (WIDE - LEFT - RIGHT)).toFixed(1);
    const y = (value) => (HIGH - BOTTOM - (value / top) * (HIGH - BOTTOM - TOP)).toFixed(1);
    const said = say(data.level === null ? "chart" : "chart_and_ceiling", {
      title: data.title, unit: data.y, lines: data.lines.map(spoken).join("; "), ceiling: words(data.level ?? 0),
    });
    const svg = draw("svg", { viewBox: `0 0 ${WIDE} ${HIGH}`, role: "img", "aria-label": said, class: "small" });
    for (const each of ticks(0, top, 4)) {
      svg.append(draw("line", { class: "grid", x1: LEFT, x2: WIDE - RIGHT, y1: y(each), y2: y(each) }),
        draw("text", { x: LEFT - 6, y: Number(y(each)) + 4, "text-anchor": "end" }, words(each)));
    }
    for (const each of ticks(low, high, 6))
      svg.append(draw("text", { x: x(each), y: HIGH - BOTTOM + 16, "text-anchor": "middle" }, words(each)));
    svg.append(draw("text", { x: LEFT, y: HIGH - 6 }, data.x));
    if (data.level !== null)
      svg.append(draw("line", { class: "level", x1: LEFT, x2: WIDE - RIGHT, y1: y(data.level), y2: y(data.level) }));
    data.lines.forEach((line, place) => {
      const look = `line look-${place % LOOKS}`;
      if (line.joined && line.points.length > 1) {
        const path = line.points.map(([px, py]) => `${x(px)},${y(py)}`).join(" ");
        svg.append(draw("polyline", { class: look, points: path }));
      } else {
        for (const [px, py] of line.points)
          svg.append(draw("circle", { class: `dot look-${place % LOOKS}`, cx: x(px), cy: y(py), r: place ? 2.6 : 3.4 }));
      }
    });
    return make("figure", {}, make("figcaption", {}, `${data.title}, ${data.y}`), svg, legend(data));
  }

  function legend(data) {
    const several = data.lines.length > 1 || !data.lines[0].joined;
    const lines = several ? data.lines.map((line, place) => [`look-${place % LOOKS}`, line.label]) : [];
    const level = data.level === null ? [] : [["level", say("ceiling", { ceiling: words(data.level) })]];
    return make("ul", { class: "legend" }, ...[...lines, ...level].map(([look, label]) => {
      const sample = draw("svg", { viewBox: "0 0 24 8", "aria-hidden": "true" },
        draw("line", { class: look === "level" ? look : `line ${look}`, x1: 0, x2: 24, y1: 4, y2: 4 }));
      return make("li", {}, sample, label);
    }));
  }

  function fill(cell) {
    document.getElementById("cell-name").textContent = cell.name;
    document.getElementById("cell-body").replaceChildren(
      make("p", { class: "under" }, make("code", {}, cell.key)),
      ...(cell.findings.length
        ? [make("ul", { class: "findings" }, ...cell.findings.map((text) => make("li", {}, text)))] : []),
      trials(cell),
      ...cell.charts.map(chart),
      folded(say("settings"), table(say("asked"), [say("setting"), say("value")], cell.settings)),
      ...values(cell));
  }

  function failed(error) {
    document.getElementById("cell-name").textContent = say("not_shown");
    document.getElementById("cell-body").replaceChildren(
      make("p", {}, say("not_unpacked", { error })));
  }

  async function show(index) {
    shown = index;
    await cellAt(index).then(fill, failed);
    for (const button of dialog.querySelectorAll("[data-step]")) {
      const next = index + Number(button.dataset.step);
      button.disabled = next < 0 || next >= Number(dialog.dataset.cells);
    }
    if (!dialog.open) {
      dialog.showModal();
      document.getElementById("cell-name").focus(); // which a screen reader then reads
    }
    dialog.scrollTop = 0;
  }

  /* One stop of the Tab key a table: the arrow keys go from figure to figure. */
  const STEPS = { ArrowUp: [0, -1], ArrowDown: [0, 1], ArrowLeft: [-1, 0], ArrowRight: [1, 0] };

  function neighbour(button, [across, down]) {
    let place = button.closest("td, th");
    for (;;) {
      const row = place.parentElement;
      const next = down ? row.parentElement.rows[row.sectionRowIndex + down] : row;
      place = next?.cells[place.cellIndex + across];
      if (!place) return null;
      const found = place.querySelector("button[data-cell]");
      if (found) return found;
    }
  }

  function stopAt(button) {
    for (const other of button.closest("table").querySelectorAll('button[data-cell][tabindex="0"]'))
      other.tabIndex = -1;
    button.tabIndex = 0;
  }

  /* Rows in the order of a column: figures by size, words by the alphabet, blanks last. */
  function value(row, column) {
    const text = row.cells[column]?.textContent.trim() ?? "";
    const number = text.replace(LANGUAGE === "en" ? /,/g : /\./g, "").replace(",", ".").match(/^[−-]?[\d.]+/);
    return number ? Number(number[0].replace("−", "-")) : text;
  }

  function sort(head) {
    const table = head.closest("table");
    const down = head.getAttribute("aria-sort") === "ascending";
    for (const other of table.querySelectorAll("[aria-sort]")) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    const column = Number(head.dataset.column), body = table.tBodies[0];
    const blank = (each) => each === "" || each === "–";
    const rows = [...body.rows].map((row) => [value(row, column), row]);
    rows.sort(([a], [b]) => {
      if (blank(a) || blank(b)) return blank(a) - blank(b);
      const order = typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b), LANGUAGE);
      return down ? -order : order;
    });
    body.append(...rows.map(([, row]) => row));
  }

  function sortable(table) {
    const shift = table.querySelector("tr.groups") ? 1 : 0;
    const heads = [...table.querySelectorAll(".corner"), ...table.querySelectorAll("tr.columns th")];
    heads.forEach((head, place) => {
      head.dataset.column = shift || place ? place : 0;
      const button = make("button", { type: "button", class: "sort", title: say("sort") }, ...head.childNodes);
      head.append(button);
    });
  }

  function filterable(table) {
    const input = make("input", { type: "search", autocomplete: "off", spellcheck: "false" });
    input.addEventListener("input", () => {
      const wanted = input.value.trim().toLowerCase();
      for (const row of table.tBodies[0].rows) row.hidden = !row.textContent.toLowerCase().includes(wanted);
    });
    table.parentElement.before(make("label", { class: "filter" }, `${say("filter_rows")} `, input));
  }

  for (const table of document.querySelectorAll("main table.figures")) {
    const rows = table.tBodies[0]?.rows.length ?? 0;
    if (rows >= SORTED_FROM) sortable(table);
    if (rows >= FILTERED_FROM) filterable(table);
  }

  function turn() {
    const root = document.documentElement;
    const dark = root.classList.contains("dark") || (!root.classList.contains("light") && matchMedia("(prefers-color-scheme: dark)").matches);
    root.classList.toggle("dark", !dark);
    root.classList.toggle("light", dark);
  }

  document.addEventListener("click", (event) => {
    const button = event.target.closest("button, .drawing [data-cell]");
    if (button?.dataset.scheme !== undefined) turn();
    else if (button?.classList.contains("sort")) sort(button.parentElement);
    else if (button?.dataset.cell) show(Number(button.dataset.cell));
    else if (button?.dataset.step) show(shown + Number(button.dataset.step));
    else if (button?.dataset.close !== undefined || event.target === dialog) dialog.close();
  });
  document.addEventListener("focusin", (event) => {
    if (event.target.matches?.("table button[data-cell]")) stopAt(event.target);
  });
  document.addEventListener("keydown", (event) => {
    const step = STEPS[event.key];
    const plain = !(event.ctrlKey || event.altKey || event.metaKey || event.shiftKey);
    if (!step || !plain || !event.target.matches?.("table button[data-cell]")) return;
    event.preventDefault();
    neighbour(event.target, step)?.focus();
  });
  for (const each of document.querySelectorAll("table"))
    each.querySelector("button[data-cell]")?.setAttribute("tabindex", "0");
  document.documentElement.classList.add("live");
})();
