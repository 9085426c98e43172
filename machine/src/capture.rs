// SPDX-License-Identifier: MIT OR Apache-2.0
//! This machine as a machine file. Cores, domains, operating points and idle states come from sysfs; watts come from another machine, since no
//! kernel tells them. What is unknown is assumed, and each assumption is a note of the file.

mod points;
mod shape;

use crate::live::{self, LiveError, LiveMachine, Tree};
use crate::read::processor_name;
use crate::{EnergyPreference, Governor, Machine, Placement};
pub(crate) use points::frequencies;
use points::KindPoints;
use std::fmt::Write;

/// The name under which [`crate::load`] knows the machine that it runs on.
pub const THIS: &str = "this";
/// The machine whose watts are taken where no built-in machine has the processor.
pub(crate) const WATTS_OF: &str = "phenom-9750";

/// Most characters of a note, which is one line of a machine file.
const NOTE: usize = 900;

/// The machine of `tree` as TOML, named `name`. Watts are those of `like`, at the same share of the highest frequency. `speed` is that of
/// its fastest core relative to the reference core; `None`: not measured, and 1 is written.
///
/// # Errors
/// The machine cannot be read (see [`live::read_tree`]), or has a shape that a machine file cannot describe: a socket without an online CPU.
pub fn capture(tree: &dyn Tree, name: &str, like: &Machine, speed: Option<f64>) -> Result<String, LiveError> {
    let mut draft = Draft::of(tree, like)?;
    draft.first_notes = vec![
        format!(
            "{} To measure them, use 'lop machine measure' or 'lop machine fit'.",
            draft.take_watts(like)
        ),
        match speed {
            Some(_) => "Speed as measured by a loop (docs/recording.md), on an idle machine at its highest frequency.",
            None => "Work counts in seconds of this machine's fastest core at its highest frequency.",
        }
        .to_string(),
    ];
    draft
        .speeds
        .iter_mut()
        .for_each(|of_kind| *of_kind *= speed.unwrap_or(1.0));
    Ok(draft.text(name, "as captured", like))
}

/// A machine file before it is written down.
pub(crate) struct Draft {
    pub live: LiveMachine,
    shape: shape::Shape,
    /// One for each kind, as in `speeds`. Speeds are relative to the fastest core until that one's is known.
    pub points: Vec<KindPoints>,
    pub speeds: Vec<f64>,
    pub base_uw: u64,
    /// The governor under `[ships]`, and where it comes from.
    ships: (String, &'static str),
    placement: Placement,
    processor: Option<String>,
    watts_of: Option<String>,
    /// Where watts and speeds come from.
    pub first_notes: Vec<String>,
    notes: Vec<String>,
}

impl Draft {
    pub fn of(tree: &dyn Tree, like: &Machine) -> Result<Self, LiveError> {
        let live = live::read_tree(tree)?;
        let mut notes = vec!["Assumed: costs of context switch and migration.".to_string()];
        let shape = shape::of(&live, &mut notes)?;
        if shape.kinds.iter().any(|kind| kind.smt > 1) {
            notes.push("Assumed: a core whose siblings are both busy does 1.25 times the work of one, for a quarter of the busy watts more.".to_string());
        }
        let tiers = shape.kinds.iter().map(|kind| kind.tier);
        let points = tiers
            .map(|tier| points::of(tree, &live, tier, like, &mut notes))
            .collect();
        notes.extend(live.notes.iter().cloned());
        Ok(Self {
            speeds: shape
                .kinds
                .iter()
                .map(|kind| f64::from(kind.capacity) / 1024.0)
                .collect(),
            base_uw: like.base_uw,
            ships: governor(tree, shape.kinds.len()),
            placement: placement(tree),
            processor: processor_name(tree),
            watts_of: None,
            first_notes: Vec::new(),
            live,
            shape,
            points,
            notes,
        })
    }

    /// Names the machine whose watts stay in the file. Returns the note about it.
    pub fn take_watts(&mut self, like: &Machine) -> String {
        self.watts_of = Some(like.name.clone());
        format!(
            "Watts are assumed: those of {}, a core at the same share of its highest frequency.",
            like.name
        )
    }

    /// Kinds as the live machine numbers them.
    pub fn tiers(&self) -> impl Iterator<Item = u16> + '_ {
        self.shape.kinds.iter().map(|kind| kind.tier)
    }

    pub fn text(&self, name: &str, how: &str, like: &Machine) -> String {
        let mut text = String::new();
        // Writing to a String cannot fail.
        let _ = writeln!(text, "name = {}", quoted(name));
        let _ = writeln!(text, "description = \"{how}: {} CPUs\"", self.live.cpus.len());
        let names = [("processor", &self.processor), ("watts_of", &self.watts_of)];
        for (key, name) in names {
            text.extend(name.iter().map(|name| format!("{key} = {}\n", quoted(name))));
        }
        text += "notes = [\n";
        let notes = self.first_notes.iter().chain(&self.notes);
        text.extend(notes.map(|note| format!("  {},\n", quoted(note))));
        text += "]\n\n";
        text += &self.shape.head();
        let _ = writeln!(text, "base_w = {}\n", watts(self.base_uw));
        let _ = writeln!(
            text,
            "[ships]\nplacement = \"{}\"\ngovernor = \"{}\"\nsource = {}\n",
            self.placement,
            self.ships.0,
            quoted(self.ships.1)
        );
        let _ = writeln!(
            text,
            "[cpufreq]\ntransition_us = {}",
            self.live.transition_ns as f64 / 1e3
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
        for ((kind, points), speed) in self.shape.kinds.iter().zip(&self.points).zip(&self.speeds) {
            text += &kind_text(kind, points, *speed);
        }
        text
    }
}

/// The governor of CPU 0 under `[ships]`. `powersave` of a driver in active mode is not one: the processor chooses, where it has an energy preference, or
/// intel_pstate by the algorithm that `hwp` is modelled on.
fn governor(tree: &dyn Tree, nr_kinds: usize) -> (String, &'static str) {
    let read = |file: &str| tree.read(&format!("sys/devices/system/cpu/cpu0/cpufreq/{file}"));
    let Ok(found) = read("scaling_governor") else {
        return ("none".to_string(), "No cpufreq was found.");
    };
    let is_powersave = found.trim() == Governor::Powersave.to_string();
    let preference = read("energy_performance_preference");
    let is_intel_pstate = || read("scaling_driver").is_ok_and(|driver| driver.trim() == "intel_pstate");
    if is_powersave && (preference.is_ok() || is_intel_pstate()) {
        return match preference.unwrap_or_default().trim().parse().map(Governor::Hwp) {
            Ok(hwp) => (hwp.to_string(), "The energy preference is that of CPU 0."),
            Err(_) => (
                Governor::Hwp(EnergyPreference::BalancePerformance).to_string(),
                "Assumed: balance_performance stands for the energy preference, which is not modelled or not known.",
            ),
        };
    }
    match found.trim().parse::<Governor>() {
        Ok(Governor::Schedutil) if schedutil(tree, nr_kinds) == Some(Governor::Eas) => (
            Governor::Eas.to_string(),
            "The governor is that of CPU 0; sched_energy_aware says that tasks are placed by energy.",
        ),
        Ok(governor) => (governor.to_string(), "The governor is that of CPU 0."),
        Err(_) => (
            Governor::Schedutil.to_string(),
            "Assumed: schedutil stands for a governor that is not modelled.",
        ),
    }
}

/// `schedutil`, by itself or with energy-aware scheduling; `None`: another governor. Where energy-aware scheduling cannot be on, the kernel's file is empty
/// (Linux, Documentation/admin-guide/sysctl/kernel.rst), but was 1 before 6.7.
pub(crate) fn schedutil(tree: &dyn Tree, nr_kinds: usize) -> Option<Governor> {
    let governor = tree.read("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor").ok()?;
    let enabled = tree.read("proc/sys/kernel/sched_energy_aware");
    let by_energy = nr_kinds > 1 && enabled.is_ok_and(|enabled| enabled.trim() == "1");
    (governor.trim() == Governor::Schedutil.to_string()).then_some(if by_energy {
        Governor::Eas
    } else {
        Governor::Schedutil
    })
}

/// Whether the kernel packs tasks onto CPUs of high rank (ITMT).
fn placement(tree: &dyn Tree) -> Placement {
    match tree.read("proc/sys/kernel/sched_itmt_enabled") {
        Ok(enabled) if enabled.trim() == "1" => Placement::AsymPacking,
        _ => Placement::FairClass,
    }
}

fn kind_text(kind: &shape::Kind, points: &KindPoints, speed: f64) -> String {
    let mut text = format!("\n[[kind]]\nname = \"kind-{}\"\ncores = {}\n", kind.tier, kind.cores);
    if kind.smt > 1 {
        text += &format!("smt = {}\nsmt_speedup = 1.25\nsmt_power = 0.25\n", kind.smt);
    }
    text += &format!("speed = {speed}\nopp = [\n");
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
            "  {{ name = {}, exit_us = {}, residency_us = {}, holds_voltage = {} }},\n",
            quoted(&state.name),
            state.exit_us,
            state.residency_us,
            state.holds_voltage
        );
    }
    text + "]\n"
}

/// Rounded to the mW.
fn watts(uw: u64) -> f64 {
    (uw as f64 / 1e3).round() / 1e3
}

/// A TOML string on one line, without the control characters that a file of sysfs could hold.
fn quoted(text: &str) -> String {
    let plain: String = text.chars().filter(|c| !c.is_control()).take(NOTE).collect();
    toml::Value::String(plain).to_string()
}
