// Drawing a timeline on its canvas. What is narrower than a pixel is merged: every row is reduced to one value per column
// first, so that the cost follows the width of the screen and not the number of spans.

const GUTTER = 58;
const AXIS = 30;
const LEVELS = 16;
// Viridis: even in lightness, and readable for the colour-blind.
const RAMP = [[68, 1, 84], [59, 82, 139], [33, 145, 140], [94, 201, 98], [253, 231, 37]];
const RAMP_COLOURS = Array.from({ length: 64 }, (_, i) => rampColour(i / 63));

function rampColour(share) {
  const place = Math.min(Math.max(share, 0), 1) * (RAMP.length - 1);
  const index = Math.min(Math.floor(place), RAMP.length - 2);
  return RAMP[index].map((from, k) => Math.round(from + (RAMP[index + 1][k] - from) * (place - index)));
}

function speedLevel(model, khz) {
  const { min_khz: low, max_khz: high } = model.raw;
  return Math.round(Math.min(Math.max(high > low ? (khz - low) / (high - low) : 1, 0), 1) * 63);
}

/** Black or white, whichever is easier to read on a colour. */
function inkOn([red, green, blue]) {
  return 0.299 * red + 0.587 * green + 0.114 * blue > 140 ? "#000" : "#fff";
}

function rowHeight(nrCpus) {
  if (nrCpus <= 16) return 30;
  return nrCpus <= 64 ? 16 : 8;
}

function canvasHeight(nrCpus) {
  return AXIS + nrCpus * rowHeight(nrCpus) + 4;
}

/** Calls draw(first, count, value) for each run of equal values. */
function eachRun(values, draw) {
  let first = 0;
  for (let column = 1; column <= values.length; column++) {
    if (column === values.length || values[column] !== values[first]) {
      draw(first, column - first, values[first]);
      first = column;
    }
  }
}

function theme() {
  const style = getComputedStyle(document.documentElement);
  const read = (name) => style.getPropertyValue(name).trim();
  return Object.fromEntries(
    ["page", "text", "soft", "rule", "accent", "high", "green", "offline", "unknown"].map((name) => [name, read(`--${name}`)]),
  );
}

function drawTimeline(context, model, view, width, chosen) {
  const colours = theme();
  const columns = Math.max(Math.floor(width - GUTTER), 1);
  const height = rowHeight(model.raw.nr_cpus);
  const space = { context, model, view, colours, columns, height, x: (t) => GUTTER + ((t - view.from) / (view.to - view.from)) * columns };
  context.clearRect(0, 0, width, canvasHeight(model.raw.nr_cpus));
  context.fillStyle = colours.page;
  context.fillRect(0, 0, width, canvasHeight(model.raw.nr_cpus));
  drawAxis(space);
  for (let cpu = 0; cpu < model.raw.nr_cpus; cpu++) drawRow(space, cpu, AXIS + cpu * height);
  drawUnrecorded(space);
  if (chosen !== null) drawChosen(space, chosen);
}

function drawAxis({ context, view, colours, columns, x }) {
  const { step, steps } = timeSteps(view.from, view.to, Math.max(columns / 110, 2));
  const [unit, size] = UNITS.find(([, size]) => view.to - view.from >= 2 * size) ?? UNITS[3];
  // Far from 0 the digits that all labels share are written once, at the left.
  const base = view.from / step > 1e5 ? Math.floor(view.from / (step * 100)) * step * 100 : 0;
  const decimals = Math.max(Math.ceil(-Math.log10(step / size) - 1e-9), 0);
  context.font = "11px system-ui, sans-serif";
  context.fillStyle = colours.soft;
  context.strokeStyle = colours.rule;
  context.textBaseline = "alphabetic";
  context.textAlign = "center";
  for (const time of steps) {
    const left = Math.round(x(time)) + 0.5;
    context.beginPath();
    context.moveTo(left, AXIS - 6);
    context.lineTo(left, AXIS);
    context.stroke();
    const label = `${base > 0 ? "+" : ""}${((time - base) / size).toFixed(decimals)} ${unit}`;
    const half = context.measureText(label).width / 2;
    context.fillText(label, Math.min(Math.max(left, GUTTER + half), GUTTER + columns - half - 2), AXIS - 9);
  }
  context.textAlign = "left";
  if (base > 0) context.fillText(`from ${timeText(base, step)}`, 4, 10);
}

function drawRow(space, cpu, top) {
  const { context, model, view, colours, columns, height } = space;
  const body = height - (height > 10 ? 2 : 1);
  const speeds = stepMean(model.speeds[cpu].at_ns, (i) => model.speeds[cpu].khz[i], model.end, view, columns);
  eachRun(speeds.map((khz) => (khz < 0 ? -1 : speedLevel(model, khz))), (first, count, level) => {
    if (level < 0 && view.from + (first / columns) * (view.to - view.from) > model.end) return;
    context.fillStyle = level < 0 ? colours.unknown : `rgb(${RAMP_COLOURS[level].join(" ")})`;
    context.fillRect(GUTTER + first, top, count, body);
  });
  veilIdle(space, cpu, top, body);
  drawSpans(space, cpu, top, body);
  drawSets(space, cpu, top, body);
  drawWakeups(space, cpu, top);
  context.fillStyle = colours.text;
  context.textAlign = "right";
  context.textBaseline = "middle";
  context.font = `${height > 12 ? 11 : 8}px system-ui, sans-serif`;
  if (height > 10 || cpu % 4 === 0) context.fillText(`CPU ${cpu}`, GUTTER - 6, top + body / 2);
}

/** Idle time lets the page through: the colour stays, as it says what the idle core costs. */
function veilIdle({ context, model, view, colours, columns }, cpu, top, body) {
  const busy = busyShare(model.runs[cpu], view, columns);
  context.fillStyle = colours.page;
  eachRun(busy.map((share) => Math.round((1 - Math.min(share, 1)) * LEVELS)), (first, count, level) => {
    if (level === 0) return;
    context.globalAlpha = (0.8 * level) / LEVELS;
    context.fillRect(GUTTER + first, top, count, body);
  });
  context.globalAlpha = 1;
}

/** Edges and names, where there is room for them. */
function drawSpans({ context, model, view, colours, columns, height, x }, cpu, top, body) {
  const runs = model.runs[cpu];
  const first = lowerBound(runs.end_ns, view.from);
  const last = lowerBound(runs.start_ns, view.to);
  if (last - first > columns) return;
  context.textAlign = "left";
  context.textBaseline = "middle";
  context.font = "11px system-ui, sans-serif";
  for (let i = first; i < last; i++) {
    const left = Math.max(x(runs.start_ns[i]), GUTTER);
    const right = Math.min(x(runs.end_ns[i]), GUTTER + columns);
    if (right - left < 4) continue;
    context.fillStyle = colours.page;
    context.globalAlpha = 0.6;
    if (x(runs.start_ns[i]) >= GUTTER) context.fillRect(left, top, 1, body);
    context.globalAlpha = 1;
    if (height > 12 && right - left > 26) nameSpan(context, model, cpu, i, { left, right, top, body, start: Math.max(runs.start_ns[i], view.from) });
  }
}

function nameSpan(context, model, cpu, i, { left, right, top, body, start }) {
  const name = model.raw.task_names[model.runs[cpu].task[i]];
  const { khz } = stateAt(model, cpu, start);
  context.save();
  context.beginPath();
  context.rect(left, top, right - left - 2, body);
  context.clip();
  context.fillStyle = khz === null ? "#000" : inkOn(RAMP_COLOURS[speedLevel(model, khz)]);
  context.fillText(name, left + 5, top + body / 2);
  context.restore();
}

/** A strip at the foot of the row: solid for the high set, dashed for green, an empty outline for low; hatched when offline. */
function drawSets({ context, model, view, colours, columns, height }, cpu, top, body) {
  if (!model.hasSets) return;
  const { at_ns: at, set } = model.sets[cpu];
  const share = (name) => stepMean(at, (i) => (set[i] === name ? 1 : 0), model.end, view, columns);
  const thick = height > 20 ? 5 : height > 10 ? 3 : 2;
  const foot = top + body - thick;
  const strip = (values, draw) => eachRun(values.map((s) => (s > 0 ? Math.max(Math.round(s * LEVELS), 1) : 0)), (first, count, level) => {
    if (level > 0) draw(GUTTER + first, count, level / LEVELS);
  });
  strip(share("low"), (left, count) => {
    context.fillStyle = colours.page;
    context.fillRect(left, foot, count, thick);
    context.fillStyle = colours.soft;
    context.fillRect(left, foot, count, 1);
    context.fillRect(left, top + body - 1, count, 1);
  });
  strip(share("high"), (left, count, level) => {
    context.globalAlpha = Math.max(level, 0.25);
    context.fillStyle = colours.high;
    context.fillRect(left, foot, count, thick);
    context.globalAlpha = 1;
  });
  strip(share("green"), (left, count) => {
    context.fillStyle = colours.page;
    context.fillRect(left, foot, count, thick);
    context.fillStyle = colours.green;
    for (let k = 0; k < count; k += 8) context.fillRect(left + k, foot, Math.min(5, count - k), thick);
  });
  strip(share("offline"), (left, count) => hatch(context, left, top, count, body, colours.offline));
}

function hatch(context, left, top, width, height, colour) {
  context.save();
  context.beginPath();
  context.rect(left, top, width, height);
  context.clip();
  context.strokeStyle = colour;
  context.lineWidth = 1.5;
  context.beginPath();
  for (let x = left - height; x < left + width; x += 6) {
    context.moveTo(x, top + height);
    context.lineTo(x + height, top);
  }
  context.stroke();
  context.restore();
}

/** A tick at the wakeup and a bar as long as its latency. Where ticks crowd, they fade to show how dense they are. */
function drawWakeups({ context, model, view, colours, columns, height, x }, cpu, top) {
  const lane = model.wakeups[cpu];
  const first = lowerBound(lane.at_ns, view.from);
  const counts = new Uint32Array(columns);
  const tick = height > 20 ? 9 : height > 10 ? 6 : 3;
  context.fillStyle = colours.accent;
  for (let i = first; i < lane.at_ns.length && lane.at_ns[i] < view.to; i++) {
    const left = x(lane.at_ns[i]);
    counts[Math.min(Math.floor(left - GUTTER), columns - 1)]++;
    const long = (lane.latency_ns[i] / (view.to - view.from)) * columns;
    if (long >= 1) context.fillRect(left, top, Math.min(long, GUTTER + columns - left), height > 10 ? 4 : 2);
  }
  const most = counts.reduce((a, b) => Math.max(a, b), 0);
  const crowded = counts.reduce((sum, n) => sum + (n > 0 ? 1 : 0), 0) > columns / 6;
  eachRun(counts, (column, count, number) => {
    if (number === 0) return;
    context.globalAlpha = crowded ? 0.1 + (0.5 * number) / most : 1;
    for (let k = 0; k < count; k++) context.fillRect(GUTTER + column + k, top, crowded ? 1 : 1.5, crowded ? tick / 2 : tick);
  });
  context.globalAlpha = 1;
}

/** Time after recording stopped. */
function drawUnrecorded({ context, model, view, colours, columns, height, x }) {
  const from = model.raw.truncated_at_ns;
  if (from === null || from >= view.to) return;
  const left = Math.max(x(from), GUTTER);
  const right = Math.min(x(model.end), GUTTER + columns);
  const tall = model.raw.nr_cpus * height;
  context.fillStyle = colours.page;
  context.fillRect(left, AXIS, right - left, tall);
  hatch(context, left, AXIS, right - left, tall, colours.rule);
  context.fillStyle = colours.soft;
  context.textAlign = "left";
  context.textBaseline = "middle";
  context.font = "12px system-ui, sans-serif";
  if (right - left > 90) context.fillText("not recorded", left + 6, AXIS + tall / 2);
}

/** The wakeup somebody went to. */
function drawChosen({ context, model, colours, columns, height, x }, index) {
  const { at_ns: at, cpu, task, latency_ns: latency } = model.raw.wakeups;
  const left = x(at[index]);
  if (left < GUTTER || left > GUTTER + columns) return;
  const top = AXIS + cpu[index] * height;
  context.strokeStyle = colours.accent;
  context.lineWidth = 1.5;
  context.setLineDash([4, 3]);
  context.beginPath();
  context.moveTo(left, AXIS);
  context.lineTo(left, AXIS + model.raw.nr_cpus * height);
  context.stroke();
  context.setLineDash([]);
  const label = `wakeup ${index + 1}: ${model.raw.task_names[task[index]]}, runs after ${durationText(latency[index])}`;
  context.font = "12px system-ui, sans-serif";
  const wide = context.measureText(label).width + 12;
  const beside = Math.max(Math.min(left + 6, GUTTER + columns - wide), GUTTER);
  const below = cpu[index] + 1 < model.raw.nr_cpus ? top + height + 2 : top - 22;
  context.fillStyle = colours.page;
  context.fillRect(beside, below, wide, 20);
  context.lineWidth = 1;
  context.strokeRect(beside + 0.5, below + 0.5, wide, 20);
  context.fillStyle = colours.text;
  context.textAlign = "left";
  context.textBaseline = "middle";
  context.fillText(label, beside + 6, below + 10);
}
