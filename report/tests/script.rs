// SPDX-License-Identifier: MIT OR Apache-2.0
//! The script of the page, where there is a `node` to run it; elsewhere these tests only check what they would have run.

mod common;

use common::timeline;
use lop_report::{html, ReportError};
use std::io::Write;
use std::process::{Command, Stdio};

/// Success and output of `node` on a script; `None` where there is no node.
fn node(arguments: &[&str], script: &str) -> Option<(bool, String)> {
    let mut command = Command::new("node");
    let command = command
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().ok()?;
    child.stdin.take()?.write_all(script.as_bytes()).ok()?;
    let output = child.wait_with_output().ok()?;
    let text = [output.stdout, output.stderr].concat();
    Some((output.status.success(), String::from_utf8_lossy(&text).into_owned()))
}

#[test]
fn the_script_is_javascript() -> Result<(), ReportError> {
    let page = html(&[], &[timeline()])?;
    let found = page
        .rsplit_once("<script>")
        .and_then(|(_, rest)| rest.split_once("</script>"));
    let script = found.map_or("", |(script, _)| script);
    assert!(script.contains("use strict"));
    if let Some((good, output)) = node(&["--check", "-"], script) {
        assert!(good, "{output}");
    }
    Ok(())
}

const LOOKUPS: &str = r#"
const assert = require("assert");
const model = buildModel({
  end_ns: 8, nr_cpus: 1, cpu_kinds: ["little"], task_names: ["a", "b"],
  after_ns: [0, 1, 1, 1, 1, 1, 1, 1],
  runs: { at: [2, 4], instants: [4, 1], cpu: [0, 0], task: [0, 1] },
  speeds: { at: [0, 4], cpu: [0, 0], khz: [1e6, 3e6] },
  sets: { at: [], cpu: [], set: [] },
  wakeups: { at: [1, 4], cpu: [0, 0], task: [0, 1], latency_ns: [1, 1] },
  power: { at: [0, 3], millionths: [2e6, 4e6], unit: "W" },
});
const speeds = (view, columns) => [...stepMean(model.speeds[0].at_ns, (i) => model.speeds[0].khz[i], 8, view, columns)];
assert.deepStrictEqual([...busyShare(model.runs[0], { from: 0, to: 8 }, 4)], [0, 1, 1, 0.5]);
assert.deepStrictEqual(speeds({ from: 0, to: 8 }, 4), [1e6, 1e6, 3e6, 3e6]);
assert.deepStrictEqual(speeds({ from: 3, to: 5 }, 1), [2e6]);
assert.deepStrictEqual(speeds({ from: 8, to: 10 }, 1), [-1]);
assert.strictEqual(stateAt(model, 0, 6.5).run.name, "b");
assert.strictEqual(stateAt(model, 0, 7.5).run, null);
assert.strictEqual(wakeupNear(model, 0, 5.5, 0), 1);
assert.strictEqual(wakeupNear(model, 0, 3.5, 1), null);
assert.strictEqual(powerAt(model, 2), 2e6);
assert.deepStrictEqual([model.mostPower, model.hasPower, cpuLabel(model, 0)], [4e6, true, "little 0"]);
assert.deepStrictEqual(
  [...stepMean(model.raw.power.at_ns, (i) => model.raw.power.millionths[i], 8, { from: 2, to: 4 }, 1)], [3e6],
);
assert.strictEqual(powerText(model, 12345600), "12.35 W");
model.raw.power.unit = "1 = mean of linux";
assert.strictEqual(powerText(model, 1234560), "1.235");
model.raw.power.unit = "W";
assert.strictEqual(durationText(2556), "2.556 \u00b5s");
assert.strictEqual(timeText(1234567890, 1000), "1.234568 s");
assert.deepStrictEqual(timeSteps(0, 10, 5).steps, [0, 2, 4, 6, 8, 10]);
"#;

/// By hand: CPU 0 runs from 2 to 6 and from 6 to 7 of 8 ns, so four columns of 2 ns are 0, 1, 1 and 0.5 busy; its speed goes
/// from 1 to 3 GHz at 4 ns.
#[test]
fn what_is_narrower_than_a_column_is_merged() {
    let model = include_str!("../assets/timeline-model.js");
    assert!(model.contains("function busyShare"));
    if let Some((good, output)) = node(&["-"], &format!("{model}{LOOKUPS}")) {
        assert!(good, "{output}");
    }
}

const DRAWING: &str = r#"
const texts = [];
const context = new Proxy({}, {
  get: (target, key) => target[key] ?? ((...given) => {
    if (key === "fillText") texts.push(given[0]);
    return { width: 10 };
  }),
});
globalThis.document = { documentElement: {}, createElement: () => ({ getContext: () => context }) };
globalThis.getComputedStyle = () => ({ getPropertyValue: () => '#102030' });
globalThis.ImageData = class {
  constructor(width, height) { Object.assign(this, { width, height, data: new Uint8ClampedArray(4 * width * height) }); }
};
"#;

const DRAWN: &str = r#"
drawTimeline(context, model, { from: 0, to: 8 }, 400, 1, 0, model.mostPower);
for (const text of ["little 0", "power", "4 W", "0 W", "a", "wakeup 1: a, runs after 1 ns"]) assert(texts.includes(text), `no ${text}: ${texts}`);
"#;

#[test]
fn lanes_are_labelled() {
    let (model, draw) = (
        include_str!("../assets/timeline-model.js"),
        include_str!("../assets/timeline-draw.js"),
    );
    assert!(draw.contains("function drawTimeline"));
    if let Some((good, output)) = node(&["-"], &format!("{DRAWING}{model}{draw}{LOOKUPS}{DRAWN}")) {
        assert!(good, "{output}");
    }
}
