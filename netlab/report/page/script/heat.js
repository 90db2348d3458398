/* A heat map as SVG: pointer, finger and arrow keys show its figures. */
function exploreMap(figure, data) {
  const SHADES = 8, WIDE = 600, LEFT = 150, TOP = 8, BELOW = 96, NAME = 22;
  const across = (WIDE - LEFT) / data.columns.length, down = Math.min(across, 46);
  const known = data.values.flat().filter((each) => each !== null);
  const low = Math.min(...known), high = Math.max(...known);
  const short = (name) => (name.length > NAME ? `${name.slice(0, NAME - 1)}…` : name);

  /* The style class of a place: larger values are darker; values within one machine are grey. */
  function shade(row, column) {
    const value = data.values[row][column];
    if (value === null) return data.inside[row][column] === null ? "hatch-ground" : "inside-spot";
    return `heat-${Math.min(SHADES - 1, Math.floor((SHADES * (value - low)) / (high - low || 1)))}`;
  }

  const svg = draw("svg", { class: "heat-live drawing", viewBox: `0 0 ${WIDE} ${TOP + down * data.rows.length + BELOW}`, "aria-hidden": "true" });
  const spots = data.rows.map((name, row) => {
    svg.append(draw("text", { x: LEFT - 8, y: TOP + (row + 0.5) * down + 4, class: "end" }, short(name)));
    return data.columns.map((_, column) => {
      const value = data.values[row][column] ?? data.inside[row][column];
      const x = LEFT + column * across, y = TOP + row * down;
      const spot = draw("rect", { class: `spot ${shade(row, column)}`, x: x + 1, y: y + 1, width: across - 2, height: down - 2 });
      spot.addEventListener("pointerenter", () => show(row, column));
      spot.addEventListener("pointerdown", () => show(row, column));
      svg.append(spot);
      if (value !== null && across > 34)
        svg.append(draw("text", { class: `middle on-${shade(row, column)}`, "pointer-events": "none", x: x + across / 2, y: y + down / 2 + 4 }, words(value, 4)));
      return spot;
    });
  });
  data.columns.forEach((name, column) => {
    const x = LEFT + (column + 0.5) * across, y = TOP + down * data.rows.length + 14;
    svg.append(draw("text", { x, y, class: "end", transform: `rotate(-30 ${x} ${y})` }, short(name)));
  });
  const box = make("div", { class: "plots", tabindex: "0", role: "application", "aria-label": `${data.title}. ${say("explore_map_keys")}` }, svg);
  const told = make("p", { class: "told", "aria-live": "polite" }, say("explore"));
  let at = [0, 0];

  function show(row, column) {
    at = [row, column];
    const value = data.values[row][column] ?? data.inside[row][column];
    const names = { row: `${data.y} ${data.rows[row]}`, column: `${data.x} ${data.columns[column]}` };
    const text = value === null ? say("spot_blank", names) : say("spot", { ...names, value: words(value, 4), unit: data.unit });
    told.textContent = text;
    for (const each of spots.flat()) each.classList.toggle("now", each === spots[row][column]);
  }

  const STEPS = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1], Home: [0, -Infinity], End: [0, Infinity] };
  box.addEventListener("focus", () => show(...at));
  box.addEventListener("keydown", (event) => {
    const step = STEPS[event.key];
    if (!step || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    const within = (place, number) => Math.min(number - 1, Math.max(0, place));
    show(within(at[0] + step[0], data.rows.length), within(at[1] + step[1], data.columns.length));
  });
  const inside = data.inside.flat().some((each) => each !== null) ? [make("p", { class: "panel-title" }, data.insideLabel)] : [];
  figure.append(make("div", { class: "live-chart" }, make("figcaption", {}, `${data.title}, ${data.unit}`), box, ...inside, told));
  figure.classList.add("explored");
}
