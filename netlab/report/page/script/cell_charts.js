/* The small charts of a cell. */
const WIDE = 600, HIGH = 220, LEFT = 58, RIGHT = 14, TOP = 12, BOTTOM = 40;
const GUTTER = 84; // width next to the plot, for each trial's own figure
const ROW = 15; // height of a row of words above the marks
const LETTER = 6.2; // mean width of a letter in a chart
const LOOKS = 6; // number of looks of lines, see page.css

function ticks(low, high, wanted) {
  const raw = (high - low || 1) / wanted;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= raw * 0.999);
  const values = [];
  for (let n = Math.ceil(low / step - 1e-9); n * step <= high * (1 + 1e-9); n++) values.push(n * step);
  return values;
}

/* Description of a line for screen readers. */
function spoken(line) {
  const ys = line.points.map(([, y]) => y);
  const mean = ys.reduce((sum, y) => sum + y, 0) / ys.length;
  const [least, most] = [words(Math.min(...ys)), words(Math.max(...ys))];
  return say("line", { line: line.label, number: ys.length, least, most, mean: words(mean) });
}

/* Each marked part with the row above the plot in which its word is written; equal words only once. */
function inRows(marks, x) {
  const ends = [], seen = new Set();
  return marks.map(([from, until, word, trial]) => {
    if (seen.has(word)) return { from, until, word, trial, row: null };
    seen.add(word);
    const long = word.length * LETTER;
    const begin = Math.min(Number(x(from)), WIDE - long);
    let row = ends.findIndex((end) => end < begin);
    if (row < 0) row = ends.length;
    ends[row] = begin + long + 6;
    return { from, until, word, trial, row, begin };
  });
}

function chart(data) {
  const { marks = [], trials = [], limits = [], mean = null } = data;
  const points = data.lines.flatMap((line) => line.points);
  const xs = [...points.map(([x]) => x), ...marks.flatMap(([from, until]) => [from, until])];
  const low = Math.min(...xs), high = Math.max(...xs) === low ? low + 1 : Math.max(...xs);
  const ys = [...points.map(([, y]) => y), ...trials.map(([, y]) => y), ...(mean ? [mean[0], mean[2]] : [])];
  // A limit far above the data would flatten the lines, so only the legend has it.
  const near = limits.filter(([level]) => level < 1.5 * Math.max(...ys));
  const highest = Math.max(data.level ?? 0, ...ys, ...near.map(([level]) => level));
  const top = (data.afloat ? highest + 0.3 * (highest - Math.min(...points.map(([, y]) => y))) : 1.08 * highest) || 1;
  const least = Math.min(...ys), most = Math.max(...ys);
  const bottom = data.afloat ? Math.max(0, least - 0.3 * (most - least || most)) : 0;
  const right = WIDE - (trials.length ? GUTTER : RIGHT);
  const x = (value) => (LEFT + ((value - low) / (high - low)) * (right - LEFT)).toFixed(1);
  const rows = inRows(marks, x);
  const above = TOP + ROW * (1 + Math.max(-1, ...rows.map(({ row }) => row ?? -1)));
  const tall = HIGH + above - TOP;
  const y = (value) => (tall - BOTTOM - ((value - bottom) / (top - bottom)) * (tall - BOTTOM - above)).toFixed(1);
  const svg = draw("svg", { viewBox: `0 0 ${WIDE} ${tall}`, role: "img", "aria-label": told(data), class: "small" });
  for (const { from, until, word, row, begin } of rows) {
    const wide = Math.max(2, x(until) - x(from));
    svg.append(draw("rect", { class: "marked", x: x(from), y: above - 4, width: wide, height: tall - BOTTOM - above + 4 },
      draw("title", {}, word)));
    if (row !== null) svg.append(draw("text", { class: "marked-word", x: begin, y: 11 + ROW * row }, word));
  }
  for (const each of ticks(bottom, top, 4)) {
    svg.append(draw("line", { class: "grid", x1: LEFT, x2: right, y1: y(each), y2: y(each) }),
      draw("text", { x: LEFT - 6, y: Number(y(each)) + 4, "text-anchor": "end" }, words(each)));
  }
  for (const each of ticks(low, high, 6))
    svg.append(draw("text", { x: x(each), y: tall - BOTTOM + 16, "text-anchor": "middle" }, words(each)));
  svg.append(draw("text", { x: LEFT, y: tall - 6 }, data.x));
  const levels = [...(data.level === null ? [] : [["level", data.level]]), ...near.map(([level]) => ["limit", level])];
  for (const [look, level] of levels)
    svg.append(draw("line", { class: look, x1: LEFT, x2: right, y1: y(level), y2: y(level) }));
  if (mean && !trials.length) {
    svg.append(draw("rect", { class: "mean-band", x: LEFT, width: right - LEFT, y: y(mean[2]), height: Math.max(1, y(mean[0]) - y(mean[2])) }),
      draw("line", { class: "mean-line", x1: LEFT, x2: right, y1: y(mean[1]), y2: y(mean[1]) }));
  }
  data.lines.forEach((line, place) => svg.append(...drawn(line, place, x, y)));
  if (trials.length) svg.append(...beside(trials, mean, right, tall, y));
  return make("figure", {}, make("figcaption", {}, `${data.title}, ${data.y}`), svg, legend(data));
}

function drawn(line, place, x, y) {
  const look = `look-${place % LOOKS}`;
  if (line.joined && line.points.length > 1) {
    const path = line.points.map(([px, py]) => `${x(px)},${y(py)}`).join(" ");
    return [draw("polyline", { class: `line ${look}`, points: path })];
  }
  return line.points.map(([px, py]) =>
    draw("circle", { class: `dot ${look}`, cx: x(px), cy: y(py), r: place ? 2.6 : 3.4 }));
}

/* Each trial's mean as a dot next to the plot, and the mean of all with its interval. */
function beside(trials, mean, right, tall, y) {
  const step = (GUTTER - 36) / trials.length;
  const at = (place) => (right + 10 + step * (place + 0.5)).toFixed(1);
  const found = trials.map(([place, value], index) =>
    draw("circle", { class: `dot trial look-${place % LOOKS}`, cx: at(index), cy: y(value), r: 3.2 },
      draw("title", {}, say("trial_mean", { number: index + 1, mean: words(value) }))));
  const edge = WIDE - 12;
  if (mean) {
    found.push(draw("line", { class: "mean-line", x1: edge, x2: edge, y1: y(mean[0]), y2: y(mean[2]) }));
    for (const [value, half] of [[mean[0], 4], [mean[1], 7], [mean[2], 4]])
      found.push(draw("line", { class: "mean-line", x1: edge - half, x2: edge + half, y1: y(value), y2: y(value) }));
  }
  const middle = (right + 10 + WIDE) / 2;
  return [...found, draw("text", { x: middle, y: tall - BOTTOM + 16, "text-anchor": "middle" }, say("means"))];
}

/* Description of the chart for screen readers. */
function told(data) {
  const lines = say(data.level === null ? "chart" : "chart_and_ceiling", {
    title: data.title, unit: data.y, lines: data.lines.map(spoken).join("; "), ceiling: words(data.level ?? 0),
  });
  const marked = (data.marks ?? []).map(([from, , word]) => say("marked", { word, from: words(from) }));
  const mean = data.mean ? [`${interval(data.mean)}.`] : [];
  return [lines, ...mean, ...marked].join(" ");
}

function interval([low, mean, high]) {
  return say("mean_interval", { low: words(low), mean: words(mean), high: words(high) });
}

function legend(data) {
  const several = data.lines.length > 1 || !data.lines[0].joined;
  const lines = several ? data.lines.map((line, place) => [`line look-${place % LOOKS}`, line.label]) : [];
  const level = data.level === null ? [] : [["level", say("ceiling", { ceiling: words(data.level) })]];
  const limits = (data.limits ?? []).map(([, label]) => ["limit", label]);
  const mean = data.mean ? [["mean-line", interval(data.mean)]] : [];
  return make("ul", { class: "legend" }, ...[...lines, ...mean, ...level, ...limits].map(([look, label]) => {
    const sample = draw("svg", { viewBox: "0 0 24 8", "aria-hidden": "true" },
      draw("line", { class: look, x1: 0, x2: 24, y1: 4, y2: 4 }));
    return make("li", {}, sample, label);
  }));
}
