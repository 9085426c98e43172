// SPDX-License-Identifier: MIT OR Apache-2.0
//! Other services that place work or set speeds.

use super::{Finding, State};
use std::path::Path;

/// A service, and how to recognise it while it runs.
struct Rival {
    name: &'static str,
    sign: Sign,
    /// Which of a policy's jobs it does too.
    does: &'static str,
    unit: &'static str,
}

enum Sign {
    /// A process with this name, cut to the 15 characters that the kernel keeps.
    Process(&'static str),
    /// A process whose name begins like this, except for the loader of these schedulers.
    Scheduler(&'static str),
    /// A file or folder that it leaves behind: it sets everything once and exits.
    Left(&'static str),
}

const RIVALS: [Rival; 7] = [
    Rival {
        name: "a sched_ext scheduler",
        sign: Sign::Scheduler("scx_"),
        does: "the kernel has one at a time",
        unit: "scx.service",
    },
    Rival {
        name: LOADER,
        sign: Sign::Process(LOADER),
        does: "it attaches sched_ext schedulers, of which the kernel has one at a time",
        unit: "scx_loader.service",
    },
    Rival {
        name: "tuned",
        sign: Sign::Process("tuned"),
        does: "it sets governors and limits of frequency",
        unit: "tuned.service",
    },
    Rival {
        name: "power-profiles-daemon",
        sign: Sign::Process("power-profiles-"),
        does: "it sets energy preferences and the platform's profile",
        unit: "power-profiles-daemon.service",
    },
    Rival {
        name: "TLP",
        sign: Sign::Left("run/tlp"),
        does: "it sets governors, energy preferences and limits of frequency whenever the charger comes or goes",
        unit: "tlp.service",
    },
    Rival {
        name: "thermald",
        sign: Sign::Process("thermald"),
        does: "it limits frequencies while the machine is hot; stop it only where the firmware does that too",
        unit: "thermald.service",
    },
    Rival {
        name: "intel_lpmd",
        sign: Sign::Process("intel_lpmd"),
        does: "it keeps work on a few CPUs while there is little",
        unit: "intel_lpmd.service",
    },
];
const LOADER: &str = "scx_loader";

pub fn rivals(root: &Path) -> Finding {
    let processes = processes(root);
    let runs = |rival: &&Rival| match rival.sign {
        Sign::Process(name) => processes.iter().any(|process| process == name),
        Sign::Scheduler(start) => processes.iter().any(|name| name.starts_with(start) && name != LOADER),
        Sign::Left(path) => root.join(path).exists(),
    };
    let running: Vec<&Rival> = RIVALS.iter().filter(runs).collect();
    let finding = |state| Finding::new("rivals", "nobody else who places work or sets speeds", state);
    if running.is_empty() {
        return finding(State::Yes);
    }
    let told = |finding: Finding, rival: &&Rival| {
        finding
            .found(format!("{}: {}", rival.name, rival.does))
            .mend(format!("sudo systemctl stop {}", rival.unit))
    };
    running
        .iter()
        .fold(finding(State::Partly), told)
        .costs("what one sets the other changes: neither holds, and a comparison measures both")
}

/// Names of all processes, without those that end during the scan.
fn processes(root: &Path) -> Vec<String> {
    let folders = std::fs::read_dir(root.join("proc")).into_iter().flatten().flatten();
    let is_process = |name: &str| name.bytes().all(|byte| byte.is_ascii_digit());
    folders
        .filter(|folder| folder.file_name().to_str().is_some_and(is_process))
        .filter_map(|folder| std::fs::read_to_string(folder.path().join("comm")).ok())
        .map(|name| name.trim_end().to_string())
        .collect()
}
