// SPDX-License-Identifier: MIT OR Apache-2.0
//! Temperatures of cores in `/sys/class/hwmon`, where the driver coretemp names the core of a sensor (`Core N`) and its package (`Package id N`).
//! No other driver does: k10temp has sensors of dies, and does not name their CPUs.

use super::reader::{cpu_file, Reader};
use super::{LiveError, LiveMachine, Tree};
use std::collections::btree_map::Entry;
use std::collections::BTreeMap;
use std::ops::RangeInclusive;

const FOLDER: &str = "sys/class/hwmon";
const DRIVER: &str = "coretemp";
/// Of the sensor of a whole package, today and before Linux 5.
const PACKAGE_LABELS: [&str; 2] = ["Package id ", "Physical id "];
const CORE_LABEL: &str = "Core ";
/// Limits of a sensor: all fans should run above the first, and above the second the processor slows itself down.
const LIMITS: [&str; 2] = ["max", "crit"];
const POSSIBLE_MC: RangeInclusive<i64> = -100_000..=200_000;
/// Lower ones are no limits of a core, such as the 0 of a sensor that has none.
const POSSIBLE_LIMIT_MC: RangeInclusive<i64> = 1000..=200_000;
/// Some boards have -1, which no label has.
const IDS: RangeInclusive<i64> = -1..=u32::MAX as i64;

/// Numbers of a package and of a core in it, as the kernel has them.
type CoreId = (i64, i64);

/// The cores of a machine that may have sensors. Sensors come and go with the CPUs of their core, so each reading looks for them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CoreSensors {
    /// CPUs of each core.
    cpus: BTreeMap<CoreId, Vec<u32>>,
    /// Cores that have a sensor now.
    pub count: usize,
    /// A core above this is hot: the lowest limit of any sensor. `None`: no sensor has one.
    pub limit_mc: Option<i32>,
}

impl CoreSensors {
    /// # Errors
    /// No package has sensors of two cores, or a file holds something that the driver does not write. The error names the file.
    pub fn find(tree: &dyn Tree, machine: &LiveMachine) -> Result<Self, LiveError> {
        let mut reader = Reader::new(tree);
        let mut found = Self {
            cpus: cores(&mut reader, machine)?,
            count: 0,
            limit_mc: None,
        };
        let sensors = found.sensors(tree, &mut reader)?;
        let mut by_package = BTreeMap::<i64, usize>::new();
        sensors
            .keys()
            .for_each(|(package, _)| *by_package.entry(*package).or_default() += 1);
        if by_package.values().all(|&count| count < 2) {
            let message = format!("no package has sensors of two cores by the driver {DRIVER}, which alone names the core; 'modprobe {DRIVER}' loads it");
            return Err(LiveError::new(tree.shown(FOLDER), message));
        }
        found.count = sensors.len();
        for stem in sensors.values() {
            for limit in LIMITS {
                let file = format!("{stem}_{limit}");
                let limit_mc = reader.number(&file, POSSIBLE_LIMIT_MC, "thousandths of a degree")?;
                found.limit_mc = found.limit_mc.into_iter().chain(limit_mc.map(|mc| mc as i32)).min();
            }
        }
        Ok(found)
    }

    /// Thousandths of a degree Celsius by CPU. A CPU whose sensor cannot be read now is left out.
    ///
    /// # Errors
    /// A file holds something that the driver does not write; the error names it.
    pub fn read(&self, tree: &dyn Tree) -> Result<BTreeMap<u32, i32>, LiveError> {
        let mut reader = Reader::new(tree);
        let mut temperatures = BTreeMap::new();
        for (core, stem) in self.sensors(tree, &mut reader)? {
            let file = format!("{stem}_input");
            let Some(mc) = reader.number(&file, POSSIBLE_MC, "thousandths of a degree")? else {
                continue;
            };
            temperatures.extend(self.cpus[&core].iter().map(|&cpu| (cpu, mc as i32)));
        }
        Ok(temperatures)
    }

    /// The path of each core's sensor without `_input`.
    fn sensors(&self, tree: &dyn Tree, reader: &mut Reader) -> Result<BTreeMap<CoreId, String>, LiveError> {
        let mut sensors = BTreeMap::new();
        for device in tree.list(FOLDER) {
            let folder = format!("{FOLDER}/{device}");
            if reader.text(&format!("{folder}/name")).as_deref() == Some(DRIVER) {
                self.add_device(tree, reader, &folder, &mut sensors)?;
            }
        }
        Ok(sensors)
    }

    /// Sensors of cores that no CPU is known of are left out.
    fn add_device(
        &self,
        tree: &dyn Tree,
        reader: &mut Reader,
        folder: &str,
        sensors: &mut BTreeMap<CoreId, String>,
    ) -> Result<(), LiveError> {
        let labels = labels(tree, reader, folder);
        let package = self.package(reader, folder, &labels)?;
        for (stem, label) in labels {
            let file = format!("{stem}_label");
            let Some(number) = label.strip_prefix(CORE_LABEL) else {
                continue;
            };
            let core: u32 = number
                .parse()
                .map_err(|_| reader.unexpected(&file, &label, "'Core N'"))?;
            let core = (package, i64::from(core));
            if !self.cpus.contains_key(&core) {
                continue;
            }
            match sensors.entry(core) {
                Entry::Occupied(_) => return Err(reader.unexpected(&file, &label, "one sensor of each core")),
                Entry::Vacant(place) => place.insert(stem),
            };
        }
        Ok(())
    }

    /// The package of a device, by the label of its sensor of the whole package.
    fn package(&self, reader: &Reader, folder: &str, labels: &[(String, String)]) -> Result<i64, LiveError> {
        let of_package = |label: &str| {
            PACKAGE_LABELS
                .iter()
                .find_map(|prefix| Some(label.strip_prefix(prefix)?.to_string()))
        };
        let Some((stem, label, number)) = labels
            .iter()
            .find_map(|(stem, label)| Some((stem, label, of_package(label)?)))
        else {
            return Err(reader.unexpected(
                folder,
                "no label of a package",
                "'Package id N', by which the cores are found",
            ));
        };
        let package = number.parse().ok();
        package
            .filter(|package| self.cpus.keys().any(|(known, _)| known == package))
            .ok_or_else(|| {
                reader.unexpected(
                    &format!("{stem}_label"),
                    label,
                    "the number of a package of this machine",
                )
            })
    }
}

/// Online CPUs by package and core.
fn cores(reader: &mut Reader, machine: &LiveMachine) -> Result<BTreeMap<CoreId, Vec<u32>>, LiveError> {
    let mut cores: BTreeMap<CoreId, Vec<u32>> = BTreeMap::new();
    for cpu in machine.cpus.iter().filter(|cpu| cpu.online) {
        let file = cpu_file(cpu.number, "topology/core_id");
        let package = reader.number(
            &cpu_file(cpu.number, "topology/physical_package_id"),
            IDS,
            "the number of a package",
        )?;
        let core = reader.number(&file, IDS, "the number of a core")?;
        let Some(id) = package.zip(core) else { continue };
        let cpus = cores.entry(id).or_default();
        // Dies of a package may each count their cores from 0; then a label does not name one core.
        if cpus
            .first()
            .is_some_and(|&first| !machine.siblings(first).contains(&cpu.number))
        {
            let expected = "a number that no other core of the package has";
            return Err(reader.unexpected(&file, &id.1.to_string(), expected));
        }
        cpus.push(cpu.number);
    }
    Ok(cores)
}

/// The sensors of a device: the path without `_label`, and the label.
fn labels(tree: &dyn Tree, reader: &mut Reader, folder: &str) -> Vec<(String, String)> {
    let names = tree.list(folder);
    let stems = names.iter().filter_map(|name| name.strip_suffix("_label"));
    let paths = stems
        .filter(|stem| stem.starts_with("temp"))
        .map(|stem| format!("{folder}/{stem}"));
    paths
        .filter_map(|path| Some((path.clone(), reader.text(&format!("{path}_label"))?)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::{read_tree, TextTree};
    use super::*;

    /// Two packages of two cores of two CPUs: cores 0 and 3 of package 0 are CPUs 0, 4 and 1, 5; of package 1 CPUs 2, 6 and 3, 7.
    const CPUS: &str = "
[sys/devices/system/cpu]
present = 0-7
online = 0-7
cpu{0-3}/topology/core_cpus_list = {n},{n+4}
cpu{4-7}/topology/core_cpus_list = {n-4},{n}
cpu{0,1,4,5}/topology/physical_package_id = 0
cpu{2,3,6,7}/topology/physical_package_id = 1
cpu{0,2,4,6}/topology/core_id = 0
cpu{1,3,5,7}/topology/core_id = 3
";
    const SENSORS: &str = "
[sys/class/hwmon]
hwmon0/name = nvme
hwmon0/temp1_label = Core 0
hwmon{1-2}/name = coretemp
hwmon{1-2}/temp1_label = Package id {n-1}
hwmon{1-2}/temp1_input = 99000
hwmon{1-2}/temp{2,5}_max = 94000
hwmon{1-2}/temp{2,5}_crit = 104000
hwmon{1-2}/temp2_label = Core 0
hwmon{1-2}/temp5_label = Core 3
hwmon1/temp2_input = 61000
hwmon1/temp5_input = 40000
hwmon2/temp2_input = 45000
hwmon2/temp5_input = -5000
";

    fn tree(more: &str) -> TextTree {
        // Braces stand for one number in a path.
        let two = |text: &str| {
            let lines = text
                .lines()
                .flat_map(|line| match line.contains("hwmon{1-2}/temp{2,5}") {
                    true => ["2", "5"].map(|n| line.replace("{2,5}", n)).to_vec(),
                    false => vec![line.to_string()],
                });
            lines.collect::<Vec<_>>().join("\n")
        };
        TextTree::parse("t", &format!("{CPUS}{}\n{more}\n", two(SENSORS))).unwrap()
    }

    fn found(tree: &TextTree) -> Result<CoreSensors, LiveError> {
        CoreSensors::find(tree, &read_tree(tree).unwrap())
    }

    #[test]
    fn a_sensor_is_that_of_its_core_in_its_package() {
        let tree = tree("");
        let sensors = found(&tree).unwrap();
        assert_eq!((sensors.count, sensors.limit_mc), (4, Some(94_000)));
        let temperatures = sensors.read(&tree).unwrap();
        let expected = [61_000, 40_000, 45_000, -5000, 61_000, 40_000, 45_000, -5000];
        assert_eq!(temperatures.into_values().collect::<Vec<_>>(), expected);
    }

    /// The second core of package 1 has no sensor any more, and one of a core without CPUs has come.
    #[test]
    fn sensors_are_looked_for_at_each_reading() {
        let sensors = found(&tree("")).unwrap();
        let later = tree("hwmon2/temp5_label = Core 7\nhwmon1/temp2_label = Core 3\nhwmon1/temp5_label = Core 0");
        let temperatures = sensors.read(&later).unwrap();
        assert_eq!(
            temperatures.into_iter().collect::<Vec<_>>(),
            [
                (0, 40_000),
                (1, 61_000),
                (2, 45_000),
                (4, 40_000),
                (5, 61_000),
                (6, 45_000)
            ]
        );
    }

    #[test]
    fn of_two_limits_the_lower_counts_and_crit_alone_does_too() {
        let limit = |more: &str| found(&tree(more)).unwrap().limit_mc;
        assert_eq!(limit("hwmon2/temp5_crit = 91000"), Some(91_000));
        let without = TextTree::parse(
            "t",
            &format!("{CPUS}[sys/class/hwmon/hwmon1]\nname = coretemp\ntemp1_label = Physical id 0\ntemp2_label = Core 0\ntemp3_label = Core 3\n"),
        );
        assert_eq!(found(&without.unwrap()).unwrap().limit_mc, None);
    }

    #[test]
    fn anything_else_is_refused_with_file_and_reason() {
        for (more, file, reason) in [
            (
                "hwmon1/temp2_max = 0",
                "hwmon1/temp2_max",
                "found '0', expected thousandths of a degree from 1000",
            ),
            (
                "hwmon1/temp2_label = Core x",
                "hwmon1/temp2_label",
                "found 'Core x', expected 'Core N'",
            ),
            (
                "hwmon1/temp2_label = Core 3",
                "hwmon1/temp5_label",
                "found 'Core 3', expected one sensor of each core",
            ),
            (
                "hwmon2/temp1_label = Package id 0",
                "hwmon2/temp2_label",
                "expected one sensor of each core",
            ),
            (
                "hwmon2/temp1_label = Package id 2",
                "hwmon2/temp1_label",
                "a package of this machine",
            ),
            (
                "hwmon2/temp1_label = Composite",
                "hwmon2: ",
                "found 'no label of a package'",
            ),
            (
                "hwmon{1-2}/name = k10temp",
                "hwmon: ",
                "no package has sensors of two cores",
            ),
            (
                "[sys/devices/system/cpu]\ncpu1/topology/core_id = 0",
                "cpu1/topology/core_id",
                "no other core of the package",
            ),
        ] {
            let error = found(&tree(more)).unwrap_err().to_string();
            assert!(error.contains(file) && error.contains(reason), "{more}: {error}");
        }
        let sensors = found(&tree("")).unwrap();
        for wrong in ["hot", "200001", ""] {
            let error = sensors
                .read(&tree(&format!("hwmon2/temp5_input = {wrong}")))
                .unwrap_err();
            assert!(error.file.contains("hwmon2/temp5_input"), "{error}");
            assert!(error.message.contains(&format!("found '{wrong}'")), "{error}");
        }
    }

    /// A sensor that cannot be read now is a folder here.
    #[test]
    fn a_cpu_whose_sensor_cannot_be_read_has_no_temperature() {
        let folder = tempfile::tempdir().unwrap();
        for (path, text) in tree("").files() {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let sensors = found(&tree("")).unwrap();
        let input = folder.path().join("sys/class/hwmon/hwmon1/temp5_input");
        std::fs::remove_file(&input).unwrap();
        std::fs::create_dir(input).unwrap();
        let temperatures = sensors.read(&super::super::Folder::new(folder.path())).unwrap();
        assert_eq!(temperatures.into_keys().collect::<Vec<_>>(), [0, 2, 3, 4, 6, 7]);
    }
}
