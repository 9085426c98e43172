// SPDX-License-Identifier: MIT OR Apache-2.0
// Zoom, pan, wakeups, hover. One view (from, to in ns) per timeline; linked timelines share theirs.

const SHORTEST_VIEW = 200;
const timelines = [];

class TimelineView {
  constructor(section, model) {
    this.model = model;
    this.section = section;
    this.canvas = section.querySelector("canvas");
    this.tip = section.querySelector(".tip");
    this.nudge = section.querySelector(".nudge");
    this.view = { from: 0, to: this.model.end };
    this.chosen = null;
    this.pointers = new Map();
    this.pending = false;
    this.field("count").textContent = String(this.model.raw.wakeups.at_ns.length);
    for (const control of section.querySelectorAll(".wakeups button, .wakeups input")) {
      control.disabled = this.model.raw.wakeups.at_ns.length === 0;
    }
    this.listen();
  }

  field(name) {
    return this.section.querySelector(`[data-field="${name}"]`);
  }

  listen() {
    const { canvas, section } = this;
    for (const button of section.querySelectorAll("[data-action]")) {
      button.addEventListener("click", () => this.act(button.dataset.action));
    }
    this.field("wakeup").addEventListener("keydown", (event) => {
      if (event.key === "Enter") this.act("go");
    });
    canvas.addEventListener("keydown", (event) => this.onKey(event));
    canvas.addEventListener("wheel", (event) => this.onWheel(event), { passive: false });
    canvas.addEventListener("pointerdown", (event) => this.onDown(event));
    canvas.addEventListener("pointermove", (event) => this.onMove(event));
    for (const end of ["pointerup", "pointercancel"]) canvas.addEventListener(end, (event) => this.pointers.delete(event.pointerId));
    canvas.addEventListener("pointerleave", () => { this.tip.hidden = true; });
    new ResizeObserver(() => this.redraw()).observe(canvas.parentElement);
    new IntersectionObserver(() => this.redraw()).observe(canvas);
  }

  columns() {
    return Math.max(this.canvas.clientWidth - this.model.gutter, 1);
  }

  timeAt(x) {
    return this.view.from + ((x - this.model.gutter) / this.columns()) * (this.view.to - this.view.from);
  }

  act(action) {
    const middle = (this.view.from + this.view.to) / 2;
    const length = this.view.to - this.view.from;
    switch (action) {
      case "whole": return move(this, 0, reach(this));
      case "in": return this.zoom(0.5, middle);
      case "out": return this.zoom(2, middle);
      case "left": return move(this, this.view.from - length / 4, this.view.to - length / 4);
      case "right": return move(this, this.view.from + length / 4, this.view.to + length / 4);
      case "go": return this.goTo(Math.round(Number(this.field("wakeup").value)) - 1);
      case "next": return this.goTo(this.neighbour(1));
      case "previous": return this.goTo(this.neighbour(-1));
    }
  }

  /** Beside the wakeup last shown; from the middle of the view when it has been left. */
  neighbour(step) {
    const at = this.model.raw.wakeups.at_ns;
    if (this.chosen !== null && at[this.chosen] >= this.view.from && at[this.chosen] <= this.view.to) return this.chosen + step;
    const wholeRun = this.view.to - this.view.from >= reach(this);
    const after = lowerBound(at, wholeRun ? 0 : (this.view.from + this.view.to) / 2);
    return step > 0 ? after : after - 1;
  }

  goTo(index) {
    const { at_ns: at, latency_ns: latency } = this.model.raw.wakeups;
    if (at.length === 0 || !Number.isFinite(index)) return;
    this.chosen = Math.min(Math.max(index, 0), at.length - 1);
    this.field("wakeup").value = String(this.chosen + 1);
    const length = Math.max(latency[this.chosen] * 6, 100000);
    move(this, at[this.chosen] - length * 0.3, at[this.chosen] + length * 0.7);
    this.redraw();
  }

  zoom(factor, around) {
    const { from, to } = this.view;
    move(this, around - (around - from) * factor, around + (to - around) * factor);
  }

  onKey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const action = {
      ArrowLeft: "left", ArrowRight: "right", "+": "in", "=": "in", "-": "out", 0: "whole", Home: "whole", n: "next", p: "previous",
    }[event.key];
    if (action === undefined) return;
    event.preventDefault();
    this.act(action);
  }

  /** The page keeps its wheel until somebody has turned to the timeline. */
  onWheel(event) {
    if (document.activeElement !== this.canvas && !event.ctrlKey && !event.metaKey) {
      this.nudge.hidden = false;
      clearTimeout(this.nudgeTimer);
      this.nudgeTimer = setTimeout(() => { this.nudge.hidden = true; }, 1200);
      return;
    }
    event.preventDefault();
    const sideways = Math.abs(event.deltaX) > Math.abs(event.deltaY);
    const pixels = (sideways ? event.deltaX : event.deltaY) * (event.deltaMode === 1 ? 16 : 1);
    if (sideways) {
      const shift = (pixels / this.columns()) * (this.view.to - this.view.from);
      move(this, this.view.from + shift, this.view.to + shift);
    } else {
      this.zoom(Math.min(Math.max(Math.exp(pixels * 0.002), 0.25), 4), this.timeAt(event.offsetX));
    }
  }

  onDown(event) {
    this.canvas.focus({ preventScroll: true });
    this.nudge.hidden = true;
    this.canvas.setPointerCapture(event.pointerId);
    this.pointers.set(event.pointerId, event.offsetX);
    this.hover(event);
  }

  onMove(event) {
    const before = this.pointers.get(event.pointerId);
    if (before === undefined) return this.hover(event);
    this.tip.hidden = true;
    const others = [...this.pointers].filter(([id]) => id !== event.pointerId).map(([, x]) => x);
    if (others.length === 1) this.pinch(before, event.offsetX, others[0]);
    else this.drag(event.offsetX - before);
    this.pointers.set(event.pointerId, event.offsetX);
  }

  drag(pixels) {
    const shift = (-pixels / this.columns()) * (this.view.to - this.view.from);
    move(this, this.view.from + shift, this.view.to + shift);
  }

  pinch(before, now, other) {
    const apart = Math.max(Math.abs(now - other), 8);
    this.zoom(Math.max(Math.abs(before - other), 8) / apart, this.timeAt(other));
  }

  hover(event) {
    const cpu = Math.floor((event.offsetY - AXIS) / rowHeight(this.model.raw.nr_cpus));
    const time = this.timeAt(event.offsetX);
    const inside = cpu >= 0 && (cpu < this.model.raw.nr_cpus || this.model.hasPower) && event.offsetX >= this.model.gutter && time >= 0 && time <= this.model.end;
    this.tip.hidden = !inside;
    if (!inside) return;
    this.tip.textContent = this.describe(cpu, time);
    const { clientWidth: width, clientHeight: height } = this.canvas;
    const right = event.offsetX + 14 + this.tip.offsetWidth > width;
    const left = right ? event.offsetX - 14 - this.tip.offsetWidth : event.offsetX + 14;
    this.tip.style.left = `${Math.max(left, 2)}px`;
    this.tip.style.top = `${Math.max(Math.min(event.offsetY + 14, height - this.tip.offsetHeight - 2), 2)}px`;
  }

  describe(cpu, time) {
    const pixel = (this.view.to - this.view.from) / this.columns();
    const lines = [timeText(time, pixel)];
    if (this.model.raw.truncated_at_ns !== null && time > this.model.raw.truncated_at_ns) return `${lines[0]}\nnot recorded`;
    if (cpu >= this.model.raw.nr_cpus) return `${lines[0]}\nCPU power ${powerText(this.model, powerAt(this.model, time))}`;
    const state = stateAt(this.model, cpu, time);
    const speed = state.khz === null ? "speed unknown" : `${state.khz / 1000} MHz`;
    const kind = this.model.raw.cpu_kinds.length > 0 ? [this.model.raw.cpu_kinds[cpu]] : [];
    lines.push([`CPU ${cpu}`, ...kind, speed, ...(state.set === null ? [] : [state.set === "offline" ? "offline" : `${state.set} set`])].join(", "));
    lines.push(state.run === null ? "idle" : `${state.run.name}: ${durationText(state.run.end - state.run.start)} from ${timeText(state.run.start, pixel)}`);
    const wakeup = wakeupNear(this.model, cpu, time, 4 * pixel);
    if (wakeup !== null) {
      const { task, latency_ns: latency } = this.model.raw.wakeups;
      lines.push(`wakeup ${wakeup + 1}: ${this.model.raw.task_names[task[wakeup]]}, runs after ${durationText(latency[wakeup])}`);
    }
    return lines.join("\n");
  }

  /** Keeps the view inside the run and no shorter than can be drawn. */
  show(from, to) {
    const longest = Math.max(reach(this), SHORTEST_VIEW);
    const length = Math.min(Math.max(to - from, SHORTEST_VIEW), longest);
    const start = Math.min(Math.max((from + to - length) / 2, 0), longest - length);
    this.view = { from: start, to: start + length };
    this.redraw();
  }

  redraw() {
    if (this.pending) return;
    this.pending = true;
    requestAnimationFrame(() => {
      this.pending = false;
      this.paint();
    });
  }

  paint() {
    const ratio = window.devicePixelRatio || 1;
    const width = this.canvas.parentElement.clientWidth;
    const height = canvasHeight(this.model);
    if (this.canvas.width !== Math.round(width * ratio) || this.canvas.height !== Math.round(height * ratio)) {
      this.canvas.width = Math.round(width * ratio);
      this.canvas.height = Math.round(height * ratio);
      this.canvas.style.height = `${height}px`;
    }
    const { from, to } = this.view;
    this.field("range").textContent = `${timeText(from, (to - from) / 100)} to ${timeText(to, (to - from) / 100)} (${durationText(to - from)})`;
    const { top, bottom } = this.canvas.getBoundingClientRect();
    // Drawn when scrolled to: the observer in listen() asks again.
    if (bottom < 0 || top > window.innerHeight) return;
    const context = this.canvas.getContext("2d");
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    drawTimeline(context, this.model, this.view, width, ratio, this.chosen, mostPower(this));
  }
}

/** Those that move with it: all of the same study. Studies differ too much in length to share a scale. */
function together(timeline) {
  const study = timeline.section.closest("details");
  if (study?.querySelector(".link-timelines")?.checked !== true) return [timeline];
  return timelines.filter(({ section }) => section.closest("details") === study);
}

/** How far a view may go: linked timelines share one scale, up to the end of the longest run, so that lengths compare. */
function reach(timeline) {
  return Math.max(...together(timeline).map(({ model }) => model.end));
}

/** Highest power of all that move with it, so that heights compare too. */
function mostPower(timeline) {
  return Math.max(...together(timeline).map(({ model }) => model.mostPower));
}

function move(source, from, to) {
  for (const timeline of together(source)) timeline.show(from, to);
  remember(source.view);
}

let remembering;

/** The view is kept in the address, to be passed on or come back to. */
function remember({ from, to }) {
  clearTimeout(remembering);
  remembering = setTimeout(() => {
    try {
      history.replaceState(null, "", `#t=${(from / 1e9).toFixed(9)},${(to / 1e9).toFixed(9)}`);
    } catch {
      // Some browsers refuse for files; the view is merely not kept then.
    }
  }, 250);
}

/** The view that the address asks for, in ns; null: none. */
function viewOfAddress() {
  const match = /^#t=([0-9.]+),([0-9.]+)$/.exec(location.hash);
  if (match === null) return null;
  const [from, to] = [Number(match[1]) * 1e9, Number(match[2]) * 1e9];
  return to > from ? { from, to } : null;
}

/** Builds the timelines of a study when somebody opens them. */
async function open(study) {
  if (study.dataset.built === "yes") return;
  study.dataset.built = "yes";
  const built = [];
  for (const section of study.querySelectorAll("section.timeline")) {
    built.push(new TimelineView(section, buildModel(await unpack(section.dataset.island))));
  }
  timelines.push(...built);
  const view = viewOfAddress();
  for (const timeline of built) timeline.show(view?.from ?? 0, view?.to ?? reach(timeline));
}

/** Opens what the address names: a timeline, or the first study at a time. */
function showAddress() {
  const view = viewOfAddress();
  const named = location.hash.startsWith("#timeline-") ? document.getElementById(location.hash.slice(1)) : null;
  const study = view === null ? named?.closest("details") : document.querySelector("details.timelines");
  if (study && !document.querySelector("details.timelines[open]")) study.open = true;
  if (named) named.scrollIntoView();
  if (view !== null) for (const timeline of timelines) timeline.show(view.from, view.to);
}

for (const study of document.querySelectorAll("details.timelines")) study.addEventListener("toggle", () => open(study));
window.addEventListener("hashchange", showAddress);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => timelines.forEach((timeline) => timeline.redraw()));
showAddress();
