// SPDX-License-Identifier: MIT OR Apache-2.0
//! Setting speeds from user space, and putting everything back.
//!
//! The files are below `/sys/devices/system/cpu`: frequencies, limits and energy preferences of cpufreq policies, and whatever keeps
//! low CPUs from their deepest idle state; and those that route interrupts (`/proc/irq`). Each file is recorded in a journal before its
//! first change, so that the next run can undo the changes of one that was killed. Under `schedutil` nothing is written: there the
//! scheduler in the kernel requests speeds, with [`ClockDomain::high_perf`].

mod change;
mod describe;
mod domain;
mod error;
mod files;
mod high;
mod idle;
mod interrupts;
mod journal;
mod limit;
mod restore;
mod settle;
#[cfg(test)]
mod tests;
mod trial;

pub use domain::{Asker, ClockDomain, Mechanism};
pub use error::SpeedError;
pub use high::{perf_of_permille, HighSpeed};
pub use interrupts::Steered;
pub use journal::{Entry, Journal};
pub use limit::{limit_khz, Limited};
pub use restore::{left_in_journal, restore_from_journal, Restored, Skipped};
pub use trial::{try_speeds, Compared, Loop, Outcome, Seen, Tried, TriedKind, Verdict, Worker};

use crate::costs::Control;
use change::{in_order, is_frequency, Change};
use domain::{online_cpus, read_domains, Controlled, Knob};
use files::{Files, Tree};
use high::High;
use journal::{is_value, Lock};
use restore::Standing;
use std::collections::{BTreeMap, HashMap};
use std::io;
use std::path::{Path, PathBuf};

/// The default path of the journal. It vanishes at a reboot, as do the changes that it records.
pub fn default_journal() -> PathBuf {
    PathBuf::from("/run/lopsided/speeds.journal")
}

/// The speed that a CPU should have. In a clock domain the highest wish counts; [`Wish::Released`] is the lowest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Wish {
    /// No wish: as it was found, unless another CPU of the clock domain has one.
    Released,
    Low,
    /// This share of the highest frequency of its kind, x 1000, or the nearest between low and high. Where the driver chooses it is the upper limit.
    Share(u16),
    High,
}

/// Which speeds can be set, and how.
#[derive(Debug, Clone)]
pub struct Look {
    /// In the order of their first CPUs; every online CPU belongs to one.
    pub domains: Vec<ClockDomain>,
    /// For people: how the speeds of which CPUs are set, or why they cannot be, and how to fix that.
    pub lines: Vec<String>,
}

/// Looks at the machine below `root` without changing anything, not even a journal.
///
/// # Errors
/// The list of CPUs cannot be read.
pub fn look(root: &Path) -> io::Result<Look> {
    let files = Tree::new(root);
    let domains = read_domains(&files, &online_cpus(&files)?, Asker::Scheduler)?;
    let texts = domains
        .iter()
        .map(|d| (d.domain.cpus.clone(), describe::domain_text(d)));
    Ok(Look {
        lines: describe::lines_by_cpus(texts),
        domains: domains.into_iter().map(|d| d.domain).collect(),
    })
}

/// What a low CPU requests of `schedutil` by `scx_bpf_cpuperf_set`; the governor respects its lower limit.
pub const LOW_PERF: u32 = 0;
/// What the kernel sets when a scheduler attaches.
pub const RELEASED_PERF: u32 = high::PERF_ONE;

/// The smallest n with min * 1.25^n >= max.
fn quarters_up(min_khz: u32, max_khz: u32) -> u32 {
    let reached = |n: &u32| f64::from(min_khz) * 1.25_f64.powi(*n as i32) >= f64::from(max_khz);
    (1..=32).find(reached).unwrap_or(32)
}

/// What is known of a file from writing to it and reading it back.
#[derive(Debug, Default)]
struct Known {
    /// The last value written, which it is believed to hold.
    asked: String,
    /// Frequencies that it shows exactly as written, so they need not be read back again.
    taken: Vec<String>,
}

impl Known {
    fn takes(&self, value: &str) -> bool {
        self.taken.iter().any(|taken| taken == value)
    }

    fn shows(&mut self, value: &str) {
        if !self.takes(value) {
            self.taken.push(value.to_string());
        }
    }
}

/// Control of the speeds of a machine. Restores everything when dropped.
///
/// Its CPUs are those that were online at [`Speeds::open`]. When CPUs come or go, drop it and open it again.
pub struct Speeds {
    files: Box<dyn Files>,
    journal_path: PathBuf,
    journal: Journal,
    domains: Vec<Controlled>,
    public_domains: Vec<ClockDomain>,
    idle: BTreeMap<usize, Vec<Knob>>,
    wishes: BTreeMap<usize, Wish>,
    known: HashMap<String, Known>,
    recovered: Restored,
    _lock: Lock,
}

impl Speeds {
    /// Reads what can be set below `root` (`/`, or a folder that looks like it). It changes nothing, except that it first restores
    /// what the journal of a dead run lists ([`Speeds::recovered`]).
    ///
    /// # Errors
    /// Another living process holds the journal; the journal is damaged or cannot be written; the list of CPUs cannot be read.
    /// A machine without speed control is not an error: its mechanism is [`Mechanism::Nothing`].
    pub fn open(root: &Path, journal: &Path) -> Result<Self, SpeedError> {
        Self::open_for(Asker::Scheduler, root, journal)
    }

    /// The same for a given requester of speeds.
    ///
    /// # Errors
    /// As [`Speeds::open`].
    pub fn open_for(asker: Asker, root: &Path, journal: &Path) -> Result<Self, SpeedError> {
        Self::open_files(Box::new(Tree::new(root)), journal, asker)
    }

    fn open_files(files: Box<dyn Files>, journal_path: &Path, asker: Asker) -> Result<Self, SpeedError> {
        let lock = Lock::take(journal_path)?;
        let (journal, recovered) = restore::take_over(files.as_ref(), journal_path)?;
        let unreadable = |source: io::Error| SpeedError::File {
            file: files.absolute(domain::CPU_FOLDER),
            action: "read which CPUs there are",
            source,
        };
        let online = online_cpus(files.as_ref()).map_err(unreadable)?;
        let domains = read_domains(files.as_ref(), &online, asker).map_err(unreadable)?;
        let idle = online.iter().map(|&cpu| (cpu, idle::idle_knobs(files.as_ref(), cpu)));
        Ok(Self {
            idle: idle.filter(|(_, knobs)| !knobs.is_empty()).collect(),
            public_domains: domains.iter().map(|d| d.domain.clone()).collect(),
            domains,
            files,
            journal_path: journal_path.to_path_buf(),
            journal,
            wishes: BTreeMap::new(),
            known: HashMap::new(),
            recovered,
            _lock: lock,
        })
    }

    /// The clock domains in the order of their first CPUs; every online CPU belongs to one.
    pub fn domains(&self) -> &[ClockDomain] {
        &self.public_domains
    }

    /// Whether a wish has an effect anywhere.
    #[must_use]
    pub fn acts(&self) -> bool {
        let acts = |d: &ClockDomain| !matches!(d.mechanism, Mechanism::Nothing { .. });
        self.public_domains.iter().any(acts)
    }

    /// The range, kHz, in which `cpu` and all that share its clock can be held ([`Speeds::set_high`]).
    ///
    /// # Errors
    /// Why they cannot.
    pub fn range_khz(&self, cpu: usize) -> Result<(u32, u32), String> {
        let Some(controlled) = self.domains.iter().find(|d| d.domain.cpus.contains(&cpu)) else {
            return Err(SpeedError::UnknownCpu { cpu }.to_string());
        };
        if let Mechanism::Nothing { reason } = &controlled.domain.mechanism {
            return Err(reason.clone());
        }
        let has_limits = controlled.knobs.iter().any(Knob::holds_speed);
        match (controlled.domain.min_khz, controlled.domain.max_khz) {
            (Some(min_khz), Some(max_khz)) if has_limits => Ok((min_khz, max_khz)),
            _ => Err("the driver takes a preference only, no frequency".to_string()),
        }
    }

    /// Makes this the high speed of `cpu` and all that share its clock. The next [`Speeds::apply`] writes it.
    pub fn set_high(&mut self, cpu: usize, khz: u32) {
        let of_cpu = self.domains.iter_mut().filter(|d| d.domain.cpus.contains(&cpu));
        of_cpu.for_each(|d| d.set_high(khz));
    }

    /// Makes this the high speed, instead of any earlier one. CPUs that have a wish get their new speed at once. For drivers that choose speeds themselves,
    /// it becomes a ceiling that is written now and stays until another high speed or until everything is restored, or for goal balanced a lower limit of
    /// high CPUs.
    ///
    /// # Errors
    /// This speed is not known here, or cannot be requested, or the journal cannot be written; then nothing was changed. [`SpeedError::KeptSpeed`]: some clock
    /// domains keep their former high speed, because a file of theirs cannot be written; the others have this one.
    pub fn set_high_speed(&mut self, wanted: HighSpeed) -> Result<(), SpeedError> {
        // A program that changes the power profile may have written the same preferences since. A limit may show its last value only later.
        self.known.retain(|path, _| is_frequency(path));
        let mut domains: Vec<Controlled> = self.domains.iter().map(Controlled::as_found).collect();
        let speeds = high::speeds(self.files.as_ref(), wanted, &domains)?;
        for (controlled, high) in domains.iter_mut().zip(speeds) {
            match high {
                High::AsFound => {}
                High::At(khz) => controlled.run_high_at(self.files.as_ref(), khz, wanted),
                High::From(khz) => controlled.run_high_from(self.files.as_ref(), khz),
            }
        }
        let former = std::mem::replace(&mut self.domains, domains);
        let result = self.write_high_speeds(former);
        self.public_domains = self.domains.iter().map(|d| d.domain.clone()).collect();
        result
    }

    /// Writes the new high speed to one clock domain after the other. A domain that fails is undone, and is as in `former` again.
    fn write_high_speeds(&mut self, mut former: Vec<Controlled>) -> Result<(), SpeedError> {
        let (changes, entries): (Vec<_>, Vec<_>) = (0..self.domains.len())
            .map(|at| match self.high_speed_changes(at) {
                Ok((changes, entries)) => (Ok(changes), entries),
                Err(error) => (Err(error), Vec::new()),
            })
            .unzip();
        if let Err(error) = self.note(entries.into_iter().flatten().collect()) {
            self.domains = former;
            return Err(error);
        }
        let (mut cpus, mut first) = (Vec::new(), None);
        for (at, changes) in changes.into_iter().enumerate() {
            let Err(error) = changes.and_then(|changes| self.write_in_order(changes)) else {
                continue;
            };
            // A domain that goes offline meanwhile has no files; it gets the new speed with its next wish.
            if self.domains[at].is_asleep(self.files.as_ref()) {
                continue;
            }
            std::mem::swap(&mut self.domains[at], &mut former[at]);
            self.give_up_preference(at);
            cpus.extend_from_slice(&self.domains[at].domain.cpus);
            first.get_or_insert(error);
        }
        cpus.sort_unstable();
        first.map_or(Ok(()), |error| {
            let first = Box::new(error);
            Err(SpeedError::KeptSpeed { cpus, first })
        })
    }

    /// The changes that the high speed of a clock domain needs now. A ceiling is for all its CPUs, whatever their wishes.
    fn high_speed_changes(&self, at: usize) -> Result<(Vec<Change>, Vec<Entry>), SpeedError> {
        let (wish, chosen) = (self.highest_wish(at), &self.domains[at]);
        if chosen.is_asleep(self.files.as_ref()) {
            return Ok((Vec::new(), Vec::new()));
        }
        let is_ceiling = |knob: &Knob| knob.high.is_some() && knob.high == knob.low;
        let is_for_all = |knob| chosen.domain.mechanism == Mechanism::Preference && is_ceiling(knob);
        let knobs = chosen.knobs.iter().filter_map(|knob| match (is_for_all(knob), wish) {
            (true, _) => Some((knob, Wish::High)),
            (false, Wish::Released) => None,
            (false, wish) => Some((knob, wish)),
        });
        self.changes_for(knobs)
    }

    /// Shortest time between two changes of speed under `schedutil`, which drops requests in between; 0 if it governs no CPU.
    pub fn rate_limit_ns(&self) -> u64 {
        domain::rate_limit_ns(self.files.as_ref())
    }

    /// What sets the speeds of high CPUs, by clock domain.
    pub fn controls(&self) -> impl Iterator<Item = Control> + '_ {
        self.domains.iter().map(Controlled::control)
    }

    /// How many requests take a CPU from its lowest to its top speed under `schedutil`. One if the kernel knows the CPU's present speed;
    /// otherwise each request raises the speed by a quarter.
    pub fn requests_to_top(&self) -> u32 {
        if domain::knows_speed(self.files.as_ref()) {
            return 1;
        }
        let ranges = self
            .public_domains
            .iter()
            .filter_map(|d| Some((d.min_khz?, d.max_khz?)));
        ranges.map(|(min, max)| quarters_up(min, max)).max().unwrap_or(1)
    }

    /// The changes of an earlier run that opening restored.
    pub fn recovered(&self) -> &Restored {
        &self.recovered
    }

    /// Writes no file from now on, for this reason; requests of the scheduler in the kernel go on. For a caller that shares the CPUs
    /// with other work.
    pub fn leave_files_alone(&mut self, reason: &str) {
        for controlled in &mut self.domains {
            controlled.leave_files_alone(reason);
        }
        self.idle.clear();
        self.public_domains = self.domains.iter().map(|d| d.domain.clone()).collect();
    }

    /// Whether a governor differs from what it was at [`Speeds::open`], or a clock domain has given up its preference since. Opening again follows both.
    #[must_use]
    pub fn has_changed_governor(&self) -> bool {
        let mut domains = self.domains.iter();
        domains.any(|d| d.has_changed_governor(self.files.as_ref()))
    }

    /// For people: what an earlier run left; how the speeds of which CPUs are set, or why they cannot be, and how to fix that; and
    /// whether the governor has changed since, and what that means.
    pub fn describe(&self) -> Vec<String> {
        let mut lines = describe::restored_lines(&self.recovered);
        let text = |d: &Controlled| match d.governor_since(self.files.as_ref()) {
            Some(now) => describe::governor_text(&d.domain, &now),
            None => describe::domain_text(d),
        };
        let domains = self.domains.iter();
        lines.extend(describe::lines_by_cpus(
            domains.map(|d| (d.domain.cpus.clone(), text(d))),
        ));
        let idle = self.idle.iter();
        lines.extend(describe::lines_by_cpus(
            idle.map(|(&cpu, knobs)| (vec![cpu], describe::idle_text(knobs))),
        ));
        lines
    }

    /// Applies a wish for a CPU to its clock domain and its idle states. Only writes what differs. A CPU that has gone offline has no
    /// wish.
    ///
    /// # Errors
    /// The CPU was not online at opening, or a file or the journal could not be written; if the cause is a change of governor, the
    /// error says so. This call's changes are then undone and the CPU keeps its former wish; if undoing fails too, the journal still
    /// has the originals.
    pub fn apply(&mut self, cpu: usize, wish: Wish) -> Result<(), SpeedError> {
        let of_cpu = |d: &Controlled| d.domain.cpus.contains(&cpu);
        let domain = self
            .domains
            .iter()
            .position(of_cpu)
            .ok_or(SpeedError::UnknownCpu { cpu })?;
        if wish == Wish::Released && self.is_away(domain, cpu) {
            return self.forget(domain, cpu);
        }
        match self.set(domain, cpu, wish) {
            Err(_) if self.is_away(domain, cpu) => self.forget(domain, cpu),
            Err(error) => Err(self.governor_error(domain).unwrap_or(error)),
            Ok(()) => Ok(()),
        }
    }

    /// Whether a CPU is offline, or going offline together with its clock domain.
    fn is_away(&self, domain: usize, cpu: usize) -> bool {
        let online = online_cpus(self.files.as_ref());
        online.is_ok_and(|online| !online.contains(&cpu)) || self.domains[domain].is_asleep(self.files.as_ref())
    }

    /// Drops the wish of a CPU that is away, whose own files do not answer. Others of its clock domain may still be online.
    fn forget(&mut self, domain: usize, cpu: usize) -> Result<(), SpeedError> {
        self.wishes.remove(&cpu);
        for knob in self.idle.get(&cpu).into_iter().flatten() {
            self.known.remove(&knob.path);
        }
        if self.domains[domain].is_asleep(self.files.as_ref()) {
            for knob in &self.domains[domain].knobs {
                self.known.remove(&knob.path);
            }
            return Ok(());
        }
        let online = online_cpus(self.files.as_ref()).unwrap_or_default();
        let others = self.domains[domain]
            .domain
            .cpus
            .iter()
            .find(|other| online.contains(other));
        match others.copied() {
            Some(other) => {
                let wish = self.wishes.get(&other).copied().unwrap_or(Wish::Released);
                self.set(domain, other, wish)
            }
            None => Ok(()),
        }
    }

    /// The error for a write that failed because the governor is no longer `userspace`. Limits work under every governor, so their
    /// writes fail for other reasons.
    fn governor_error(&self, domain: usize) -> Option<SpeedError> {
        if self.domains[domain].domain.mechanism != Mechanism::Setspeed {
            return None;
        }
        let since = |d: &Controlled| Some((d.domain.governor.clone(), d.governor_since(self.files.as_ref())?));
        let here = since(&self.domains[domain])?;
        let alike = self.domains.iter().filter(|d| since(d).as_ref() == Some(&here));
        let cpus: Vec<usize> = alike.flat_map(|d| d.domain.cpus.iter().copied()).collect();
        let text = describe::governor_text(&self.domains[domain].domain, &here.1);
        let text = describe::lines_by_cpus(std::iter::once((cpus.clone(), text))).join("\n");
        Some(SpeedError::Governor { cpus, text })
    }

    fn set(&mut self, domain: usize, cpu: usize, wish: Wish) -> Result<(), SpeedError> {
        let former = self.wishes.insert(cpu, wish);
        self.enforce(domain, cpu, wish).inspect_err(|_| {
            self.wishes.insert(cpu, former.unwrap_or(Wish::Released));
            self.give_up_preference(domain);
        })
    }

    fn enforce(&mut self, domain: usize, cpu: usize, wish: Wish) -> Result<(), SpeedError> {
        let of_domain = self.highest_wish(domain);
        let domain_knobs = self.domains[domain].knobs.iter().map(|knob| (knob, of_domain));
        let idle_knobs = self.idle.get(&cpu).into_iter().flatten().map(|knob| (knob, wish));
        self.carry_out(self.changes_for(domain_knobs.chain(idle_knobs))?)
    }

    /// The changes that wishes need, with new journal entries.
    fn changes_for<'a>(
        &self,
        wishes: impl Iterator<Item = (&'a Knob, Wish)>,
    ) -> Result<(Vec<Change>, Vec<Entry>), SpeedError> {
        let (mut changes, mut entries) = (Vec::new(), Vec::new());
        for (knob, wish) in wishes {
            if let Some((change, entry)) = self.change_for(knob, wish)? {
                changes.push(change);
                entries.extend(entry);
            }
        }
        Ok((changes, entries))
    }

    fn carry_out(&mut self, (changes, entries): (Vec<Change>, Vec<Entry>)) -> Result<(), SpeedError> {
        self.note(entries)?;
        self.write_in_order(changes)
    }

    fn write_in_order(&mut self, changes: Vec<Change>) -> Result<(), SpeedError> {
        let asked_khz = |path: &str| self.known.get(path)?.asked.parse().ok();
        let now_khz = |path: &str| asked_khz(path).or_else(|| self.files.read_khz(path));
        let changes = in_order(now_khz, changes);
        self.write_all(changes)
    }

    /// Writes entries to disk before any file is changed.
    fn note(&mut self, entries: Vec<Entry>) -> Result<(), SpeedError> {
        if entries.is_empty() {
            return Ok(());
        }
        let mut journal = self.journal.clone();
        journal
            .entries
            .extend(entries.into_iter().map(|entry| (entry.path.clone(), entry)));
        journal.save(&self.journal_path)?;
        self.journal = journal;
        Ok(())
    }

    fn highest_wish(&self, domain: usize) -> Wish {
        let cpus = self.domains[domain].domain.cpus.iter();
        let wishes = cpus.filter_map(|cpu| self.wishes.get(cpu));
        wishes.max().copied().unwrap_or(Wish::Released)
    }

    /// The change to a file that a wish needs, with its journal entry if that is new; `None` if the file has the value already.
    fn change_for(&self, knob: &Knob, wish: Wish) -> Result<Option<(Change, Option<Entry>)>, SpeedError> {
        let wanted = match wish {
            Wish::High => knob.high.clone(),
            Wish::Share(permille) => knob.at_share(permille),
            Wish::Low => knob.low.clone(),
            Wish::Released => None,
        };
        let entry = self.journal.entries.get(&knob.path);
        let Some(value) = wanted.as_ref().or(entry.map(|entry| &entry.original)) else {
            return Ok(None);
        };
        let known = self.known.get(&knob.path);
        // An upper limit that comes and goes with homes must not undo one that heat or another program has set meanwhile, so it is read each time.
        let is_between = matches!(wish, Wish::Share(_)) && knob.between_khz.is_some();
        if known.is_some_and(|known| known.asked == value.trim()) {
            return Ok(None);
        }
        if !is_between && wanted.is_some() && known.is_some_and(|known| known.takes(value)) {
            let change = Change {
                path: knob.path.clone(),
                value: as_echoed(value, entry),
            };
            return Ok(Some((change, None)));
        }
        let current = self.read(&knob.path)?;
        let is_ours = entry.is_some_and(|entry| entry.is_ours(&current));
        if is_between && !is_ours && !knob.is_as_opened(&current) {
            return Ok(None);
        }
        let standing = entry.map(|entry| entry.standing(self.files.as_ref(), &current));
        if current.trim() == value.trim() && standing != Some(Standing::HeldDown) {
            return Ok(None);
        }
        // When restoring, do not overwrite what somebody else wrote meanwhile.
        if wanted.is_none() && standing == Some(Standing::Foreign) {
            return Ok(None);
        }
        let change = Change {
            path: knob.path.clone(),
            value: as_echoed(value, entry),
        };
        Ok(Some((
            change,
            wanted.as_ref().and_then(|value| noted(entry, knob, value, &current)),
        )))
    }

    fn read(&self, path: &str) -> Result<String, SpeedError> {
        let text = self.files.read(path).and_then(|text| {
            let one_line = is_value(text.strip_suffix('\n').unwrap_or(&text));
            one_line.then_some(text).ok_or(io::Error::new(
                io::ErrorKind::InvalidData,
                "not a value of one line, as every kernel shows it",
            ))
        });
        text.map_err(|source| self.file_error(path, "read it", source))
    }

    fn file_error(&self, path: &str, action: &'static str, source: io::Error) -> SpeedError {
        SpeedError::File {
            file: self.files.absolute(path),
            action,
            source,
        }
    }

    /// All or none: if a write fails, the earlier ones are undone.
    fn write_all(&mut self, changes: Vec<Change>) -> Result<(), SpeedError> {
        let mut undo = Vec::new();
        for change in changes {
            if let Err(failure) = self.write(&change, &mut undo) {
                self.take_back(undo);
                return Err(failure);
            }
        }
        Ok(())
    }

    fn write(&mut self, change: &Change, undo: &mut Vec<Change>) -> Result<(), SpeedError> {
        let (path, value) = (&change.path, change.value.trim());
        let known = self.known.get(path);
        let routine = known
            .filter(|known| known.takes(value))
            .map(|known| format!("{}\n", known.asked));
        let is_routine = routine.is_some();
        let before = routine.map_or_else(|| self.read(path), Ok)?;
        self.files
            .write(path, &change.value)
            .map_err(|source| self.file_error(path, "write it", source))?;
        self.known.entry(path.clone()).or_default().asked = value.into();
        undo.push(Change {
            path: path.clone(),
            value: before,
        });
        if is_routine {
            return Ok(());
        }
        self.read_back(path, value)
    }

    /// Undoes changes in reverse, so that limits never cross. What cannot be undone is still in the journal.
    fn take_back(&mut self, undo: Vec<Change>) {
        for change in undo.into_iter().rev() {
            self.known.remove(&change.path);
            let _ = self.files.write(&change.path, &change.value);
        }
    }

    /// A kernel may round what was written, so the journal must record the rounded value as ours. From now on a frequency that it does
    /// not round is known.
    fn read_back(&mut self, path: &str, written: &str) -> Result<(), SpeedError> {
        let (Ok(shown), Some(entry)) = (self.files.read(path), self.journal.entries.get_mut(path)) else {
            return Ok(());
        };
        if shown.trim() == written && is_frequency(path) && entry.is_ours(written) {
            self.known.entry(path.to_string()).or_default().shows(written);
        }
        if shown.trim() != entry.original.trim() && is_value(shown.trim()) && entry.remember(&shown) {
            self.journal.save(&self.journal_path)?;
        }
        Ok(())
    }

    /// Governor `performance`, chosen meanwhile, refuses energy preferences, so nothing can be set until the next start.
    fn give_up_preference(&mut self, domain: usize) {
        let now = self.domains[domain].governor_since(self.files.as_ref());
        let controlled = &mut self.domains[domain];
        if now.as_deref() == Some("performance") && controlled.domain.mechanism == Mechanism::Preference {
            let reason = domain::held_by_performance(&controlled.folder);
            controlled.domain.governor = "performance".to_string();
            controlled.leave_files_alone(&reason);
            self.public_domains[domain] = controlled.domain.clone();
        }
    }

    /// Restores everything and releases every CPU. Returns an error for each file that could not be restored, which stays in the
    /// journal, and for each that was left because somebody else changed it. May be called again.
    pub fn restore(&mut self) -> Vec<SpeedError> {
        self.wishes.clear();
        self.known.clear();
        if self.journal.entries.is_empty() {
            return Vec::new();
        }
        let mut errors = restore::put_back(self.files.as_ref(), &mut self.journal).into_errors();
        errors.extend(self.journal.save(&self.journal_path).err());
        errors
    }
}

impl Drop for Speeds {
    fn drop(&mut self) {
        for error in self.restore() {
            eprintln!("lop: {error}");
        }
    }
}

/// The bytes to write for a value: those of the original if it is that, else a line as `echo` writes it.
fn as_echoed(value: &str, entry: Option<&Entry>) -> String {
    match entry {
        Some(entry) if entry.holds_original(value) => entry.original.clone(),
        _ => format!("{value}\n"),
    }
}

/// The entry for a file that now holds `current` and is about to become `value`; `None` if the journal's entry still fits.
fn noted(entry: Option<&Entry>, knob: &Knob, value: &str, current: &str) -> Option<Entry> {
    // Heat cuts frequencies, and what they then show is nobody's setting, so the first original stays. A word that changed is
    // another program's choice, and becomes the original.
    let keeps = |entry: &&Entry| is_frequency(&knob.path) || entry.is_ours(current) || entry.holds_original(current);
    let known = entry.filter(keeps).cloned();
    let is_known = known.is_some();
    let mut noted = known.unwrap_or_else(|| Entry {
        path: knob.path.clone(),
        original: current.to_string(),
        written: Vec::new(),
    });
    let mut is_new = !is_known;
    for value in knob.high.iter().chain(&knob.low).map(String::as_str).chain([value]) {
        is_new |= noted.remember(value);
    }
    is_new.then_some(noted)
}
