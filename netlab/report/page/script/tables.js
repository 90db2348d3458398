/* Tables of the page: the Tab key stops once at each table; long tables can be sorted and filtered. */
const SORTED_FROM = 4, FILTERED_FROM = 12; // rows

/* Within a table the arrow keys move from figure to figure. */
const STEPS = { ArrowUp: [0, -1], ArrowDown: [0, 1], ArrowLeft: [-1, 0], ArrowRight: [1, 0] };

function neighbour(button, [across, down]) {
  let place = button.closest("td, th");
  for (;;) {
    const row = place.parentElement;
    const next = down ? row.parentElement.rows[row.sectionRowIndex + down] : row;
    place = next?.cells[place.cellIndex + across];
    if (!place) return null;
    const target = place.querySelector("button[data-cell]");
    if (target) return target;
  }
}

function stopAt(button) {
  for (const other of button.closest("table").querySelectorAll('button[data-cell][tabindex="0"]'))
    other.tabIndex = -1;
  button.tabIndex = 0;
}

/* Rows in the order of a column: figures by size, words by the alphabet, blanks last. */
function value(row, column) {
  const cell = row.cells[column];
  if (!cell || cell.classList.contains("blank")) return ""; // a blank may contain the letter of a footnote
  const text = cell.textContent.trim();
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
