// SPDX-License-Identifier: Apache-2.0
// The pages of a site: filters and tabs of the leaderboards, histories, and traces that zoom.
"use strict";

const all = (query, inside = document) => [...inside.querySelectorAll(query)];

/* The leaderboards. */

function showMetric(board, name) {
  for (const cell of all("table [data-metric]", board)) cell.hidden = cell.dataset.metric !== name;
  for (const tab of all(".tabs button", board)) tab.setAttribute("aria-pressed", String(tab.dataset.metric === name));
  const place = (row) => Number(all("td.rank", row).find((cell) => cell.dataset.metric === name).dataset.place);
  const rows = all("tbody tr", board).sort((one, other) => place(one) - place(other));
  board.querySelector("tbody").append(...rows);
}

function isWanted(row, wanted) {
  return Object.entries(wanted).every(([key, value]) =>
    !value || (key === "label" ? JSON.parse(row.dataset.labels).includes(value) : row.dataset[key] === value));
}

function filter() {
  const selects = all("[data-filter]");
  const wanted = Object.fromEntries(selects.map((select) => [select.dataset.filter, select.value]));
  const rows = all("tr[data-session]");
  for (const row of rows) row.hidden = !isWanted(row, wanted);
  for (const board of all("[data-board]")) board.hidden = all("tbody tr", board).every((row) => row.hidden);
  const shown = rows.filter((row) => !row.hidden).length;
  document.getElementById("count").textContent = `${shown} of ${rows.length} sessions`;
  const given = Object.entries(wanted).filter(([, value]) => value);
  history.replaceState(null, "", "#" + new URLSearchParams(given));
}

function startBoards() {
  const form = document.getElementById("filters");
  if (!form) return;
  for (const [key, value] of new URLSearchParams(location.hash.slice(1))) {
    const select = all("[data-filter]").find((one) => one.dataset.filter === key);
    if (select && [...select.options].some((option) => option.value === value)) select.value = value;
  }
  form.addEventListener("change", filter);
  form.addEventListener("reset", () => setTimeout(filter));
  form.addEventListener("submit", (event) => event.preventDefault());
  for (const board of all("[data-board]"))
    for (const tab of all(".tabs button", board))
      tab.addEventListener("click", () => showMetric(board, tab.dataset.metric));
  filter();
}

/* Traces: as rig/api/site/envelope.py packs them. */

async function unpacked(text, planes) {
  const packed = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  const count = bytes.length / planes;
  const found = new Uint32Array(count);
  for (let plane = 0; plane < planes; plane++) {
    const shift = 24 - 8 * plane;
    const from = plane * count;
    for (let at = 0; at < count; at++) found[at] |= bytes[from + at] << shift;
  }
  return found;
}

const floats = (bits) => new Float32Array(bits.buffer);

function coarser(level) {
  const count = Math.ceil(level.least.length / 4);
  const least = new Float32Array(count).fill(NaN);
  const most = new Float32Array(count).fill(NaN);
  for (let at = 0; at < level.least.length; at++) {
    const to = at >> 2;
    // A comparison with NaN is false: the first number replaces it.
    if (!(least[to] <= level.least[at]) && level.least[at] === level.least[at]) least[to] = level.least[at];
    if (!(most[to] >= level.most[at]) && level.most[at] === level.most[at]) most[to] = level.most[at];
  }
  return { width: level.width * 4, start: level.start, least, most };
}

function pyramid(finest) {
  const levels = [finest];
  while (levels.at(-1).least.length > 1000) levels.push(coarser(levels.at(-1)));
  return levels;
}

const COLUMNS_MOST = 3000;
// With fewer columns than this in view, tiles show more.
const TILES_BELOW = 800;
const tilesDue = new Map();
window.rigTile = (number, place, text) => tilesDue.get(`${number}-${place}`)?.(text);

class TraceView {
  constructor(trace) {
    this.trace = trace;
    this.tiles = new Map();
    this.view = [0, trace.length];
  }

  async open() {
    const bits = await unpacked(this.trace.power, 3);
    const columns = this.trace.columns;
    const values = floats(bits);
    this.levels = pyramid({ width: this.trace.width, start: 0, least: values.subarray(0, columns), most: values.subarray(columns) });
    this.windows = [];
    if (this.trace.windows) {
      const numbers = await unpacked(this.trace.borders, 4);
      const count = this.trace.windows;
      let start = 0;
      for (let at = 0; at < count; at++) {
        start += numbers[at];
        this.windows.push({ start, stop: start + numbers[count + at], phase: numbers[2 * count + at] });
      }
    }
    let least = Infinity, most = 0;
    for (const value of values) {
      if (value > 0 && value < least) least = value;
      if (value > most) most = value;
    }
    this.most = most;
    this.isWide = most / least > 1e4;
  }

  // The finest columns of which not too many are in view, of tiles where they are loaded.
  columns() {
    const [first, last] = this.view;
    const fits = (level) => (last - first) / level.width <= COLUMNS_MOST;
    const level = this.ofTiles(first, last, fits) ?? this.levels.find(fits) ?? this.levels.at(-1);
    const begin = Math.max(Math.floor((first - level.start) / level.width) - 1, 0);
    const end = Math.min(Math.ceil((last - level.start) / level.width) + 2, level.least.length);
    const hz = this.trace.hz;
    const times = new Float64Array(Math.max(end - begin, 0));
    for (let at = 0; at < times.length; at++) times[at] = (level.start + (begin + at) * level.width) / hz;
    return { width: level.width, times, least: level.least.subarray(begin, end), most: level.most.subarray(begin, end) };
  }

  ofTiles(first, last, fits) {
    const size = this.trace.tile;
    const isClose = (last - first) / this.trace.width < TILES_BELOW;
    if (!size || !isClose || last - first > 2 * size) return null;
    const begin = Math.floor(Math.max(first, 0) / size), end = Math.floor((Math.min(last, this.trace.length) - 1) / size);
    const parts = [];
    for (let place = begin; place <= end; place++) {
      if (!this.tiles.has(place)) this.load(place);
      parts.push(this.tiles.get(place));
    }
    if (parts.some((part) => !part)) return null;
    const values = new Float32Array(parts.reduce((count, part) => count + part.length, 0));
    let at = 0;
    for (const part of parts) { values.set(part, at); at += part.length; }
    const whole = { width: 1, start: begin * size, least: values, most: values };
    return pyramid(whole).find(fits) ?? null;
  }

  load(place) {
    this.tiles.set(place, null);
    const name = `${this.trace.number}-${place}`;
    tilesDue.set(name, async (text) => {
      tilesDue.delete(name);
      this.tiles.set(place, floats(await unpacked(text, 4)));
      this.changed?.();
    });
    const script = document.createElement("script");
    script.src = `tiles/${name}.js`;
    document.head.append(script);
  }

  zoom(factor, at = (this.view[0] + this.view[1]) / 2) {
    const [first, last] = this.view;
    this.to(at - (at - first) * factor, at + (last - at) * factor);
  }

  move(share) {
    const width = this.view[1] - this.view[0];
    this.to(this.view[0] + share * width, this.view[1] + share * width);
  }

  to(first, last) {
    const length = this.trace.length;
    const width = Math.min(Math.max(last - first, this.trace.tile ? 20 : 20 * this.trace.width), length);
    const start = Math.min(Math.max((first + last - width) / 2, 0), length - width);
    this.view = [start, start + width];
    this.changed?.();
  }

  nextWindow() {
    const middle = (this.view[0] + this.view[1]) / 2;
    const isWhole = this.view[1] - this.view[0] >= this.trace.length;
    const next = this.windows.find((one) => isWhole || one.start > middle) ?? this.windows[0];
    const room = (next.stop - next.start) * 0.6 + 1;
    this.to((next.start + next.stop) / 2 - room, (next.start + next.stop) / 2 + room);
  }
}

const PREFIXES = [[1, ""], [1e-3, "m"], [1e-6, "µ"], [1e-9, "n"]];
const decimals = (step) => Math.max(0, Math.min(9, Math.ceil(-Math.log10(step) - 1e-9)));
const time = (seconds) => seconds >= 1 ? `${seconds.toPrecision(3)} s` : seconds >= 1e-3 ? `${(seconds * 1e3).toPrecision(3)} ms` : `${(seconds * 1e6).toPrecision(3)} µs`;

class Chart {
  constructor(place) {
    this.place = place;
    this.readout = document.querySelector("[data-readout]");
    this.logButton = document.querySelector('[data-view="log"]');
    this.names = getComputedStyle(document.documentElement);
  }

  colour(name) {
    return this.names.getPropertyValue(`--${name}`).trim();
  }

  show(view) {
    if (this.view) this.view.changed = null;
    this.view = view;
    view.changed = () => this.draw();
    this.isLog = view.isWide;
    [this.unit, this.prefix] = PREFIXES.find(([size]) => view.most >= size) ?? PREFIXES.at(-1);
    this.build();
    const trace = view.trace;
    const drawn = new Set(view.windows.map((one) => one.phase));
    const phases = document.querySelector("[data-phases]");
    phases.replaceChildren(...trace.phases.flatMap((name, place) => {
      if (!drawn.has(place)) return [];
      const item = document.createElement("li");
      const mark = document.createElement("i");
      mark.style.background = this.colour(`c${trace.colours[place] % 6}`);
      item.append(mark, name);
      return [item];
    }));
    const width = time(trace.width / trace.hz);
    document.querySelector("[data-about]").textContent =
      `Each column is the least and the most power of ${trace.width} samples (${width})` +
      (trace.tile ? "; closer views load every sample." : "; every sample is in the session's trace.jls.") +
      (trace.valid ? "" : " This trial is INVALID.");
  }

  build() {
    this.plot?.destroy();
    this.logButton.setAttribute("aria-pressed", String(this.isLog));
    const ink = this.colour("ink"), line = this.colour("line"), curve = this.colour("c0");
    const axis = { stroke: ink, grid: { stroke: line, width: 1 }, ticks: { stroke: line }, font: "12px system-ui, sans-serif", labelFont: "12px system-ui, sans-serif", labelSize: 18 };
    const series = { stroke: curve, width: 1, points: { show: false }, paths: uPlot.paths.stepped({ align: 1 }) };
    this.plot = new uPlot({
      width: this.place.clientWidth, height: window.innerWidth < 760 ? 260 : 340,
      legend: { show: false },
      cursor: { drag: { x: true, y: false, setScale: false }, points: { show: false } },
      scales: { x: { time: false, auto: false }, y: this.isLog ? { distr: 3 } : { range: (plot, low, high) => [Math.min(low ?? 0, 0), (high || 1) * 1.08] } },
      axes: [
        { ...axis, label: "time in s", values: (plot, splits, at, room, step) => splits.map((value) => value.toFixed(decimals(step))) },
        { ...axis, size: 62, label: `power in ${this.prefix}W`, values: this.isLog ? (plot, splits) => splits.map((value) => value == null ? "" : Number(value.toPrecision(2)).toString()) : undefined },
      ],
      series: [{}, series, series],
      bands: [{ series: [2, 1], fill: curve + "40" }],
      hooks: { drawClear: [(plot) => this.drawWindows(plot)], setSelect: [(plot) => this.select(plot)], setCursor: [(plot) => this.read(plot)] },
    }, [[0], [null], [null]], this.place);
    this.plot.over.addEventListener("wheel", (event) => {
      event.preventDefault();
      this.view.zoom(event.deltaY < 0 ? 0.8 : 1.25, this.sample(event.offsetX));
    }, { passive: false });
    this.plot.over.addEventListener("dblclick", () => this.view.to(0, this.view.trace.length));
    this.draw();
  }

  sample(left) {
    return this.plot.posToVal(left, "x") * this.view.trace.hz;
  }

  draw() {
    const { hz } = this.view.trace;
    const found = this.view.columns();
    const scaled = (values) => Array.from(values, (value) => value !== value || (this.isLog && value <= 0) ? null : value / this.unit);
    const [first, last] = this.view.view;
    this.plot.batch(() => {
      this.plot.setData([found.times, scaled(found.least), scaled(found.most)], false);
      this.plot.setScale("x", { min: first / hz, max: last / hz });
    });
    const place = this.place.dataset;
    place.columns = found.times.length;
    place.width = found.width;
    place.view = `${first} ${last}`;
    this.readout.textContent = `${time((last - first) / hz)} shown`;
  }

  drawWindows(plot) {
    const { hz, colours } = this.view.trace;
    const { left, top, width, height } = plot.bbox;
    const [first, last] = this.view.view;
    plot.ctx.save();
    for (const { start, stop, phase } of this.view.windows) {
      if (stop < first || start > last) continue;
      const from = Math.max(plot.valToPos(start / hz, "x", true), left);
      const to = Math.min(plot.valToPos(stop / hz, "x", true), left + width);
      const colour = this.colour(`c${colours[phase] % 6}`);
      plot.ctx.fillStyle = colour + "30";
      plot.ctx.fillRect(from, top, Math.max(to - from, 1), height);
      plot.ctx.fillStyle = colour;
      plot.ctx.fillRect(from, top, Math.max(to - from, 1), 6 * devicePixelRatio);
    }
    plot.ctx.restore();
  }

  select(plot) {
    const { left, width } = plot.select;
    if (width < 3) return;
    const first = this.sample(left), last = this.sample(left + width);
    plot.setSelect({ left: 0, width: 0 }, false);
    this.view.to(first, last);
  }

  read(plot) {
    const at = plot.cursor.idx;
    const [times, least, most] = plot.data;
    if (at == null || least[at] == null) return;
    this.readout.textContent = `${times[at].toFixed(6)} s: ${least[at].toPrecision(4)} to ${most[at].toPrecision(4)} ${this.prefix}W`;
  }
}

/* Histories: as rig/api/site/history.py writes them. */

class History {
  constructor(histories) {
    this.histories = histories;
    this.place = document.querySelector("[data-history-chart]");
    this.series = document.querySelector("[data-history]");
    this.metric = document.querySelector("[data-history-metric]");
    this.series.append(...histories.map((one, place) => new Option(one.title, String(place))));
    this.series.addEventListener("change", () => this.choose());
    this.metric.addEventListener("change", () => this.show());
    this.choose();
  }

  colour(name) {
    return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
  }

  choose() {
    const before = this.metric.value;
    const names = this.histories[Number(this.series.value)].metrics.map((one) => one.name);
    this.metric.replaceChildren(...names.map((name) => new Option(name, name)));
    if (names.includes(before)) this.metric.value = before;
    this.show();
  }

  show() {
    const history = this.histories[Number(this.series.value)];
    const { points } = this.shown = history.metrics.find((one) => one.name === this.metric.value);
    document.querySelector("[data-history-about]").textContent = `${history.about}, ${points.length} sessions`;
    const labels = [...new Set(points.flatMap((one) => one.labels))];
    document.querySelector("[data-history-labels]").replaceChildren(...labels.flatMap((text) => {
      const chip = document.createElement("span");
      chip.className = "chip";
      chip.textContent = text;
      return [chip, " "];
    }));
    const cell = (content) => {
      const made = document.createElement("td");
      made.append(content);
      return made;
    };
    document.querySelector("[data-history-table] tbody").replaceChildren(...points.map((one) => {
      const link = document.createElement(one.page ? "a" : "span");
      if (one.page) link.href = one.page;
      link.textContent = one.session;
      const row = document.createElement("tr");
      row.append(...[one.date, one.commit || "not stated", one.text, one.interval, one.outcome, link].map(cell));
      row.children[2].className = "n";
      return row;
    }));
    this.draw();
  }

  draw() {
    this.plot?.destroy();
    const { name, unit, points } = this.shown;
    const ink = this.colour("ink"), line = this.colour("line");
    const axis = { stroke: ink, grid: { stroke: line, width: 1 }, ticks: { stroke: line }, font: "12px system-ui, sans-serif", labelFont: "12px system-ui, sans-serif", labelSize: 18 };
    const known = points.flatMap((one) => [one.value, one.low, one.high]).filter((value) => value !== null);
    const low = Math.min(...known), high = Math.max(...known);
    const room = (high - low || Math.abs(high) || 1) * 0.08;
    // A commit's name stands at the first of its sessions in a row; as many names as fit
    // beside each other.
    const width = this.place.clientWidth;
    const step = Math.max(1, Math.ceil(points.length / Math.max(Math.floor((width - 110) / 92), 1)));
    const names = points.map((one) => one.commit || one.date.slice(0, 10));
    const splits = [];
    names.forEach((name, at) => {
      if (name !== names[at - 1] && (!splits.length || at - splits.at(-1) >= step)) splits.push(at);
    });
    this.plot = new uPlot({
      width, height: window.innerWidth < 760 ? 240 : 300,
      legend: { show: false },
      cursor: { drag: { x: false, y: false }, points: { show: false }, x: false, y: false },
      scales: { x: { time: false, range: [-0.5, points.length - 0.5] }, y: { range: [low - room, high + room] } },
      axes: [
        { ...axis, label: "commit or version", splits: () => splits, values: () => splits.map((at) => names[at]) },
        { ...axis, size: 70, label: unit ? `${name} in ${unit}` : name },
      ],
      series: [{}, { stroke: this.colour("c0"), width: 1, points: { show: true, size: 8, fill: this.colour("c0") } }],
      hooks: { draw: [(plot) => this.bars(plot, points)] },
    }, [points.map((one, at) => at), points.map((one) => one.value)], this.place);
    Object.assign(this.place.dataset, { metric: name, points: points.length, names: splits.map((at) => names[at]).join(", ") });
  }

  bars(plot, points) {
    const { ctx } = plot;
    ctx.save();
    ctx.strokeStyle = this.colour("c0");
    ctx.lineWidth = 2 * devicePixelRatio;
    const half = 5 * devicePixelRatio;
    points.forEach((one, at) => {
      if (one.low === null && one.high === null) return;
      const x = plot.valToPos(at, "x", true);
      // An end that is open reaches the frame, without a cap.
      const ends = [one.low, one.high].map((end) => end === null ? null : plot.valToPos(end, "y", true));
      ctx.beginPath();
      ctx.moveTo(x, ends[0] ?? plot.bbox.top + plot.bbox.height);
      ctx.lineTo(x, ends[1] ?? plot.bbox.top);
      for (const end of ends) {
        if (end !== null) { ctx.moveTo(x - half, end); ctx.lineTo(x + half, end); }
      }
      ctx.stroke();
    });
    ctx.restore();
  }
}

window.rigHistories = (histories) => {
  const shown = new History(histories);
  window.addEventListener("resize", () => shown.draw());
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => shown.draw());
};

window.rigTraces = async (traces) => {
  const choice = document.querySelector("[data-trace]");
  const chart = new Chart(document.querySelector("[data-chart]"));
  const views = new Map();
  choice.append(...traces.map((trace, place) => new Option(trace.title, String(place))));
  const show = async () => {
    const place = Number(choice.value);
    if (!views.has(place)) {
      const view = new TraceView(traces[place]);
      await view.open();
      views.set(place, view);
    }
    chart.show(views.get(place));
  };
  const actions = {
    in: () => chart.view.zoom(0.5), out: () => chart.view.zoom(2),
    left: () => chart.view.move(-0.25), right: () => chart.view.move(0.25),
    all: () => chart.view.to(0, chart.view.trace.length),
    window: () => chart.view.windows.length && chart.view.nextWindow(),
    log: () => { chart.isLog = !chart.isLog; chart.build(); },
  };
  for (const button of all("[data-view]", document.querySelector(".buttons")))
    button.addEventListener("click", () => actions[button.dataset.view]());
  choice.addEventListener("change", show);
  choice.value = String(Math.max(traces.findIndex((trace) => trace.valid), 0));
  await show();
  window.addEventListener("resize", () => chart.build());
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => chart.build());
};

startBoards();
