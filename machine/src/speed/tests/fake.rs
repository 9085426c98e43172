// SPDX-License-Identifier: MIT OR Apache-2.0
//! A fake kernel: plain files, and the rules by which cpufreq accepts or refuses writes.

use crate::speed::files::{Files, Tree};
use crate::speed::{journal::Journal, Asker, Speeds};
use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

pub const CPU: &str = "sys/devices/system/cpu";
pub const BOOT_ID: &str = "5f1c2b8e-0a53-4f0e-9b7b-6d1f3c1c7a10";

/// A cpufreq policy that is laid out as files.
pub struct Policy {
    pub number: usize,
    pub cpus: &'static str,
    pub driver: &'static str,
    pub governor: &'static str,
    pub limits_khz: (u32, u32),
    pub table: &'static str,
    /// The value, and the words that are offered.
    pub preference: Option<(&'static str, &'static str)>,
}

const EPP_WORDS: &str = "default performance balance_performance balance_power power";

pub fn acpi(number: usize, cpus: &'static str, governor: &'static str) -> Policy {
    Policy {
        number,
        cpus,
        driver: "acpi-cpufreq",
        governor,
        limits_khz: (1_050_000, 2_100_000),
        table: "2100000 1800000 1400000 1050000",
        preference: None,
    }
}

pub fn active(number: usize, cpus: &'static str, driver: &'static str, governor: &'static str) -> Policy {
    Policy {
        number,
        cpus,
        driver,
        governor,
        limits_khz: (800_000, 4_600_000),
        table: "",
        preference: Some(("balance_performance", EPP_WORDS)),
    }
}

#[derive(Default)]
struct Rules {
    /// Paths and values, in order.
    writes: Vec<(String, String)>,
    refuses: HashMap<String, io::ErrorKind>,
    /// After this many writes, all fail.
    dies_after: Option<usize>,
    /// Heat keeps upper limits down: a lower limit above them is accepted but not shown.
    hot: bool,
    /// For this many reads after a write, limits show their old values.
    late_reads: usize,
    /// Values that were written but are not shown yet, each with the reads left until then.
    late: HashMap<String, (usize, String)>,
    /// Writes that must never happen.
    violations: Vec<String>,
}

/// Folder, journal and rules. Clones share them.
#[derive(Clone)]
pub struct Fake {
    folder: Arc<tempfile::TempDir>,
    pub root: PathBuf,
    rules: Arc<Mutex<Rules>>,
    /// Folders that do not answer, as that of a policy without an online CPU.
    asleep: Arc<Mutex<Vec<String>>>,
}

impl Fake {
    pub fn new(policies: &[Policy], online: &str) -> Self {
        let folder = Arc::new(folder_in_memory());
        let fake = Self {
            root: folder.path().join("root"),
            folder,
            rules: Arc::default(),
            asleep: Arc::default(),
        };
        fake.put("proc/sys/kernel/random/boot_id", BOOT_ID);
        fake.put(&format!("{CPU}/online"), online);
        for policy in policies {
            fake.put_policy(policy);
        }
        fake
    }

    fn put_policy(&self, policy: &Policy) {
        let put = |name: &str, value: &str| self.put(&format!("{CPU}/cpufreq/policy{}/{name}", policy.number), value);
        let (min, max) = (policy.limits_khz.0.to_string(), policy.limits_khz.1.to_string());
        put("affected_cpus", policy.cpus);
        put("related_cpus", policy.cpus);
        put("scaling_driver", policy.driver);
        put("scaling_governor", policy.governor);
        put("scaling_min_freq", &min);
        put("scaling_max_freq", &max);
        put("cpuinfo_min_freq", &min);
        put("cpuinfo_max_freq", &max);
        let by_hand = policy.governor == "userspace";
        put("scaling_setspeed", if by_hand { "1400000" } else { "<unsupported>" });
        if !policy.table.is_empty() {
            put("scaling_available_frequencies", policy.table);
        }
        if let Some((value, words)) = policy.preference {
            put("energy_performance_preference", value);
            put("energy_performance_available_preferences", words);
        }
        for cpu in policy.cpus.split(' ') {
            let folder = self.root.join(format!("{CPU}/cpu{cpu}"));
            fs::create_dir_all(&folder).unwrap();
            std::os::unix::fs::symlink(format!("../cpufreq/policy{}", policy.number), folder.join("cpufreq")).unwrap();
        }
    }

    /// Creates or changes a file on behalf of somebody else, bypassing all rules.
    pub fn put(&self, path: &str, value: &str) {
        let file = self.root.join(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, format!("{value}\n")).unwrap();
    }

    /// Heat lowers the upper limit of a policy; the lower limit shows no more than that.
    pub fn heat(&self, number: usize, khz: &str) {
        self.put(&policy_file(number, "scaling_min_freq"), khz);
        self.put(&policy_file(number, "scaling_max_freq"), khz);
        self.rules.lock().unwrap().hot = true;
    }

    /// The contents of the files, bypassing all rules.
    fn plain(&self) -> Tree {
        Tree::new(&self.root)
    }

    /// From now on a worker applies limits: for this many reads they show their old values.
    pub fn late(&self, reads: usize) {
        self.rules.lock().unwrap().late_reads = reads;
    }

    /// How often a limit that is never shown was read since it was written.
    pub fn looks_in_vain(&self, path: &str) -> usize {
        usize::MAX - self.rules.lock().unwrap().late[path].0
    }

    /// One read less until a limit is shown.
    fn look_at(&self, path: &str) -> io::Result<()> {
        let mut rules = self.rules.lock().unwrap();
        let Some((reads, value)) = rules.late.remove(path) else {
            return Ok(());
        };
        if reads == 0 {
            return self.plain().write(path, &value);
        }
        rules.late.insert(path.into(), (reads - 1, value));
        Ok(())
    }

    /// Two idle states (1 us and 200 us), the deeper one switched off or not, and a limit of the latency.
    pub fn put_idle(&self, cpu: usize, disable: &str, limit_us: &str) {
        for (state, latency_us, disable) in [(0, "1", "0"), (1, "200", disable)] {
            let folder = format!("{CPU}/cpu{cpu}/cpuidle/state{state}");
            self.put(&format!("{folder}/latency"), latency_us);
            self.put(&format!("{folder}/disable"), disable);
            self.put(&format!("{folder}/default_status"), "enabled");
        }
        self.put(&format!("{CPU}/cpu{cpu}/power/pm_qos_resume_latency_us"), limit_us);
    }

    pub fn journal_path(&self) -> PathBuf {
        self.folder.path().join("run/speeds.journal")
    }
    pub fn open(&self) -> Speeds {
        self.open_for(Asker::Scheduler)
    }
    pub fn open_for(&self, asker: Asker) -> Speeds {
        Speeds::open_files(Box::new(self.clone()), &self.journal_path(), asker).unwrap()
    }
    pub fn policy(&self, number: usize, name: &str) -> String {
        Files::read_trimmed(self, &policy_file(number, name)).unwrap()
    }
    /// The present lower and upper limit.
    pub fn limits(&self, number: usize) -> (String, String) {
        (
            self.policy(number, "scaling_min_freq"),
            self.policy(number, "scaling_max_freq"),
        )
    }
    pub fn refuse(&self, path: &str, kind: io::ErrorKind) {
        self.rules.lock().unwrap().refuses.insert(path.into(), kind);
    }
    /// The last CPUs of a policy go offline; `online` lists the CPUs that stay.
    pub fn sleep(&self, number: usize, online: &str) {
        self.put(&format!("{CPU}/online"), online);
        self.asleep.lock().unwrap().push(policy_file(number, ""));
    }
    pub fn wake(&self, online: &str) {
        self.put(&format!("{CPU}/online"), online);
        self.asleep.lock().unwrap().clear();
    }
    fn is_asleep(&self, path: &str) -> bool {
        let asleep = self.asleep.lock().unwrap();
        asleep.iter().any(|folder| path.starts_with(folder))
    }
    pub fn allow_all(&self) {
        let mut rules = self.rules.lock().unwrap();
        rules.refuses.clear();
        rules.dies_after = None;
    }
    pub fn die_after(&self, writes: usize) {
        self.rules.lock().unwrap().dies_after = Some(writes);
    }
    pub fn writes(&self) -> Vec<(String, String)> {
        std::mem::take(&mut self.rules.lock().unwrap().writes)
    }
    pub fn violations(&self) -> Vec<String> {
        self.rules.lock().unwrap().violations.clone()
    }

    /// All files with their contents, byte for byte.
    pub fn snapshot(&self) -> BTreeMap<PathBuf, String> {
        let mut files = BTreeMap::new();
        collect(&self.root, &mut files);
        files
    }

    fn check_limit(&self, path: &str, value: &str) -> Result<(), String> {
        let khz = |path: &str| self.plain().read_khz(path).unwrap();
        let (folder, name) = path.rsplit_once('/').unwrap();
        let new: u32 = value
            .trim()
            .parse()
            .map_err(|_| format!("{path}: {value:?} is not a number"))?;
        let (min, max) = match name {
            "scaling_min_freq" => (new, khz(&format!("{folder}/scaling_max_freq"))),
            _ => (khz(&format!("{folder}/scaling_min_freq")), new),
        };
        if min > max {
            return Err(format!("{path}: limits cross, {min} > {max}"));
        }
        Ok(())
    }

    /// The lowest table frequency that is not below the value, as governor userspace chooses it.
    fn rounded(&self, path: &str, value: &str) -> String {
        let folder = path.rsplit_once('/').unwrap().0;
        let table = self
            .plain()
            .read(&format!("{folder}/scaling_available_frequencies"))
            .unwrap_or_default();
        let wanted: u32 = value.trim().parse().unwrap();
        let above = table
            .split_whitespace()
            .filter_map(|khz| khz.parse::<u32>().ok())
            .filter(|&khz| khz >= wanted);
        format!("{}\n", above.min().unwrap_or(wanted))
    }

    fn is_journalled(&self, path: &str) -> bool {
        let text = fs::read_to_string(self.journal_path()).unwrap_or_default();
        Journal::parse("journal", &text).is_ok_and(|journal| journal.entries.contains_key(path))
    }
}

pub fn policy_file(number: usize, name: &str) -> String {
    format!("{CPU}/cpufreq/policy{number}/{name}")
}

/// In memory, where real journals are too, and where waiting for the disk costs nothing. Any folder would do.
fn folder_in_memory() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm")
        .or_else(|_| tempfile::tempdir())
        .unwrap()
}

/// Acts like SIGKILL: nothing is restored, and the lock is free.
pub fn kill(mut speeds: Speeds) {
    speeds.journal.entries.clear();
}

fn collect(folder: &Path, files: &mut BTreeMap<PathBuf, String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            collect(&entry.path(), files);
        } else if kind.is_file() {
            files.insert(entry.path(), fs::read_to_string(entry.path()).unwrap());
        }
    }
}

impl Files for Fake {
    fn root(&self) -> &Path {
        &self.root
    }
    fn read(&self, path: &str) -> io::Result<String> {
        if self.is_asleep(path) {
            return Err(io::ErrorKind::ResourceBusy.into());
        }
        self.look_at(path)?;
        self.plain().read(path)
    }
    fn writable(&self, path: &str) -> io::Result<()> {
        self.plain().writable(path)
    }
    fn list(&self, folder: &str) -> io::Result<Vec<String>> {
        self.plain().list(folder)
    }

    fn write(&self, path: &str, value: &str) -> io::Result<()> {
        if self.is_asleep(path) {
            return Err(io::ErrorKind::ResourceBusy.into());
        }
        let mut rules = self.rules.lock().unwrap();
        if !self.is_journalled(path) {
            rules
                .violations
                .push(format!("{path}: written without a journal entry"));
        }
        if let Some(kind) = rules.refuses.get(path) {
            return Err((*kind).into());
        }
        if rules.dies_after.is_some_and(|writes| rules.writes.len() >= writes) {
            return Err(io::Error::other("the process is dead"));
        }
        let (folder, name) = path.rsplit_once('/').unwrap();
        let mut value = value.to_string();
        match name {
            "scaling_min_freq" | "scaling_max_freq" => {
                if let (Err(crossed), false) = (self.check_limit(path, &value), rules.hot) {
                    rules.violations.push(crossed);
                    return Err(io::ErrorKind::InvalidInput.into());
                }
            }
            "scaling_setspeed" if self.plain().read_trimmed(&format!("{folder}/scaling_governor"))? != "userspace" => {
                return Err(io::ErrorKind::InvalidInput.into());
            }
            "scaling_setspeed" => value = self.rounded(path, &value),
            "energy_performance_preference"
                if self.plain().read_trimmed(&format!("{folder}/scaling_governor"))? == "performance" =>
            {
                return Err(io::ErrorKind::ResourceBusy.into());
            }
            _ => {}
        }
        rules.writes.push((path.into(), value.trim().into()));
        if rules.late_reads > 0 && matches!(name, "scaling_min_freq" | "scaling_max_freq") {
            let late = (rules.late_reads, value);
            rules.late.insert(path.into(), late);
            return Ok(());
        }
        self.plain().write(path, &value)
    }
}
