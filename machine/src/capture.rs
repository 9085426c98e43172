//! This machine as a machine file: cores, domains, operating points and idle states as sysfs tells them, watts as on another machine, as no
//! kernel does. What is not told is assumed, and each assumption is a note of the file.

mod points;
mod shape;

use crate::live::{self, LiveError, LiveMachine, Tree};
use crate::Machine;
use points::KindPoints;
use std::fmt::Write;

/// The name under which [`crate::load`] knows the machine that it runs on.
pub const THIS: &str = "this";
/// The machine whose watts are taken where nobody names another.
pub const WATTS_OF: &str = "phenom-9750";

/// A note of a machine file is one line of at most so many characters.
const NOTE: usize = 900;

/// The machine of `tree` as TOML, named `name`. Watts are those of `like`, at the same share of the highest frequency. `speed`: of its fastest core, in times
/// that of the reference core; `None`: not measured, and 1 is written.
///
/// # Errors
/// The machine cannot be read (see [`live::read_tree`]), or is of a shape that no machine file has: a socket without an online CPU.
pub fn capture(tree: &dyn Tree, name: &str, like: &Machine, speed: Option<f64>) -> Result<String, LiveError> {
    let machine = live::read_tree(tree)?;
    let mut notes = vec![
        format!(
            "Watts are assumed: those of {}, a core at the same share of its highest frequency. Measured ones go through 'lop machine fit'.",
            like.name
        ),
        match speed {
            Some(_) => "Speed as measured by a loop (docs/recording.md), on an idle machine at its highest frequency.",
            None => "Work counts in seconds of this machine's fastest core at its highest frequency.",
        }
        .to_string(),
        "Assumed: costs of context switch and migration.".to_string(),
    ];
    let shape = shape::of(&machine, &mut notes)?;
    if shape.kinds.iter().any(|kind| kind.smt > 1) {
        notes.push("Assumed: a core whose siblings are both busy does 1.25 times the work of one, for a quarter of the busy watts more.".to_string());
    }
    let kinds = (0..machine.nr_tiers).map(|tier| points::of(tree, &machine, tier, like, &mut notes));
    let kinds: Vec<KindPoints> = kinds.collect();
    notes.extend(machine.notes.iter().cloned());
    Ok(text(&machine, name, like, &shape, &kinds, &notes, speed.unwrap_or(1.0)))
}

fn text(
    machine: &LiveMachine,
    name: &str,
    like: &Machine,
    shape: &shape::Shape,
    kinds: &[KindPoints],
    notes: &[String],
    speed: f64,
) -> String {
    let mut text = String::new();
    // Writing to a String cannot fail.
    let _ = writeln!(text, "name = {}", quoted(name));
    let _ = writeln!(text, "description = \"as captured: {} CPUs\"", machine.cpus.len());
    text += "notes = [\n";
    text.extend(notes.iter().map(|note| format!("  {},\n", quoted(note))));
    text += "]\n\n";
    text += &shape.head();
    let _ = writeln!(text, "base_w = {}\n", watts(like.base_uw));
    let _ = writeln!(
        text,
        "[cpufreq]\ntransition_us = {}",
        machine.transition_ns as f64 / 1e3
    );
    let _ = writeln!(
        text,
        "schedutil_rate_limit_us = {}\n",
        like.cpufreq.schedutil_rate_limit_ns as f64 / 1e3
    );
    let _ = writeln!(
        text,
        "[cost]\ncontext_switch_us = {}\nmigration_us = {}\nmemory_domain_us = {}",
        like.cost.context_switch_ns as f64 / 1e3,
        like.cost.migration_ns as f64 / 1e3,
        like.cost.memory_domain_ns as f64 / 1e3
    );
    for (kind, points) in shape.kinds.iter().zip(kinds) {
        text += &kind_text(kind, points, speed);
    }
    text
}

fn kind_text(kind: &shape::Kind, points: &KindPoints, speed: f64) -> String {
    let mut text = format!("\n[[kind]]\nname = \"kind-{}\"\ncores = {}\n", kind.tier, kind.cores);
    if kind.smt > 1 {
        text += &format!("smt = {}\nsmt_speedup = 1.25\nsmt_power = 0.25\n", kind.smt);
    }
    text += &format!("speed = {}\nopp = [\n", speed * f64::from(kind.capacity) / 1024.0);
    for opp in &points.opps {
        text += &format!(
            "  {{ mhz = {}, mv = {}, idle_w = {}, busy_w = {}, domain_w = {} }},\n",
            opp.khz as f64 / 1e3,
            opp.mv,
            watts(opp.idle_uw),
            watts(opp.busy_uw),
            watts(opp.domain_uw)
        );
    }
    text += "]\nidle = [\n";
    for state in &points.idle {
        text += &format!(
            "  {{ name = {}, exit_us = {}, residency_us = {} }},\n",
            quoted(&state.name),
            state.exit_us,
            state.residency_us
        );
    }
    text + "]\n"
}

/// To the mW.
fn watts(uw: u64) -> f64 {
    (uw as f64 / 1e3).round() / 1e3
}

/// A TOML string on one line; control characters, which a file that sysfs gave could hold, are left out.
fn quoted(text: &str) -> String {
    let plain: String = text.chars().filter(|c| !c.is_control()).take(NOTE).collect();
    toml::Value::String(plain).to_string()
}
