// SPDX-License-Identifier: MIT OR Apache-2.0
// What a timeline holds, sorted by CPU, and look-ups in it. No drawing, no events. Times are ns.

/** Index of the first value that is at least x, in a sorted array. */
function lowerBound(values, x) {
  let low = 0;
  let high = values.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (values[middle] < x) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Index of the last value that is at most x, or -1. */
function lastAtOrBefore(values, x) {
  let low = 0;
  let high = values.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (values[middle] <= x) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

/** JSON from a data island of the page: gzip in base64. */
async function unpack(id) {
  const packed = Uint8Array.from(atob(document.getElementById(id).textContent), (character) => character.charCodeAt(0));
  return new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"))).json();
}

/** Values from the differences between them. */
function sums(differences) {
  let value = 0;
  return differences.map((difference) => (value += difference));
}

/** Splits columns {cpu, ...} by CPU; each entry keeps its index in the whole as `index`. */
function byCpu(columns, nrCpus, names) {
  const lanes = Array.from({ length: nrCpus }, () => {
    const lane = { index: [] };
    for (const name of names) lane[name] = [];
    return lane;
  });
  for (let i = 0; i < columns.cpu.length; i++) {
    const lane = lanes[columns.cpu[i]];
    lane.index.push(i);
    for (const name of names) lane[name].push(columns[name][i]);
  }
  return lanes;
}

function buildModel(packed) {
  const instants = sums(packed.after_ns);
  const timed = (columns) => ({ ...columns, at_ns: sums(columns.at).map((at) => instants[at]) });
  const starts = sums(packed.runs.at);
  const raw = {
    ...packed,
    runs: {
      start_ns: starts.map((at) => instants[at]),
      end_ns: starts.map((at, i) => instants[at + packed.runs.instants[i]]),
      cpu: packed.runs.cpu,
      task: sums(packed.runs.task),
    },
    speeds: timed(packed.speeds),
    sets: timed(packed.sets),
    wakeups: { ...timed(packed.wakeups), task: sums(packed.wakeups.task) },
    power: timed(packed.power),
  };
  return {
    raw,
    gutter: raw.cpu_kinds.reduce((most, kind, cpu) => Math.max(most, 14 + 6.2 * `${kind} ${cpu}`.length), 58),
    hasPower: raw.power.millionths.length > 0,
    mostPower: raw.power.millionths.reduce((most, power) => Math.max(most, power), 1),
    end: Math.max(raw.end_ns, 1),
    runs: byCpu(raw.runs, raw.nr_cpus, ["start_ns", "end_ns", "task"]),
    speeds: byCpu(raw.speeds, raw.nr_cpus, ["at_ns", "khz"]),
    sets: byCpu(raw.sets, raw.nr_cpus, ["at_ns", "set"]),
    wakeups: byCpu(raw.wakeups, raw.nr_cpus, ["at_ns", "latency_ns", "task"]),
    hasSets: raw.sets.cpu.length > 0,
  };
}

/** Adds weight x share of each column that start..end covers, for columns that divide view.from..view.to. */
function accumulate(out, view, start, end, weight) {
  const scale = out.length / (view.to - view.from);
  const left = Math.max((start - view.from) * scale, 0);
  const right = Math.min((end - view.from) * scale, out.length);
  if (!(right > left)) return;
  const first = Math.floor(left);
  const last = Math.min(Math.floor(right), out.length - 1);
  if (first === last) {
    out[first] += weight * (right - left);
    return;
  }
  out[first] += weight * (first + 1 - left);
  for (let column = first + 1; column < last; column++) out[column] += weight;
  out[last] += weight * (right - last);
}

/** Share of each column in which the CPU runs something. */
function busyShare(runs, view, columns) {
  const out = new Float32Array(columns);
  for (let i = lowerBound(runs.end_ns, view.from); i < runs.start_ns.length && runs.start_ns[i] < view.to; i++) {
    accumulate(out, view, runs.start_ns[i], runs.end_ns[i], 1);
  }
  return out;
}

/** Weighted mean of a value that holds from each change to the next; -1 where nothing is known. */
function stepMean(at, value, end, view, columns) {
  const sum = new Float32Array(columns);
  const known = new Float32Array(columns);
  for (let i = Math.max(lastAtOrBefore(at, view.from), 0); i < at.length && at[i] < view.to; i++) {
    const until = i + 1 < at.length ? at[i + 1] : end;
    accumulate(sum, view, at[i], until, value(i));
    accumulate(known, view, at[i], until, 1);
  }
  return sum.map((total, column) => (known[column] > 1e-6 ? total / known[column] : -1));
}

/** Everything that holds on one CPU at one time. */
function stateAt(model, cpu, time) {
  const runs = model.runs[cpu];
  const run = lastAtOrBefore(runs.start_ns, time);
  const speed = lastAtOrBefore(model.speeds[cpu].at_ns, time);
  const set = lastAtOrBefore(model.sets[cpu].at_ns, time);
  return {
    khz: speed >= 0 ? model.speeds[cpu].khz[speed] : null,
    set: set >= 0 ? model.sets[cpu].set[set] : null,
    run: run >= 0 && time < runs.end_ns[run]
      ? { name: model.raw.task_names[runs.task[run]], start: runs.start_ns[run], end: runs.end_ns[run] }
      : null,
  };
}

/** Power of all cores and voltage domains at one time, in millionths of its unit. */
function powerAt(model, time) {
  return model.raw.power.millionths[Math.max(lastAtOrBefore(model.raw.power.at_ns, time), 0)];
}

/** "CPU 3", or with the kind of its core "efficiency 3". */
function cpuLabel(model, cpu) {
  return `${model.raw.cpu_kinds[cpu] ?? "CPU"} ${cpu}`;
}

function powerText(model, millionths) {
  return `${Number((millionths / 1e6).toPrecision(4))}${model.raw.power.unit === "W" ? " W" : ""}`;
}

/** The wakeup on this CPU nearest to a time, no further than `reach` away (or inside its latency); null if none. */
function wakeupNear(model, cpu, time, reach) {
  const lane = model.wakeups[cpu];
  const after = lowerBound(lane.at_ns, time);
  let best = null;
  for (const i of [after - 1, after]) {
    if (i < 0 || i >= lane.at_ns.length) continue;
    const beyond = Math.max(lane.at_ns[i] - time, time - lane.at_ns[i] - lane.latency_ns[i], 0);
    if (beyond <= reach && (best === null || beyond < best.beyond)) best = { beyond, index: lane.index[i] };
  }
  return best === null ? null : best.index;
}

const UNITS = [["s", 1e9], ["ms", 1e6], ["\u00b5s", 1e3], ["ns", 1]];

/** A duration in the unit that suits it. */
function durationText(ns) {
  const [unit, size] = UNITS.find(([, size]) => ns >= size) ?? UNITS[3];
  return `${Number((ns / size).toPrecision(4))} ${unit}`;
}

/** A point in time with the digits that tell it from others `resolution` ns away. */
function timeText(ns, resolution) {
  const decimals = Math.min(Math.max(Math.ceil(9 - Math.log10(Math.max(resolution, 1))), 0), 9);
  return `${(ns / 1e9).toFixed(decimals)} s`;
}

/** Round steps within from..to. */
function timeSteps(from, to, wanted) {
  const raw = Math.max((to - from) / wanted, 1);
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= raw * 0.999);
  const steps = [];
  for (let n = Math.ceil(from / step); n * step <= to; n++) steps.push(n * step);
  return { step, steps };
}
