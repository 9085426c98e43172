// SPDX-License-Identifier: GPL-2.0-only
//! Temperatures of cores on machines of several sockets: read every 10 s while the set of high CPUs is partial, for the policy's swaps (policy/sets/heat.h).

use crate::options::Options;
use lop_machine::live::{CoreSensors, Folder, LiveError, LiveMachine};
use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

const READ_EVERY: Duration = Duration::from_secs(10);

pub struct Heat {
    tree: Folder,
    /// Or why no temperature is read.
    sensors: Result<CoreSensors, LiveError>,
    /// When to read next; `None`: when the program reports that some task runs.
    next: Option<Instant>,
    /// When it was last due.
    last: Option<Instant>,
    /// Why the last reading failed.
    fault: Option<LiveError>,
}

impl Heat {
    /// `None` on a machine of one socket.
    pub fn of(options: &Options, machine: &LiveMachine) -> Option<Self> {
        (machine.nr_sockets > 1).then(|| Self::with(&options.root, machine))
    }

    fn with(root: &Path, machine: &LiveMachine) -> Self {
        let tree = Folder::new(root);
        Self {
            sensors: CoreSensors::find(&tree, machine),
            tree,
            next: None,
            last: None,
            fault: None,
        }
    }

    pub fn is_watched(&self) -> bool {
        self.sensors.is_ok()
    }

    /// A core above this is hot, in thousandths of a degree Celsius. Without a limit of its sensors no core is.
    pub fn hot_mc(&self) -> i32 {
        let limit_mc = self.sensors.as_ref().ok().and_then(|sensors| sensors.limit_mc);
        limit_mc.unwrap_or(i32::MAX)
    }

    pub fn due_in(&self, now: Instant) -> Option<Duration> {
        self.next.map(|next| next.saturating_duration_since(now))
    }

    /// To be called when the program reports that some task runs.
    pub fn wake(&mut self, now: Instant) {
        let soonest = self.last.map_or(now, |last| last + READ_EVERY);
        self.next.get_or_insert(soonest.max(now));
    }

    /// Takes what is due at `now`. Nothing is due any more until [`Self::wake`], so that a machine without work stays asleep.
    pub fn take_due(&mut self, now: Instant) {
        self.last = Some(now);
        self.next = None;
    }

    /// Temperatures by CPU, and a line for people if readings fail from now on. No CPU has one then.
    pub fn read(&mut self) -> (BTreeMap<u32, i32>, Option<String>) {
        let Ok(sensors) = &self.sensors else {
            return (BTreeMap::new(), None);
        };
        let (temperatures_mc, fault) = match sensors.read(&self.tree) {
            Ok(temperatures_mc) => (temperatures_mc, None),
            Err(error) => (BTreeMap::new(), Some(error)),
        };
        let is_new = self.fault.is_none();
        self.fault = fault;
        let new_fault = self.fault.as_ref().filter(|_| is_new);
        let line = new_fault
            .map(|error| format!("{error}; tried again every 10 s, and until then no CPUs are swapped for heat"));
        (temperatures_mc, line)
    }

    /// For people: whether heat is watched, or why not.
    pub fn describe(&self) -> String {
        match (&self.sensors, &self.fault) {
            (Err(error), _) => format!("not watched: {error}"),
            (Ok(_), Some(fault)) => format!("not watched now: {fault}"),
            (Ok(sensors), None) => {
                let limit = sensors
                    .limit_mc
                    .map_or(String::new(), |mc| format!(", hot above {} °C", f64::from(mc) / 1e3));
                format!("{} cores watched{limit}", sensors.count)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// Two sockets of two CPUs, each with a sensor, and limits of 90 and 100 degrees.
    fn machine() -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        let write = |path: String, text: &str| {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        for list in ["present", "online"] {
            write(format!("sys/devices/system/cpu/{list}"), "0-3\n");
        }
        for cpu in 0..4 {
            let topology = format!("sys/devices/system/cpu/cpu{cpu}/topology");
            write(format!("{topology}/physical_package_id"), &format!("{}\n", cpu / 2));
            write(format!("{topology}/core_id"), &format!("{}\n", cpu % 2));
        }
        for package in 0..2 {
            let device = format!("sys/class/hwmon/hwmon{package}");
            write(format!("{device}/name"), "coretemp\n");
            write(format!("{device}/temp1_label"), &format!("Package id {package}\n"));
            for core in 0..2 {
                let sensor = format!("{device}/temp{}", core + 2);
                write(format!("{sensor}_label"), &format!("Core {core}\n"));
                write(format!("{sensor}_input"), &format!("{}000\n", 40 + 10 * package + core));
                write(format!("{sensor}_max"), "90000\n");
                write(format!("{sensor}_crit"), "100000\n");
            }
        }
        root
    }

    fn heat(root: &Path) -> Option<Heat> {
        let options = Options {
            root: root.to_path_buf(),
            ..Options::default()
        };
        Heat::of(&options, &lop_machine::live::read(root).unwrap())
    }

    #[test]
    fn a_machine_of_several_sockets_is_watched_where_sensors_name_their_core() {
        let root = machine();
        let mut found = heat(root.path()).unwrap();
        assert!(found.is_watched());
        assert_eq!(found.hot_mc(), 90_000);
        assert_eq!(found.describe(), "4 cores watched, hot above 90 °C");
        let temperatures = [(0, 40_000), (1, 41_000), (2, 50_000), (3, 51_000)];
        assert_eq!(found.read(), (BTreeMap::from(temperatures), None));
        fs::remove_dir_all(root.path().join("sys/class")).unwrap();
        let without = heat(root.path()).unwrap();
        assert!(!without.is_watched());
        assert_eq!(without.hot_mc(), i32::MAX);
        assert!(
            without.describe().starts_with("not watched: "),
            "{}",
            without.describe()
        );
        for cpu in [2, 3] {
            let package = format!("sys/devices/system/cpu/cpu{cpu}/topology/physical_package_id");
            fs::write(root.path().join(package), "0\n").unwrap();
        }
        assert!(heat(root.path()).is_none(), "one socket");
    }

    #[test]
    fn a_reading_that_fails_is_reported_once_and_gives_no_cpu_a_temperature() {
        let root = machine();
        let mut found = heat(root.path()).unwrap();
        let input = root.path().join("sys/class/hwmon/hwmon1/temp3_input");
        fs::write(&input, "hot\n").unwrap();
        let (temperatures, line) = found.read();
        assert!(temperatures.is_empty());
        let line = line.unwrap();
        assert!(line.contains("hwmon1/temp3_input: found 'hot'"), "{line}");
        assert!(
            found.describe().starts_with("not watched now: "),
            "{}",
            found.describe()
        );
        assert_eq!(found.read(), (BTreeMap::new(), None));
        fs::write(&input, "51000\n").unwrap();
        assert_eq!(found.read().0.len(), 4);
        assert_eq!(found.describe(), "4 cores watched, hot above 90 °C");
    }

    /// Nothing is due before the program reports a task, and then ten seconds after the last reading or later.
    #[test]
    fn it_is_due_every_ten_seconds_while_tasks_run() {
        let root = machine();
        let mut found = heat(root.path()).unwrap();
        let begin = Instant::now();
        let after = |seconds| begin + Duration::from_secs(seconds);
        assert_eq!(found.due_in(begin), None);
        found.wake(begin);
        assert_eq!(found.due_in(begin), Some(Duration::ZERO));
        found.take_due(begin);
        assert_eq!(found.due_in(after(5)), None);
        found.wake(after(5));
        found.wake(after(6));
        assert_eq!(found.due_in(after(6)), Some(Duration::from_secs(4)));
        found.take_due(after(10));
        found.wake(after(100));
        assert_eq!(found.due_in(after(100)), Some(Duration::ZERO));
    }
}
