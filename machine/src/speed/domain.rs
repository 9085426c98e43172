// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reads the cpufreq policies and chooses a mechanism for each, by which the speed of its CPUs is set.

use super::change::is_frequency;
use super::error::explain;
use super::files::{number_after, parse_cpus, Files};
use super::high::{self, HighSpeed, PERF_ONE};
use crate::costs::Control;
use std::io;

pub(super) const CPU_FOLDER: &str = "sys/devices/system/cpu";
const POLICY_FOLDER: &str = "sys/devices/system/cpu/cpufreq";
/// Drivers that choose speeds themselves, or let the processor choose, guided by the energy preference. Never both limits are set: at one speed they would have no
/// choice left, and a low CPU would serve its interrupts and real-time tasks at the lowest speed. High CPUs have a lower limit, homes of paced work an upper one. With
/// other drivers a governor decides, and the preference is at most a hint.
const ACTIVE_DRIVERS: [&str; 3] = ["intel_pstate", "amd-pstate-epp", "amd_pstate_epp"];

/// How the speed of a clock domain is set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mechanism {
    /// Governor `schedutil`: the scheduler in the kernel requests speeds itself; nothing is written.
    Scheduler,
    /// Governor `userspace`: `scaling_setspeed`.
    Setspeed,
    /// `scaling_min_freq` and `scaling_max_freq`, under any other governor.
    Limits,
    /// `energy_performance_preference`, and one limit at most: the driver keeps its choice.
    Preference,
    /// Nothing can be set; the reason tells why, and how to fix it.
    Nothing { reason: String },
}

/// Who requests speeds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asker {
    /// The scheduler in the kernel if the governor is `schedutil`; otherwise user space writes.
    Scheduler,
    /// User space only: under `schedutil` it writes limits, as under other governors.
    UserSpace,
    /// A trial that holds CPUs at a speed for a while to see its effect. Like user space, but it also writes limits for drivers that choose speeds
    /// themselves, since they are free in what a preference does to a busy CPU.
    Trial,
}

/// CPUs that share a clock and were online when this was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClockDomain {
    /// Ascending.
    pub cpus: Vec<usize>,
    /// Empty if there is no driver.
    pub driver: String,
    /// Empty if there is no governor.
    pub governor: String,
    pub mechanism: Mechanism,
    /// Speed of low CPUs: the lower limit at the time of reading. `None` if not known.
    pub min_khz: Option<u32>,
    /// Speed of high CPUs: the upper limit at the time of reading, or what [`super::Speeds::set_high_speed`] chose. `None` if not known.
    pub max_khz: Option<u32>,
    /// What to request of `schedutil` for a high CPU, in 1024ths of the CPU's own capacity.
    pub high_perf: u32,
}

/// A file and its values for high and for low CPUs; `None` is the original value.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Knob {
    pub(super) path: String,
    pub(super) high: Option<String>,
    pub(super) low: Option<String>,
    /// The highest frequency of these CPUs, kHz, if known.
    pub(super) highest_khz: Option<u32>,
    /// For CPUs that are neither high nor low, an upper limit between these, kHz, the limits at the time of reading; `high` and `low` are for the others.
    pub(super) between_khz: Option<(u32, u32)>,
}

impl Knob {
    fn new(path: String, high: impl ToString, low: impl ToString) -> Self {
        Self {
            path,
            high: Some(high.to_string()),
            low: Some(low.to_string()),
            ..Self::default()
        }
    }

    /// The original value for low CPUs, and for high ones unless `high` says another.
    fn of_high(path: String, high: Option<u32>) -> Self {
        Self {
            path,
            high: high.map(|khz| khz.to_string()),
            ..Self::default()
        }
    }

    /// Whether CPUs are held at a speed by it.
    pub(super) fn holds_speed(&self) -> bool {
        is_frequency(&self.path) && self.between_khz.is_none() && self.low.is_some()
    }

    /// Whether the file shows the upper limit that it had when it was opened.
    pub(super) fn is_as_opened(&self, shown: &str) -> bool {
        let highest = self.between_khz.map(|(_, highest)| highest.to_string());
        highest.is_some_and(|highest| highest == shown.trim())
    }

    /// The value at this share of the highest frequency, x 1000, between those for low and high CPUs. If it is no frequency: that for low CPUs.
    pub(super) fn at_share(&self, permille: u16) -> Option<String> {
        let khz = |value: &Option<String>| value.as_ref()?.parse::<u32>().ok();
        let of_values = || {
            is_frequency(&self.path)
                .then(|| khz(&self.low).zip(khz(&self.high)))
                .flatten()
        };
        let range = match self.between_khz {
            Some((low, high)) => Some((low, khz(&self.high).unwrap_or(high))),
            None => of_values(),
        };
        let (Some((low, high)), Some(highest)) = (range, self.highest_khz) else {
            return self.low.clone();
        };
        let share = u64::from(highest) * u64::from(permille) / 1000;
        Some((share as u32).clamp(low.min(high), high).to_string())
    }
}

/// A clock domain, its files, and notes about it.
pub(super) struct Controlled {
    /// The folder of its cpufreq policy; empty if there is none.
    pub(super) folder: String,
    pub(super) domain: ClockDomain,
    pub(super) knobs: Vec<Knob>,
    pub(super) notes: Vec<String>,
    found: Found,
}

/// What changes after it was read: the governor, and what a speed of high CPUs changes.
#[derive(Clone)]
struct Found {
    governor: String,
    max_khz: Option<u32>,
    knobs: Vec<Knob>,
    notes: Vec<String>,
}

impl Controlled {
    fn new(folder: &str, domain: ClockDomain, knobs: Vec<Knob>, notes: Vec<String>) -> Self {
        let found = Found {
            governor: domain.governor.clone(),
            max_khz: domain.max_khz,
            knobs: knobs.clone(),
            notes: notes.clone(),
        };
        Self {
            folder: folder.to_string(),
            domain,
            knobs,
            notes,
            found,
        }
    }

    /// As it was read: another speed of high CPUs begins here. A file that only the present one changes has its original value for all CPUs.
    pub(super) fn as_found(&self) -> Self {
        let Found {
            max_khz, knobs, notes, ..
        } = self.found.clone();
        let mut found = Self {
            folder: self.folder.clone(),
            domain: ClockDomain {
                max_khz,
                high_perf: PERF_ONE,
                ..self.domain.clone()
            },
            knobs,
            notes,
            found: self.found.clone(),
        };
        for knob in &self.knobs {
            if !found.knobs.iter().any(|other| other.path == knob.path) {
                found.knobs.push(Knob::of_high(knob.path.clone(), None));
            }
        }
        found
    }

    /// Adds a file, or replaces it.
    fn put(&mut self, knob: Knob) {
        self.knobs.retain(|other| other.path != knob.path);
        self.knobs.push(knob);
    }

    /// The present governor, if it has changed since this was read.
    pub(super) fn governor_since(&self, files: &dyn Files) -> Option<String> {
        let now = files.read_trimmed(&self.governor_file()?).ok()?;
        (now != self.domain.governor).then_some(now)
    }

    /// Whether the governor has changed since this was read. A domain that has given up its preference has the later governor's name.
    pub(super) fn has_changed_governor(&self, files: &dyn Files) -> bool {
        self.domain.governor != self.found.governor || self.governor_since(files).is_some()
    }

    /// Whether the kernel has suspended the policy because the last of its CPUs goes offline; then its files do not answer.
    pub(super) fn is_asleep(&self, files: &dyn Files) -> bool {
        let answer = self.governor_file().map(|file| files.read(&file));
        matches!(answer, Some(Err(error)) if error.kind() == io::ErrorKind::ResourceBusy)
    }

    fn governor_file(&self) -> Option<String> {
        (!self.folder.is_empty()).then(|| format!("{}/scaling_governor", self.folder))
    }

    /// What sets the speed of high CPUs.
    pub(super) fn control(&self) -> Control {
        match self.domain.mechanism {
            Mechanism::Preference => Control::Processor,
            _ => Control::Kernel,
        }
    }

    /// Sets the frequency of high CPUs, which is at most their limit.
    ///
    /// If the driver chooses speeds, this is a ceiling for all its CPUs, high or low: one that came and went with the sets would cost a write at each
    /// change, and low CPUs are slow anyway because of their preference.
    pub(super) fn run_high_at(&mut self, files: &dyn Files, khz: u32, wanted: HighSpeed) {
        match self.domain.mechanism {
            Mechanism::Scheduler => {
                let highest = files.read_khz(&format!("{}/cpuinfo_max_freq", self.folder));
                self.domain.high_perf = high::perf(khz, highest.unwrap_or(khz));
            }
            // The limit is no higher already, so nothing is written.
            Mechanism::Preference if self.domain.max_khz == Some(khz) => {}
            Mechanism::Preference => {
                let path = format!("{}/scaling_max_freq", self.folder);
                let ceiling = Knob::new(path, khz, khz);
                match self.knobs.iter_mut().find(|knob| knob.between_khz.is_some()) {
                    Some(knob) => (knob.high, knob.low) = (ceiling.high, ceiling.low),
                    None => self.put(ceiling),
                }
            }
            _ => self.set_high(khz),
        }
        self.domain.max_khz = Some(khz);
        self.notes.push(format!("high is {wanted}, {} MHz", khz / 1000));
    }

    /// Where the processor chooses: the speed of high CPUs by the preference that it was found with, and no lower one than this.
    pub(super) fn run_high_from(&mut self, files: &dyn Files, khz: u32) {
        for knob in self.knobs.iter_mut().filter(|knob| !is_frequency(&knob.path)) {
            knob.high = None;
        }
        let mut note = "high is as the driver chooses".to_string();
        let path = format!("{}/scaling_min_freq", self.folder);
        if self.domain.min_khz.is_some_and(|min| min < khz) && files.writable(&path).is_ok() {
            self.put(Knob::of_high(path, Some(khz)));
            note = format!("{note}, from {} MHz on", khz / 1000);
        }
        self.notes.push(note);
    }

    pub(super) fn set_high(&mut self, khz: u32) {
        for knob in self.knobs.iter_mut().filter(|knob| knob.holds_speed()) {
            knob.high = Some(khz.to_string());
        }
    }

    /// Writes nothing from now on, for this reason; the scheduler in the kernel goes on requesting speeds.
    pub(super) fn leave_files_alone(&mut self, reason: &str) {
        if matches!(self.domain.mechanism, Mechanism::Scheduler | Mechanism::Nothing { .. }) {
            return;
        }
        self.domain.mechanism = Mechanism::Nothing { reason: reason.into() };
        self.knobs.clear();
        self.notes.clear();
        (self.found.knobs, self.found.notes) = (Vec::new(), Vec::new());
    }
}

/// Why preferences cannot be set under governor `performance`, and what to do about it.
pub(super) fn held_by_performance(folder: &str) -> String {
    format!(
        "governor performance holds the energy preference, so every CPU has its highest speed; echo powersave > /{folder}/scaling_governor frees it"
    )
}

/// Online CPUs, ascending.
pub(super) fn online_cpus(files: &dyn Files) -> io::Result<Vec<usize>> {
    let path = format!("{CPU_FOLDER}/online");
    match files.read(&path) {
        Ok(text) => {
            parse_cpus(&text).ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "expected a list of CPUs"))
        }
        // A kernel without hotplug: every CPU is online.
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let names = files.list(CPU_FOLDER)?;
            let mut cpus: Vec<usize> = names.iter().filter_map(|name| number_after(name, "cpu")).collect();
            cpus.sort_unstable();
            Ok(cpus)
        }
        Err(error) => Err(error),
    }
}

/// Every clock domain with an online CPU, in the order of their first CPUs; CPUs without cpufreq make one domain of their own.
pub(super) fn read_domains(files: &dyn Files, online: &[usize], asker: Asker) -> io::Result<Vec<Controlled>> {
    let mut domains = Vec::new();
    for name in files.list(POLICY_FOLDER)? {
        if number_after(&name, "policy").is_some() {
            domains.extend(read_policy(files, &format!("{POLICY_FOLDER}/{name}"), online, asker));
        }
    }
    let without: Vec<usize> = online
        .iter()
        .copied()
        .filter(|cpu| !domains.iter().any(|d: &Controlled| d.domain.cpus.contains(cpu)))
        .collect();
    if !without.is_empty() {
        domains.push(without_cpufreq(without));
    }
    domains.sort_by_key(|d| d.domain.cpus[0]);
    Ok(domains)
}

fn without_cpufreq(cpus: Vec<usize>) -> Controlled {
    let reason = "no frequency driver serves them; on hardware, load one (modprobe acpi-cpufreq, intel_pstate, amd-pstate or \
                  cpufreq-dt; CONFIG_CPU_FREQ=y) and allow speed changes in the firmware; a virtual machine has the speed of its host";
    let domain = ClockDomain {
        cpus,
        driver: String::new(),
        governor: String::new(),
        mechanism: Mechanism::Nothing { reason: reason.into() },
        min_khz: None,
        max_khz: None,
        high_perf: PERF_ONE,
    };
    Controlled::new("", domain, Vec::new(), Vec::new())
}

/// The policy in a folder; `None` where none of its CPUs is online.
fn read_policy(files: &dyn Files, folder: &str, online: &[usize], asker: Asker) -> Option<Controlled> {
    let policy = Policy { files, folder };
    let mut cpus = policy.cpus();
    cpus.retain(|cpu| online.contains(cpu));
    if cpus.is_empty() {
        return None;
    }
    let (mechanism, mut knobs) = policy.choose(asker);
    let highest_khz = policy.khz("cpuinfo_max_freq");
    knobs.iter_mut().for_each(|knob| knob.highest_khz = highest_khz);
    let domain = ClockDomain {
        cpus,
        driver: policy.word("scaling_driver"),
        governor: policy.word("scaling_governor"),
        mechanism,
        min_khz: policy.khz("scaling_min_freq"),
        max_khz: policy.khz("scaling_max_freq"),
        high_perf: PERF_ONE,
    };
    Some(Controlled::new(folder, domain, knobs, policy.notes()))
}

/// Whether the kernel knows how fast a CPU runs. If not, schedutil takes a request as a share of the present speed instead of the
/// highest. On x86 the flag `aperfmperf` tells; on other architectures the kernel knows.
pub(super) fn knows_speed(files: &dyn Files) -> bool {
    let text = files.read("proc/cpuinfo").unwrap_or_default();
    let flags = text.lines().find(|line| line.starts_with("flags"));
    flags.is_none_or(|flags| flags.split_whitespace().any(|flag| flag == "aperfmperf"))
}

/// Whether boost is switched off for all policies, or for this one.
pub(super) fn boost_is_off(files: &dyn Files, folder: &str) -> bool {
    let is_off = |folder: &str| files.read_trimmed(&format!("{folder}/boost")).is_ok_and(|v| v == "0");
    is_off(POLICY_FOLDER) || is_off(folder)
}

/// Shortest time between two changes that schedutil makes to a policy; 0 if it governs none.
pub(super) fn rate_limit_ns(files: &dyn Files) -> u64 {
    let folders = files.list(POLICY_FOLDER).unwrap_or_default();
    let named = folders.iter().map(|name| format!("{POLICY_FOLDER}/{name}/schedutil"));
    let all = named.chain([format!("{POLICY_FOLDER}/schedutil")]);
    let limits_us = all.filter_map(|folder| files.read_khz(&format!("{folder}/rate_limit_us")));
    limits_us.max().map_or(0, |us| u64::from(us) * 1000)
}

struct Policy<'a> {
    files: &'a dyn Files,
    folder: &'a str,
}

impl Policy<'_> {
    fn path(&self, name: &str) -> String {
        format!("{}/{name}", self.folder)
    }
    fn word(&self, name: &str) -> String {
        self.files.read_trimmed(&self.path(name)).unwrap_or_default()
    }
    fn khz(&self, name: &str) -> Option<u32> {
        self.files.read_khz(&self.path(name))
    }

    /// `affected_cpus` leaves offline CPUs out, `related_cpus` does not.
    fn cpus(&self) -> Vec<usize> {
        ["affected_cpus", "related_cpus"]
            .iter()
            .find_map(|name| parse_cpus(&self.files.read(&self.path(name)).ok()?))
            .unwrap_or_default()
    }

    fn choose(&self, asker: Asker) -> (Mechanism, Vec<Knob>) {
        let chosen = match self.word("scaling_governor").as_str() {
            "schedutil" if asker == Asker::Scheduler => return (Mechanism::Scheduler, Vec::new()),
            _ if self.is_active() && asker != Asker::Trial => self.preference(),
            "userspace" => self.setspeed().or_else(|_| self.limits()),
            _ => self.limits(),
        };
        chosen.unwrap_or_else(|reason| (Mechanism::Nothing { reason }, Vec::new()))
    }

    fn is_active(&self) -> bool {
        ACTIVE_DRIVERS.contains(&self.word("scaling_driver").as_str())
    }

    /// If a file cannot be written, the reason and what to do about it.
    fn writable(&self, name: &str) -> Result<String, String> {
        let path = self.path(name);
        match self.files.writable(&path) {
            Ok(()) => Ok(path),
            Err(error) => Err(format!("/{path} cannot be written: {}", explain(&error))),
        }
    }

    /// The present limits; an error if they are equal.
    fn range(&self) -> Result<(u32, u32), String> {
        let (Some(min), Some(max)) = (self.khz("scaling_min_freq"), self.khz("scaling_max_freq")) else {
            return Err(format!(
                "/{} shows no limits; the driver may be unloading: start again",
                self.folder
            ));
        };
        if min < max {
            return Ok((min, max));
        }
        Err(match (self.khz("cpuinfo_min_freq"), self.khz("cpuinfo_max_freq")) {
            (Some(lowest), Some(highest)) if lowest < highest => format!(
                "both limits are {max} kHz; to widen them: echo {lowest} > /{}, echo {highest} > /{}",
                self.path("scaling_min_freq"),
                self.path("scaling_max_freq")
            ),
            _ => {
                format!("the hardware has one speed only, {max} kHz; another driver or firmware setting may offer more")
            }
        })
    }

    fn setspeed(&self) -> Result<(Mechanism, Vec<Knob>), String> {
        let path = self.writable("scaling_setspeed")?;
        if self.khz("scaling_setspeed").is_none() {
            return Err(format!(
                "/{path} shows no speed; echo userspace > /{}",
                self.path("scaling_governor")
            ));
        }
        let (low, high) = self.table_range()?;
        Ok((Mechanism::Setspeed, vec![Knob::new(path, high, low)]))
    }

    /// The lowest and the highest table frequency within the limits, so that the kernel need not round.
    fn table_range(&self) -> Result<(u32, u32), String> {
        let (min, max) = self.range()?;
        let table = self.word("scaling_available_frequencies");
        let inside = || {
            table
                .split_whitespace()
                .filter_map(|khz| khz.parse().ok())
                .filter(|khz| (min..=max).contains(khz))
        };
        Ok((inside().min().unwrap_or(min), inside().max().unwrap_or(max)))
    }

    fn limits(&self) -> Result<(Mechanism, Vec<Knob>), String> {
        let (min, max) = self.range()?;
        let knobs = vec![
            Knob::new(self.writable("scaling_min_freq")?, max, min),
            Knob::new(self.writable("scaling_max_freq")?, max, min),
        ];
        Ok((Mechanism::Limits, knobs))
    }

    fn preference(&self) -> Result<(Mechanism, Vec<Knob>), String> {
        if self.word("scaling_governor") == "performance" {
            return Err(held_by_performance(self.folder));
        }
        if !self.has_preference() {
            return Err(format!(
                "driver {} chooses speeds itself and takes no energy preference on this processor; with {} a governor chooses, whose limits can be set",
                self.word("scaling_driver"),
                if self.word("scaling_driver") == "intel_pstate" { "intel_pstate=passive (kernel command line)" } else { "amd_pstate=passive (kernel command line)" },
            ));
        }
        let path = self.writable("energy_performance_preference")?;
        let words = self.word("energy_performance_available_preferences");
        let offered = |wanted: [&str; 2]| {
            let found = wanted
                .into_iter()
                .find(|word| words.split_whitespace().any(|w| w == *word));
            found
                .map(str::to_string)
                .ok_or_else(|| format!("/{path} offers neither {} nor {}", wanted[0], wanted[1]))
        };
        let high = offered(["performance", "balance_performance"])?;
        let low = offered(["power", "balance_power"])?;
        let mut knobs = vec![Knob::new(path, high, low)];
        if let (Ok(path), Ok(range)) = (self.writable("scaling_max_freq"), self.range()) {
            knobs.push(Knob {
                between_khz: Some(range),
                ..Knob::of_high(path, None)
            });
        }
        Ok((Mechanism::Preference, knobs))
    }

    fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.word("scaling_governor") == "schedutil" && !knows_speed(self.files) {
            notes.push(
                "this CPU does not count its clock (no aperfmperf): schedutil reaches the top in several steps".into(),
            );
        }
        if self
            .files
            .read_trimmed(&format!("{CPU_FOLDER}/intel_pstate/no_turbo"))
            .is_ok_and(|v| v == "1")
        {
            notes.push("turbo is off (intel_pstate/no_turbo), so high speed is without turbo".into());
        }
        if boost_is_off(self.files, self.folder) {
            notes.push("boost is off, so high speed is without boost".into());
        }
        notes
    }

    fn has_preference(&self) -> bool {
        self.files.read(&self.path("energy_performance_preference")).is_ok()
    }
}
