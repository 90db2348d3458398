/* Shows the records of a cell, which the page contains, in the dialog. */
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

/* A table in its own box, so that the table scrolls sideways and not the page. */
function table(caption, heads, rows) {
  const head = make("tr", {}, ...heads.map((words) => make("th", { scope: "col" }, words)));
  const lines = rows.map(([label, ...places]) =>
    make("tr", {}, make("th", { scope: "row" }, label), ...places.map((text) => make("td", {}, text))));
  const body = make("table", { class: "plain" }, make("caption", {}, caption),
    make("thead", {}, head), make("tbody", {}, ...lines));
  return make("div", { class: "wide", role: "group", tabindex: "0", "aria-label": caption }, body);
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

/* All values of the trials, in the order of the records; blank where a trial has no such value. */
function values(cell) {
  const measured = cell.trials.filter((trial) => trial.values);
  const maps = measured.map((trial) =>
    new Map(cell.shapes[trial.shape].map((name, index) => [name, trial.values[index]])));
  const names = [...new Set(maps.flatMap((map) => [...map.keys()]))];
  if (!names.length) return [];
  const box = table(say("values"),
    [say("value"), ...measured.map((trial) => say("trial_number", { number: trial.trial }))],
    names.map((name) => [name, ...maps.map((map) => (map.has(name) ? String(map.get(name)) : ""))]));
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

/* Requested and effective values; a row in which they differ is marked. */
function settings(cell) {
  const known = cell.settings.some(([, , effective]) => effective);
  const heads = [say("setting"), say("asked"), ...(known ? [say("effective")] : [])];
  const rows = cell.settings.map(([name, requested, effective]) => [name, requested, ...(known ? [effective] : [])]);
  const box = table(say("asked_and_effective"), heads, rows);
  box.querySelectorAll("tbody tr").forEach((row, index) => {
    if (!cell.settings[index][3]) return;
    row.className = "differs";
    row.lastChild.append(" ", make("span", { class: "changed" }, say("differs")));
  });
  return box;
}

/* Each finding with its advice, and its evidence folded below it. */
function findings(cell) {
  if (!cell.findings.length) return [];
  const items = cell.findings.map((finding) => {
    const advice = finding.advice ? [make("span", { class: "advice" }, finding.advice)] : [];
    const trialRows = finding.trials.length ? [[say("seen"), finding.trials.join(", ")]] : [];
    const rows = [...trialRows, ...finding.evidence.map(([name, value]) => [name, words(value)])];
    const evidence = rows.length ? [folded(say("rests"), table(say("evidence"), [say("figure"), say("value")], rows))] : [];
    return make("li", { class: finding.warning ? "warning" : "note" }, finding.text, " ", ...advice, ...evidence);
  });
  return [make("ul", { class: "findings" }, ...items)];
}

/* The path of the page's folder, as this machine's shell expects it. */
function folder() {
  if (location.protocol !== "file:") return ".";
  const path = decodeURIComponent(location.pathname).replace(/\/[^/]*$/, "") || "/";
  return /^\/[A-Za-z]:/.test(path) ? path.slice(1) : path;
}

/* A word, quoted for a POSIX shell; quoted for shells of Windows if it begins with a drive. */
function quoted(word) {
  if (/^[\w@%+=:,./-]+$/.test(word)) return word;
  return /^[A-Za-z]:/.test(word) ? `"${word}"` : `'${word.replaceAll("'", "'\"'\"'")}'`;
}

function command(cell) {
  const places = { folder: folder(), key: cell.key };
  const parts = JSON.parse(dialog.dataset.repeat);
  return parts.map((part) => quoted(part.replace(/\{(\w+)\}/g, (_, name) => places[name]))).join(" ");
}

/* The command that measures this cell again, and a button that copies it. */
function repeat(cell) {
  const line = command(cell);
  if (!line) return [];
  const code = make("code", { tabindex: "0" }, line);
  const button = make("button", { type: "button", class: "copy" }, say("copy"));
  button.setAttribute("aria-live", "polite");
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(line);
      button.textContent = say("copied");
    } catch {
      getSelection().selectAllChildren(code);
      button.textContent = say("selected");
    }
  });
  return [make("p", { class: "repeat" }, `${say("repeat")} `, code, " ", button)];
}

function fill(cell) {
  document.getElementById("cell-name").textContent = cell.name;
  document.getElementById("cell-body").replaceChildren(
    make("p", { class: "under" }, make("code", {}, cell.key)),
    ...findings(cell),
    ...cell.charts.slice(0, 1).map(chart),
    trials(cell),
    ...cell.charts.slice(1).map(chart),
    settings(cell),
    ...repeat(cell),
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
    document.getElementById("cell-name").focus(); // so that a screen reader reads it
  }
  dialog.scrollTop = 0;
}
