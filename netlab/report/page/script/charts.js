/* The charts that a reader can explore, drawn by uPlot. A text below a chart gives the figures at the
   place that the reader chooses by pointer, finger or keyboard. The picture of the chart stays in the
   page, for printing and for readers without JavaScript. */
const LOOKS_OF_LINES = 6; // see page.css
const DASHES = [[], [6, 3], [2, 2], [8, 3, 2, 3], [4, 2], [1, 3]];
const PLOT_HIGH = 250, PANEL_HIGH = 130, NEAR_PERCENT = 80;
const alive = new Map(); // figure element → its live chart

async function unpackCharts() {
  const packed = document.getElementById("charts-data")?.textContent;
  if (!packed) return;
  const charts = await unpack(packed);
  const watcher = new IntersectionObserver((seen) => {
    for (const { target, isIntersecting } of seen) {
      if (!isIntersecting || alive.has(target)) continue;
      watcher.unobserve(target);
      const data = charts[target.id.slice("chart-".length)];
      try {
        if (data.panels) alive.set(target, explore(target, data));
        else exploreMap(target, data);
      } catch (error) { // the picture of the chart is still there
        target.querySelector(".live-chart")?.remove();
        target.classList.remove("explored");
        console.error(error);
      }
    }
  }, { rootMargin: "300px" });
  for (const figure of document.querySelectorAll(".charts > figure"))
    if (charts[figure.id.slice("chart-".length)]) watcher.observe(figure);
}

/* A line in per cent of its ceiling; null where the value or the ceiling is not known. */
function shares(line, ceiling) {
  const known = new Map(ceiling.x.map((x, place) => [x, ceiling.y[place]]));
  const level = new Set(ceiling.y).size === 1 ? ceiling.y[0] : null;
  const whole = line.x.map((x) => known.get(x) ?? level);
  const of = (values) => values.map((value, place) =>
    value === null || !whole[place] ? null : (100 * value) / whole[place]);
  return { ...line, y: of(line.y), half: of(line.half) };
}

/* The colour of a style class in the scheme (light or dark) that the reader sees now. */
function inkOf(figure, look, property = "--look") {
  const probe = make("span", { class: look });
  probe.style.color = `var(${property})`;
  figure.append(probe);
  const colour = getComputedStyle(probe).color;
  probe.remove();
  return colour;
}

function explore(figure, chart) {
  const hidden = new Set(); // labels
  const labels = [...new Map(chart.panels.flatMap((panel) => panel.lines).map((line) => [line.label, line])).values()];
  const ceiled = chart.panels.some((panel) => panel.ceilings.length);
  const positive = chart.panels.every((panel) => panel.lines.every((line) => line.y.every((y) => y === null || y > 0)));
  const xs = [...new Set(chart.panels.flatMap((panel) => panel.lines.flatMap((line) => line.x)))].sort((a, b) => a - b);
  const edge = chart.logX ? Math.pow(xs.at(-1) / xs[0], 0.03) : 0.03 * (xs.at(-1) - xs[0] || 1);
  const whole = chart.logX ? [xs[0] / edge, xs.at(-1) * edge] : [xs[0] - edge, xs.at(-1) + edge];
  const tickWords = new Map(chart.ticks);
  let share = false, logarithmic = Boolean(chart.logY), range = whole, at = null, line = 0, plots = [];

  const area = make("div", { class: "plots", tabindex: "0", role: "application", "aria-label": `${chart.title}. ${say("explore_keys")}` });
  const told = make("p", { class: "told", "aria-live": "polite" }, say("explore"));
  const button = (words, act, pressed) => {
    const made = make("button", { type: "button", ...(pressed === undefined ? {} : { "aria-pressed": String(pressed) }) }, words);
    made.addEventListener("click", () => act(made));
    return made;
  };
  const press = (made, pressed) => made.setAttribute("aria-pressed", String(pressed));
  const zoomedOut = button(say("whole"), () => zoom(whole));
  const controls = make("div", { class: "controls" });
  if (labels.length > 1 && labels.every((each) => each.label))
    controls.append(...labels.map((each) => {
      const made = button("", () => {
        hidden.has(each.label) ? hidden.delete(each.label) : hidden.add(each.label);
        press(made, !hidden.has(each.label));
        rebuild();
      }, true);
      const look = `look-${each.place % LOOKS_OF_LINES}`;
      const sample = draw("svg", { viewBox: "0 0 24 8", "aria-hidden": "true" },
        draw("line", { class: `line ${look}`, x1: 0, x2: 24, y1: 4, y2: 4 }));
      made.append(sample, each.label);
      return made;
    }));
  if (ceiled) controls.append(button(say("share"), (made) => { share = !share; press(made, share); rebuild(); }, false));
  if (positive) controls.append(button(say("logarithmic"), (made) => { logarithmic = !logarithmic; press(made, logarithmic); rebuild(); }, logarithmic));
  controls.append(button("+", () => closer(2)), button("−", () => closer(0.5)), zoomedOut);
  controls.querySelectorAll("button").forEach((each) => {
    if (each.textContent === "+") each.setAttribute("aria-label", say("zoom_in"));
    if (each.textContent === "−") each.setAttribute("aria-label", say("zoom_out"));
  });

  const shownOf = (panel) => panel.lines.filter((each) => !hidden.has(each.label))
    .map((each) => (share && panel.ceilings.length ? shares(each, panel.ceilings[0]) : each));
  const ceilingsOf = (panel) => (share ? panel.ceilings.map((each) => shares(each, panel.ceilings[0])) : panel.ceilings);
  const unitOf = (panel) => (share && panel.ceilings.length ? "%" : panel.unit);
  const xWords = (x) => tickWords.get(x) ?? words(x);

  function valueWords(panel, each, x) {
    const place = each.x.indexOf(x), y = each.y[place];
    if (place < 0 || y === null) return null;
    const half = each.half[place];
    const value = half ? withInterval(y, half) : words(y, 4);
    return [panel.title, each.label, `${value} ${unitOf(panel)}`].filter(Boolean).join(" ");
  }

  /* The half-width with about two digits, and the figure with as many decimals. */
  function withInterval(value, half) {
    const decimals = Math.min(4, Math.max(0, 1 - Math.floor(Math.log10(half))));
    const form = { minimumFractionDigits: decimals, maximumFractionDigits: decimals };
    return `${value.toLocaleString(LANGUAGE, form)} ± ${half.toLocaleString(LANGUAGE, form)}`;
  }

  /* Write the figures of all lines at x below the chart, or only the figure of line number `only`. */
  function tell(x, only) {
    at = x;
    const found = chart.panels.flatMap((panel) => shownOf(panel).map((each) => [panel, each]));
    const chosen = only === undefined ? found : found.filter((_, place) => place === only);
    const figures = chosen.map(([panel, each]) => valueWords(panel, each, x)).filter(Boolean);
    told.textContent = `${xWords(x)}: ${figures.join("; ") || "–"}`;
    for (const plot of plots) plot.mark();
  }

  function zoom(to) {
    range = [Math.max(whole[0], to[0]), Math.min(whole[1], to[1])];
    if (!(range[1] > range[0])) range = whole;
    zoomedOut.disabled = range === whole || (range[0] === whole[0] && range[1] === whole[1]);
    for (const plot of plots) plot.chart.setScale("x", { min: range[0], max: range[1] });
  }

  /* Zoom by a factor around an x: by default the x whose figures are shown, else the middle. */
  function closer(factor, around = at) {
    const level = chart.logX ? Math.log : (value) => value, back = chart.logX ? Math.exp : (value) => value;
    const [low, high] = range.map(level), middle = around === null ? (low + high) / 2 : level(around);
    zoom([back(middle - (middle - low) / factor), back(middle + (high - middle) / factor)]);
  }

  function nearest(plot, left) {
    const those = xs.filter((x) => x >= range[0] && x <= range[1]);
    const away = (x) => Math.abs(plot.valToPos(x, "x") - left);
    return those.reduce((best, x) => (best === null || away(x) < away(best) ? x : best), null);
  }

  function yRange(panel, low, high) {
    if (logarithmic) return [low / 1.15, high * 1.15];
    if (share && low >= NEAR_PERCENT) return [Math.min(90, Math.floor(low - 0.5)), Math.max(101, Math.ceil(high + 0.5))];
    if (chart.fromZero || share) return [0, (chart.bands?.length ? 1.25 : 1.08) * high || 1];
    const edge = 0.06 * (high - low) || 1;
    return [low - edge, high + edge];
  }

  /* Ticks of a logarithmic axis: 1, 2 and 5 of each decade; even steps if these are too few. */
  function levels(low, high) {
    const first = Math.floor(Math.log10(low)), last = Math.ceil(Math.log10(high));
    const decades = Array.from({ length: last - first + 1 }, (_, place) => 10 ** (first + place));
    const found = decades.flatMap((decade) => [decade, 2 * decade, 5 * decade]).filter((y) => y >= low && y <= high);
    return found.length > 2 ? found : ticks(low, high, 4);
  }

  function plotOf(panel, wide) {
    const lines = shownOf(panel), ceilings = ceilingsOf(panel);
    const quiet = inkOf(figure, "", "--quiet"), grid = inkOf(figure, "", "--line"), paper = inkOf(figure, "", "--paper");
    const looks = lines.map((each) => inkOf(figure, `look-${each.place % LOOKS_OF_LINES}`));
    const every = [...lines, ...ceilings];
    const data = every.length ? uPlot.join(every.map((each) => [each.x, each.y]), every.map(() => [0, 2])) : [xs];
    const ys = every.flatMap((each) => each.y.flatMap((y, place) =>
      y === null ? [] : [y, y + (each.half[place] ?? 0), Math.max(logarithmic ? y : -Infinity, y - (each.half[place] ?? 0))]));
    const limits = yRange(panel, Math.min(...ys, Infinity) === Infinity ? 0 : Math.min(...ys), Math.max(...ys, 0) || 1);
    const font = `12px ${getComputedStyle(document.body).fontFamily}`;
    const ticked = (chartNow) => {
      const those = chart.ticks.map(([x]) => x).filter((x) => x >= range[0] && x <= range[1]);
      const step = Math.ceil((those.length * 54) / Math.max(1, chartNow.bbox.width / devicePixelRatio));
      return those.filter((_, place) => place % step === 0);
    };
    const axis = { stroke: quiet, font, ticks: { stroke: grid, size: 4 }, filter: (_, splits) => splits };
    const box = make("div", { class: "plot" });
    if (panel.title) box.append(make("p", { class: "panel-title" }, [panel.title, unitOf(panel)].filter(Boolean).join(", ")));
    const marker = make("div", { class: "at" });
    const made = new uPlot({
      width: wide, height: chart.panels.length > 1 ? PANEL_HIGH : PLOT_HIGH,
      legend: { show: false },
      cursor: {
        x: false, y: false, points: { show: false }, drag: { x: true, y: false, setScale: false },
        bind: { dblclick: () => () => { zoom(whole); return null; } },
      },
      scales: {
        x: { time: false, distr: chart.logX ? 3 : 1, range: () => range },
        y: { distr: logarithmic ? 3 : 1, range: () => limits },
      },
      axes: [
        { ...axis, grid: { show: false }, size: 26, ...(chart.ticks.length ? { splits: ticked } : {}),
          values: (_, splits) => splits.map((x) => xWords(x)) },
        { ...axis, grid: { stroke: grid, width: 1 }, size: 52,
          ...(logarithmic ? { splits: () => levels(...limits) } : {}), values: (_, splits) => splits.map((y) => words(y)) },
      ],
      series: [
        {},
        ...lines.map((each, place) => ({
          stroke: looks[place], width: each.joined ? 1.8 : 0, dash: DASHES[each.place % LOOKS_OF_LINES], spanGaps: false,
          ...(each.joined ? {} : { paths: () => null }),
          points: { show: each.x.length <= 60 || !each.joined, size: 6, stroke: looks[place], fill: each.place % 2 ? paper : looks[place] },
        })),
        ...ceilings.map(() => ({ stroke: quiet, width: 1.5, dash: [2, 3], points: { show: false } })),
      ],
      hooks: {
        drawClear: [(now) => bands(now, panel === chart.panels[0], font)],
        draw: [(now) => {
          lines.forEach((each, place) => whiskers(now, each, looks[place]));
          mark(now, marker, lines);
        }],
        setSelect: [(now) => {
          if (now.select.width > 4)
            zoom([now.posToVal(now.select.left, "x"), now.posToVal(now.select.left + now.select.width, "x")]);
          now.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
        }],
        setCursor: [(now) => {
          if (now.cursor.left >= 0 && !(now.cursor.event === null)) {
            const x = nearest(now, now.cursor.left);
            if (x !== null && x !== at) tell(x);
          }
        }],
      },
    }, data, box);
    made.over.append(marker);
    byFingers(made);
    area.append(box);
    return { chart: made, mark: () => mark(made, marker, lines) };
  }

  /* One finger chooses the place whose figures are shown; two fingers zoom. */
  function byFingers(plot) {
    const fingers = new Map();
    let apart = 0;
    const left = (clientX) => clientX - plot.over.getBoundingClientRect().left;
    const moved = (event) => {
      fingers.set(event.pointerId, event.clientX);
      const [one, two] = [...fingers.values()];
      if (two === undefined) {
        const x = nearest(plot, left(one));
        if (x !== null) tell(x);
        return;
      }
      const now = Math.max(20, Math.abs(one - two));
      if (apart) closer(now / apart, plot.posToVal(left((one + two) / 2), "x"));
      apart = now;
    };
    plot.over.addEventListener("pointerdown", (event) => {
      if (event.pointerType === "mouse") return;
      apart = 0;
      moved(event);
    });
    plot.over.addEventListener("pointermove", (event) => { if (fingers.has(event.pointerId)) moved(event); });
    for (const name of ["pointerup", "pointercancel"])
      plot.over.addEventListener(name, (event) => { fingers.delete(event.pointerId); apart = 0; });
  }

  /* Mark the x whose figures are shown, with a dot on each line. The plot must have been drawn:
     before that, it cannot convert values to positions. */
  function mark(now, marker, lines) {
    const inside = at !== null && at >= range[0] && at <= range[1];
    marker.style.display = inside ? "block" : "none";
    marker.style.left = `${now.valToPos(at ?? 0, "x")}px`;
    marker.replaceChildren(...lines.flatMap((each) => {
      const y = each.y[each.x.indexOf(at)] ?? null;
      if (y === null) return [];
      const dot = make("span", { class: `spot look-${each.place % LOOKS_OF_LINES}` });
      dot.style.top = `${now.valToPos(y, "y")}px`;
      return [dot];
    }));
  }

  /* Shade the named parts of the x axis; the names are written in the first panel. */
  function bands(now, named, font) {
    const context = now.ctx, { top, left, width, height } = now.bbox;
    context.save();
    context.beginPath();
    context.rect(left, top, width, height);
    context.clip();
    for (const [from, until, word] of chart.bands ?? []) {
      const [begin, end] = [from, until].map((x) => now.valToPos(x, "x", true));
      context.fillStyle = inkOf(figure, "", "--mark");
      context.fillRect(begin, top, Math.max(1, end - begin), height);
      if (!named) continue;
      context.fillStyle = inkOf(figure, "", "--quiet");
      context.font = font.replace("12px", `${12 * devicePixelRatio}px`);
      context.textAlign = "center";
      context.textBaseline = "top";
      context.fillText(word, (Math.max(left, begin) + Math.min(left + width, end)) / 2, top + 2 * devicePixelRatio);
    }
    context.restore();
  }

  /* Draw the interval of each mean as a vertical bar with a short line at each end. */
  function whiskers(now, each, ink) {
    const context = now.ctx, foot = 3 * devicePixelRatio;
    context.save();
    context.strokeStyle = ink;
    context.lineWidth = 1.2 * devicePixelRatio;
    each.half.forEach((half, place) => {
      if (!half || each.y[place] === null || each.x[place] < range[0] || each.x[place] > range[1]) return;
      const x = now.valToPos(each.x[place], "x", true);
      const low = Math.max(now.scales.y.min, each.y[place] - half), high = each.y[place] + half;
      const [below, above] = [low, high].map((y) => now.valToPos(y, "y", true));
      context.beginPath();
      context.moveTo(x, below); context.lineTo(x, above);
      context.moveTo(x - foot, below); context.lineTo(x + foot, below);
      context.moveTo(x - foot, above); context.lineTo(x + foot, above);
      context.stroke();
    });
    context.restore();
  }

  function rebuild() {
    for (const plot of plots) plot.chart.destroy();
    area.replaceChildren();
    const wide = Math.floor(area.clientWidth);
    plots = chart.panels.map((panel) => plotOf(panel, wide));
    zoom(range);
    if (at !== null) tell(at);
  }

  const MOVES = { ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity };
  area.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const lines = chart.panels.flatMap((panel) => shownOf(panel));
    const count = lines.length;
    if (!count) return;
    if (event.key in MOVES || event.key === "ArrowUp" || event.key === "ArrowDown") {
      if (event.key === "ArrowUp" || event.key === "ArrowDown")
        line = (line + (event.key === "ArrowDown" ? 1 : -1) + count) % count;
      line = Math.min(line, count - 1);
      const those = lines[line].x.filter((x, place) => lines[line].y[place] !== null && x >= range[0] && x <= range[1]);
      if (!those.length) return;
      const now = at === null ? -1 : those.findLastIndex((x) => x <= at);
      const next = event.key in MOVES ? now + MOVES[event.key] : now;
      tell(those[Math.max(0, Math.min(those.length - 1, next))], line);
    } else if (event.key === "+") closer(2);
    else if (event.key === "-") closer(0.5);
    else if (event.key === "0" || event.key === "Escape") zoom(whole);
    else return;
    event.preventDefault();
  });

  const panels = chart.panels[0];
  const heading = chart.panels.length > 1 ? chart.title : `${chart.title}: ${panels.quantity || panels.title}, ${panels.unit}`;
  figure.append(make("div", { class: "live-chart" }, make("figcaption", {}, heading), area,
    make("p", { class: "x-label" }, chart.x), told, controls));
  figure.classList.add("explored");
  rebuild();
  new ResizeObserver(() => {
    const wide = Math.floor(area.clientWidth);
    if (wide > 0 && plots.length && wide !== plots[0].chart.width)
      for (const plot of plots) plot.chart.setSize({ width: wide, height: plot.chart.height });
  }).observe(area);
  return { rebuild };
}

function redrawCharts() {
  for (const each of alive.values()) each.rebuild();
}
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redrawCharts);
new MutationObserver(redrawCharts).observe(document.documentElement, { attributeFilter: ["class"] });
unpackCharts();
