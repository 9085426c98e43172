// SPDX-License-Identifier: MIT OR Apache-2.0
// Drawing a timeline on its canvas. What is narrower than a pixel is merged: every row is reduced to one value per column
// first, so that the cost of drawing follows the width of the screen and not the number of spans.

const AXIS = 30;
/** Height of the lane of power, and of the gap above it. */
const POWER = 52;
const POWER_GAP = 6;
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

/** Where the lane of power begins. */
function powerTop(model) {
  return AXIS + model.raw.nr_cpus * rowHeight(model.raw.nr_cpus) + POWER_GAP;
}

function canvasHeight(model) {
  return model.hasPower ? powerTop(model) + POWER + 4 : powerTop(model) - POWER_GAP + 4;
}

/** Colours of the page's style, as [red, green, blue]. */
function theme() {
  const style = getComputedStyle(document.documentElement);
  const read = (name) => {
    const hex = Number.parseInt(style.getPropertyValue(`--${name}`).trim().slice(1), 16);
    return [(hex >> 16) & 255, (hex >> 8) & 255, hex & 255];
  };
  return Object.fromEntries(
    ["page", "text", "soft", "rule", "accent", "high", "green", "offline", "unknown", "p0"].map((name) => [name, read(name)]),
  );
}

function css(colour) {
  return `rgb(${colour.join(" ")})`;
}

/** `share` of one colour over another. */
function mix(over, under, share) {
  return over.map((value, k) => value * share + under[k] * (1 - share));
}

/** `ratio`: device pixels per CSS pixel; merging goes down to device pixels. `mostPower`: power at the top of its lane. */
function drawTimeline(context, model, view, width, ratio, chosen, mostPower) {
  const colours = theme();
  const plot = Math.max(width - model.gutter, 1);
  const height = rowHeight(model.raw.nr_cpus);
  const body = height - (height > 10 ? 2 : 1);
  const space = {
    context, model, view, colours, plot, height, body,
    columns: Math.max(Math.round(plot * ratio), 1),
    x: (t) => model.gutter + ((t - view.from) / (view.to - view.from)) * plot,
  };
  context.fillStyle = css(colours.page);
  context.fillRect(0, 0, width, canvasHeight(model));
  drawAxis(space);
  drawBands(space);
  for (let cpu = 0; cpu < model.raw.nr_cpus; cpu++) drawRow(space, cpu, AXIS + cpu * height);
  if (model.hasPower) drawPower(space, mostPower);
  drawUnrecorded(space);
  if (chosen !== null) drawChosen(space, chosen);
}

const bands = document.createElement("canvas");

/** Three lines of pixels per CPU (speed and use, set, wakeups), each stretched to its place: far quicker than rectangles. */
function drawBands(space) {
  const { context, model, columns, plot, height, body } = space;
  const image = new ImageData(columns, model.raw.nr_cpus * 3);
  for (let cpu = 0; cpu < model.raw.nr_cpus; cpu++) {
    speedBand(space, cpu, pixelLine(image, cpu * 3));
    if (model.hasSets) setBand(space, cpu, pixelLine(image, cpu * 3 + 1));
    wakeupBand(space, cpu, pixelLine(image, cpu * 3 + 2));
  }
  bands.width = columns;
  bands.height = image.height;
  bands.getContext("2d").putImageData(image, 0, 0);
  const strip = stripHeight(height);
  context.imageSmoothingEnabled = false;
  for (let cpu = 0; cpu < model.raw.nr_cpus; cpu++) {
    const top = AXIS + cpu * height;
    context.drawImage(bands, 0, cpu * 3, columns, 1, model.gutter, top, plot, body);
    context.drawImage(bands, 0, cpu * 3 + 1, columns, 1, model.gutter, top + body - strip, plot, strip);
    context.drawImage(bands, 0, cpu * 3 + 2, columns, 1, model.gutter, top, plot, height > 20 ? 4 : 2);
  }
}

function stripHeight(height) {
  if (height > 20) return 5;
  return height > 10 ? 3 : 2;
}

function pixelLine(image, line) {
  const start = line * image.width * 4;
  return (column, [red, green, blue], alpha) => {
    const at = start + column * 4;
    image.data[at] = red;
    image.data[at + 1] = green;
    image.data[at + 2] = blue;
    image.data[at + 3] = alpha * 255;
  };
}

/** Idle time lets the page through: the colour stays, as it says what the idle core costs. */
function speedBand({ model, view, colours, columns }, cpu, put) {
  const { at_ns: at, khz } = model.speeds[cpu];
  const speeds = stepMean(at, (i) => khz[i], model.end, view, columns);
  const busy = busyShare(model.runs[cpu], view, columns);
  const last = ((model.end - view.from) / (view.to - view.from)) * columns;
  for (let column = 0; column < columns && column < last; column++) {
    const colour = speeds[column] < 0 ? colours.unknown : RAMP_COLOURS[speedLevel(model, speeds[column])];
    put(column, mix(colour, colours.page, 0.2 + 0.8 * Math.min(busy[column], 1)), 1);
  }
}

/** Dark for the high set, pale for low, dashes for green. A column that was in several shows the mix of high and low. */
function setBand({ model, view, colours, columns }, cpu, put) {
  const { at_ns: at, set } = model.sets[cpu];
  const share = (name) => stepMean(at, (i) => (set[i] === name ? 1 : 0), model.end, view, columns);
  const [high, green] = [share("high"), share("green")];
  const pale = mix(colours.soft, colours.page, 0.3);
  for (let column = 0; column < columns; column++) {
    if (high[column] < 0) continue;
    if (green[column] > 0.5) put(column, column % 8 < 5 ? colours.green : colours.page, 1);
    else put(column, mix(colours.high, pale, high[column]), 1);
  }
}

/** Where wakeups are too many for a tick each, how dense they are. */
function wakeupBand({ model, view, colours, plot, columns }, cpu, put) {
  if (!crowded(model, view, cpu, plot)) return;
  const at = model.wakeups[cpu].at_ns;
  const counts = new Uint32Array(columns);
  const last = lowerBound(at, view.to);
  for (let i = lowerBound(at, view.from); i < last; i++) {
    counts[Math.min(Math.floor(((at[i] - view.from) / (view.to - view.from)) * columns), columns - 1)]++;
  }
  const most = counts.reduce((a, b) => Math.max(a, b), 1);
  counts.forEach((count, column) => {
    if (count > 0) put(column, colours.accent, 0.1 + (0.5 * count) / most);
  });
}

/** Less than a dozen pixels a wakeup. */
function crowded(model, view, cpu, plot) {
  const at = model.wakeups[cpu].at_ns;
  return lowerBound(at, view.to) - lowerBound(at, view.from) > plot / 12;
}

function drawAxis({ context, model, view, colours, plot, x }) {
  const { step, steps } = timeSteps(view.from, view.to, Math.max(plot / 110, 2));
  const [unit, size] = UNITS.find(([, size]) => view.to - view.from >= 2 * size) ?? UNITS[3];
  // Far from 0 the digits that all labels share are written once, at the left.
  const base = view.from / step > 1e5 ? Math.floor(view.from / (step * 100)) * step * 100 : 0;
  const decimals = Math.max(Math.ceil(-Math.log10(step / size) - 1e-9), 0);
  context.font = "11px system-ui, sans-serif";
  context.fillStyle = css(colours.soft);
  context.strokeStyle = css(colours.rule);
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
    context.fillText(label, Math.min(Math.max(left, model.gutter + half), model.gutter + plot - half - 2), AXIS - 9);
  }
  context.textAlign = "left";
  if (base > 0) context.fillText(`from ${timeText(base, step)}`, 4, 10);
}

function drawRow(space, cpu, top) {
  const { context, model, colours, height, body } = space;
  drawOffline(space, cpu, top);
  drawSpans(space, cpu, top);
  drawWakeups(space, cpu, top);
  if (height <= 10 && cpu % 4 !== 0) return;
  context.fillStyle = css(colours.text);
  context.textAlign = "right";
  context.textBaseline = "middle";
  context.font = `${height > 12 ? 11 : 8}px system-ui, sans-serif`;
  context.fillText(cpuLabel(model, cpu), model.gutter - 6, top + body / 2);
}

/** Mean power of each column, over a line at the bottom; what is narrower than a column is merged without losing energy. */
function drawPower({ context, model, view, colours, plot, columns }, mostPower) {
  const top = powerTop(model);
  const means = stepMean(model.raw.power.at_ns, (i) => model.raw.power.millionths[i], model.end, view, columns);
  const y = (power) => top + POWER * (1 - power / mostPower);
  context.fillStyle = css(colours.p0);
  for (let column = 0; column < columns; column++) {
    if (means[column] < 0) continue;
    const left = model.gutter + (column / columns) * plot;
    context.fillRect(left, y(means[column]), plot / columns + 0.2, top + POWER - y(means[column]));
  }
  context.fillStyle = css(colours.rule);
  context.fillRect(model.gutter, top + POWER, plot, 1);
  context.fillStyle = css(colours.text);
  context.font = "11px system-ui, sans-serif";
  context.textAlign = "right";
  context.textBaseline = "middle";
  context.fillText(powerText(model, mostPower), model.gutter - 6, top + 6);
  context.fillText("power", model.gutter - 6, top + POWER / 2);
  context.fillText(powerText(model, 0), model.gutter - 6, top + POWER - 5);
}

/** Edges and names, where there is room for them. */
function drawSpans({ context, model, view, colours, plot, columns, height, body, x }, cpu, top) {
  const runs = model.runs[cpu];
  const first = lowerBound(runs.end_ns, view.from);
  const last = lowerBound(runs.start_ns, view.to);
  if (last - first > columns) return;
  context.textAlign = "left";
  context.textBaseline = "middle";
  context.font = "11px system-ui, sans-serif";
  for (let i = first; i < last; i++) {
    const left = Math.max(x(runs.start_ns[i]), model.gutter);
    const right = Math.min(x(runs.end_ns[i]), model.gutter + plot);
    if (right - left < 4) continue;
    context.fillStyle = css(colours.page);
    context.globalAlpha = 0.6;
    if (x(runs.start_ns[i]) >= model.gutter) context.fillRect(left, top, 1, body);
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

function drawOffline({ context, model, view, colours, plot, body, x }, cpu, top) {
  const { at_ns: at, set } = model.sets[cpu];
  for (let i = Math.max(lastAtOrBefore(at, view.from), 0); i < at.length && at[i] < view.to; i++) {
    if (set[i] !== "offline") continue;
    const left = Math.max(x(at[i]), model.gutter);
    const right = Math.min(x(i + 1 < at.length ? at[i + 1] : model.end), model.gutter + plot);
    if (right > left) hatch(context, left, top, right - left, body, css(colours.offline));
  }
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

/** A tick at each wakeup and a bar as long as its latency, where there is room for them. */
function drawWakeups({ context, model, view, colours, plot, height, x }, cpu, top) {
  if (crowded(model, view, cpu, plot)) return;
  const { at_ns: at, latency_ns: latency } = model.wakeups[cpu];
  const last = lowerBound(at, view.to);
  context.fillStyle = css(colours.accent);
  for (let i = lowerBound(at, view.from); i < last; i++) {
    const left = x(at[i]);
    const long = (latency[i] / (view.to - view.from)) * plot;
    context.fillRect(left, top, 1.5, height > 20 ? 9 : height / 3);
    if (long >= 1) context.fillRect(left, top, Math.min(long, model.gutter + plot - left), height > 20 ? 4 : 2);
  }
}

/** Time after recording stopped. */
function drawUnrecorded({ context, model, view, colours, plot, x }) {
  const from = model.raw.truncated_at_ns;
  if (from === null || from >= view.to) return;
  const left = Math.max(x(from), model.gutter);
  const right = Math.min(x(model.end), model.gutter + plot);
  const tall = canvasHeight(model) - AXIS - 4;
  context.fillStyle = css(colours.page);
  context.fillRect(left, AXIS, right - left, tall);
  hatch(context, left, AXIS, right - left, tall, css(colours.rule));
  context.fillStyle = css(colours.soft);
  context.textAlign = "left";
  context.textBaseline = "middle";
  context.font = "12px system-ui, sans-serif";
  if (right - left > 90) context.fillText("not recorded", left + 6, AXIS + tall / 2);
}

/** The wakeup somebody went to. */
function drawChosen({ context, model, colours, plot, height, x }, index) {
  const { at_ns: at, cpu, task, latency_ns: latency } = model.raw.wakeups;
  const left = x(at[index]);
  if (left < model.gutter || left > model.gutter + plot) return;
  const top = AXIS + cpu[index] * height;
  context.strokeStyle = css(colours.accent);
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
  const beside = Math.max(Math.min(left + 6, model.gutter + plot - wide), model.gutter);
  const below = cpu[index] + 1 < model.raw.nr_cpus ? top + height + 2 : top - 22;
  context.fillStyle = css(colours.page);
  context.fillRect(beside, below, wide, 20);
  context.lineWidth = 1;
  context.strokeRect(beside + 0.5, below + 0.5, wide, 20);
  context.fillStyle = css(colours.text);
  context.textAlign = "left";
  context.textBaseline = "middle";
  context.fillText(label, beside + 6, below + 10);
}
