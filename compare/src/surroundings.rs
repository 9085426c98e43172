// SPDX-License-Identifier: MIT OR Apache-2.0
//! The machine's state while commands are measured: other load, temperature, governors.

use serde::{Deserialize, Serialize};
use std::fs;
use std::path::{Path, PathBuf};

/// The machine at one moment. Unknown values are `None`.
#[derive(Clone, Debug, PartialEq)]
pub struct Moment {
    cpu: Option<CpuTime>,
    hottest_c: Option<f64>,
    governors: Option<String>,
}

/// Seconds since boot, summed over all CPUs.
#[derive(Clone, Copy, Debug, PartialEq)]
struct CpuTime {
    busy_s: f64,
    idle_s: f64,
    stolen_s: f64,
}

/// What happened around a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Around {
    /// CPU seconds that others took: busy time of all CPUs minus the command's own. Counted in clock ticks.
    pub others_s: Option<f64>,
    /// CPU seconds that a hypervisor gave to others.
    pub stolen_s: Option<f64>,
    /// CPU seconds that were available.
    pub capacity_s: Option<f64>,
    /// The hottest sensor after the run, in degrees Celsius.
    pub hottest_c: Option<f64>,
    /// Governors after the run: `performance`, or several with commas.
    pub governors: Option<String>,
}

/// Reads `proc` and `sys` below a root.
pub struct Surroundings {
    root: PathBuf,
    ticks_per_s: f64,
}

impl Surroundings {
    pub fn new(root: &Path) -> Self {
        // SAFETY: no memory is involved.
        let ticks = unsafe { libc::sysconf(libc::_SC_CLK_TCK) };
        Self {
            root: root.to_path_buf(),
            ticks_per_s: if ticks > 0 { ticks as f64 } else { 100.0 },
        }
    }

    pub fn now(&self) -> Moment {
        Moment {
            cpu: self.cpu_time(),
            hottest_c: self.hottest_c(),
            governors: self.governors(),
        }
    }

    fn cpu_time(&self) -> Option<CpuTime> {
        let text = fs::read_to_string(self.root.join("proc/stat")).ok()?;
        let mut words = text.lines().next()?.strip_prefix("cpu ")?.split_whitespace();
        let mut next = || Some(words.next()?.parse::<f64>().ok()? / self.ticks_per_s);
        // user nice system idle iowait irq softirq steal; guest time is in user time already (proc_stat(5)).
        let (user, nice, system, idle, waiting) = (next()?, next()?, next()?, next()?, next()?);
        let (irq, softirq, stolen) = (next()?, next()?, next()?);
        Some(CpuTime {
            busy_s: user + nice + system + irq + softirq,
            idle_s: idle + waiting,
            stolen_s: stolen,
        })
    }

    /// From the processors' own sensors if there are any, else from all thermal zones, which may include those of a disk or a radio.
    fn hottest_c(&self) -> Option<f64> {
        let sensors = self
            .folders("sys/class/hwmon", "hwmon")
            .filter(|folder| is_processors(folder));
        let zones = self.folders("sys/class/thermal", "thermal_zone");
        let hottest = |millidegrees: Vec<f64>| millidegrees.into_iter().reduce(f64::max).map(|most| most / 1e3);
        hottest(sensors.filter_map(|folder| processor_millidegrees(&folder)).collect())
            .or_else(|| hottest(zones.filter_map(|zone| number(&zone.join("temp"))).collect()))
    }

    fn governors(&self) -> Option<String> {
        let policies = self.folders("sys/devices/system/cpu/cpufreq", "policy");
        let read = |policy: PathBuf| fs::read_to_string(policy.join("scaling_governor")).ok();
        let mut names: Vec<String> = policies.filter_map(read).map(|name| name.trim().to_string()).collect();
        names.sort();
        names.dedup();
        (!names.is_empty()).then(|| names.join(","))
    }

    fn folders(&self, below: &str, prefix: &'static str) -> impl Iterator<Item = PathBuf> {
        let entries = fs::read_dir(self.root.join(below)).into_iter().flatten().flatten();
        let named = move |entry: &fs::DirEntry| entry.file_name().to_string_lossy().starts_with(prefix);
        entries.filter(named).map(|entry| entry.path())
    }
}

/// Drivers of sensors in processors (Documentation/hwmon in the kernel's sources).
const PROCESSOR_DRIVERS: [&str; 4] = ["coretemp", "k10temp", "zenpower", "cpu_thermal"];
const WHOLE_PROCESSOR: &str = "temp1_input";

fn is_processors(hwmon: &Path) -> bool {
    fs::read_to_string(hwmon.join("name")).is_ok_and(|name| PROCESSOR_DRIVERS.contains(&name.trim()))
}

/// The temperature of the whole processor, or of its hottest core if the driver only has cores (coretemp on processors before 2011).
fn processor_millidegrees(hwmon: &Path) -> Option<f64> {
    let entries = fs::read_dir(hwmon).into_iter().flatten().flatten();
    let inputs = entries.filter(|entry| {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        name.starts_with("temp") && name.ends_with("_input")
    });
    number(&hwmon.join(WHOLE_PROCESSOR)).or_else(|| inputs.filter_map(|entry| number(&entry.path())).reduce(f64::max))
}

fn number(file: &Path) -> Option<f64> {
    fs::read_to_string(file).ok()?.trim().parse().ok()
}

/// What happened between two moments in which the command itself took `own_s` of CPU time.
pub fn between(before: &Moment, after: &Moment, own_s: f64) -> Around {
    let cpu = before.cpu.zip(after.cpu);
    let busy_s = cpu.map(|(before, after)| after.busy_s - before.busy_s);
    let stolen_s = cpu.map(|(before, after)| (after.stolen_s - before.stolen_s).max(0.0));
    let idle_s = cpu.map(|(before, after)| (after.idle_s - before.idle_s).max(0.0));
    Around {
        others_s: busy_s.map(|busy_s| busy_s - own_s),
        stolen_s,
        capacity_s: busy_s
            .zip(stolen_s)
            .zip(idle_s)
            .map(|((busy, stolen), idle)| busy + stolen + idle),
        hottest_c: after.hottest_c,
        governors: after.governors.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(root: &Path, file: &str, text: &str) {
        let path = root.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// At 100 ticks a second: busy 3 s, of which 1.2 s are the command's own; idle 4 s; stolen 0.5 s.
    #[test]
    fn what_others_took_is_busy_time_less_ones_own() {
        let root = tempfile::tempdir().unwrap();
        let mut surroundings = Surroundings::new(root.path());
        surroundings.ticks_per_s = 100.0;
        write(
            root.path(),
            "proc/stat",
            "cpu  100 0 50 1000 20 0 5 10 0 0\ncpu0 1 1 1\n",
        );
        write(root.path(), "sys/class/thermal/thermal_zone0/temp", "41000\n");
        write(root.path(), "sys/class/thermal/thermal_zone1/temp", "56500\n");
        write(
            root.path(),
            "sys/devices/system/cpu/cpufreq/policy0/scaling_governor",
            "schedutil\n",
        );
        write(
            root.path(),
            "sys/devices/system/cpu/cpufreq/policy1/scaling_governor",
            "schedutil\n",
        );
        let before = surroundings.now();
        write(root.path(), "proc/stat", "cpu  300 0 150 1350 70 0 5 60 0 0\n");
        let around = between(&before, &surroundings.now(), 1.2);
        assert!((around.others_s.unwrap() - 1.8).abs() < 1e-9, "{around:?}");
        assert!((around.capacity_s.unwrap() - 7.5).abs() < 1e-9, "{around:?}");
        assert_eq!(around.stolen_s, Some(0.5));
        assert_eq!(
            (around.hottest_c, around.governors.as_deref()),
            (Some(56.5), Some("schedutil"))
        );
    }

    /// A disk at 70 degrees and a zone at 60 are ignored if two processors have sensors.
    #[test]
    fn the_processors_own_sensors_go_before_other_temperatures() {
        let root = tempfile::tempdir().unwrap();
        let hottest_c = || Surroundings::new(root.path()).now().hottest_c;
        write(root.path(), "sys/class/hwmon/hwmon0/name", "nvme\n");
        write(root.path(), "sys/class/hwmon/hwmon0/temp1_input", "70000\n");
        assert_eq!(hottest_c(), None, "a disk's alone is not the machine's");
        write(root.path(), "sys/class/thermal/thermal_zone0/temp", "60000\n");
        assert_eq!(hottest_c(), Some(60.0));
        for (n, millidegrees) in [("1", "45250\n"), ("2", "48000\n")] {
            write(root.path(), &format!("sys/class/hwmon/hwmon{n}/name"), "k10temp\n");
            write(
                root.path(),
                &format!("sys/class/hwmon/hwmon{n}/temp1_input"),
                millidegrees,
            );
        }
        assert_eq!(hottest_c(), Some(48.0));
        write(root.path(), "sys/class/hwmon/hwmon2/temp1_input", "no number\n");
        assert_eq!(hottest_c(), Some(45.25), "one that cannot be read is left out");
        for (n, millidegrees) in [("2", "51000\n"), ("3", "52000\n")] {
            write(
                root.path(),
                &format!("sys/class/hwmon/hwmon2/temp{n}_input"),
                millidegrees,
            );
        }
        assert_eq!(
            hottest_c(),
            Some(52.0),
            "of its cores, where the processor as a whole has none"
        );
    }

    #[test]
    fn what_is_not_there_is_not_made_up() {
        let root = tempfile::tempdir().unwrap();
        let now = Surroundings::new(root.path()).now();
        assert_eq!(between(&now, &now, 1.0), Around::default());
    }

    #[test]
    fn this_machine_tells_its_cpu_time() {
        let now = Surroundings::new(Path::new("/")).now();
        assert!(now.cpu.unwrap().busy_s > 0.0);
    }
}
