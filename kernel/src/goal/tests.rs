// SPDX-License-Identifier: GPL-2.0-only

use super::*;
use crate::options::PolicyName;
use rustix::event::{poll, PollFd, PollFlags};
use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;
use zbus::blocking::connection::Builder;
use zbus::blocking::Connection;

/// Longer than any machine needs; a test only waits this long if something is broken.
const PATIENCE: Duration = Duration::from_secs(120);

fn root() -> TempDir {
    tempfile::tempdir().unwrap()
}

fn supply(root: &TempDir, name: &str, files: &[(&str, &str)]) {
    let folder = root.path().join("sys/class/power_supply").join(name);
    fs::create_dir_all(&folder).unwrap();
    for (file, text) in files {
        fs::write(folder.join(file), format!("{text}\n")).unwrap();
    }
}

fn options(root: &TempDir, policy: PolicyName, goal: Option<Goal>) -> Options {
    Options {
        root: root.path().to_path_buf(),
        policy,
        goal,
        ..Options::default()
    }
}

fn aim(root: &TempDir) -> (Goal, String) {
    let aim = of_supply(root.path());
    (aim.goal, aim.why)
}

#[test]
fn a_battery_that_is_not_charged_asks_for_energy() {
    let (desktop, laptop, phone) = (root(), root(), root());
    assert_eq!(aim(&desktop), (Goal::Balanced, "no battery".into()));
    let mouse = [("type", "Battery"), ("scope", "Device"), ("status", "Discharging")];
    supply(&desktop, "hidpp_battery_0", &mouse);
    assert_eq!(aim(&desktop), (Goal::Balanced, "no battery".into()));

    let on_battery = (Goal::Energy, "on battery".to_string());
    let on_mains = (Goal::Balanced, "on mains".to_string());
    supply(&laptop, "BAT0", &[("type", "Battery"), ("status", "Discharging")]);
    supply(&laptop, "AC", &[("type", "Mains"), ("online", "0")]);
    supply(&laptop, "ucsi", &[("type", "USB"), ("online", "0")]);
    assert_eq!(aim(&laptop), on_battery);
    supply(&laptop, "ucsi", &[("online", "1")]);
    assert_eq!(aim(&laptop), on_mains, "charged through USB, if too little");
    supply(&laptop, "ucsi", &[("online", "0")]);
    supply(&laptop, "AC", &[("online", "1")]);
    assert_eq!(aim(&laptop), on_mains);

    supply(&phone, "battery", &[("type", "Battery"), ("status", "Discharging")]);
    assert_eq!(aim(&phone), on_battery, "of no charger is told");
    supply(&phone, "battery", &[("status", "Full")]);
    assert_eq!(aim(&phone), on_mains);
}

#[test]
fn what_was_asked_for_goes_before_what_is_followed() {
    let root = root();
    supply(&root, "BAT0", &[("type", "Battery"), ("status", "Discharging")]);
    let mut asked = Follower::begin(&options(&root, Named::Auto.into(), Some(Goal::Speed)));
    for (choice, goal, why) in [
        (None, Goal::Speed, "as asked for"),
        (Some(GoalChoice(None)), Goal::Energy, "auto: on battery"),
        (Some(GoalChoice(Some(Goal::Balanced))), Goal::Balanced, "as asked for"),
    ] {
        choice.into_iter().for_each(|choice| asked.choose(choice));
        let aim = asked.aim().unwrap();
        assert_eq!((aim.goal, aim.why.as_str()), (goal, why));
    }
    let other = Follower::begin(&options(&root, Named::Highlow.into(), None));
    assert_eq!((other.fds().count(), other.aim()), (0, None));
    let auto = Follower::begin(&options(&root, Named::Auto.into(), None));
    assert_eq!(auto.aim().unwrap().why, "auto: on battery");
}

/// A bus of its own below `root`, where the machine has its system's bus.
struct Bus {
    daemon: Child,
    address: String,
}

impl Bus {
    fn start(root: &TempDir) -> Self {
        let folder = root.path().join("run/dbus");
        fs::create_dir_all(&folder).unwrap();
        let address = format!("unix:path={}", folder.join("system_bus_socket").display());
        let mut daemon = Command::new("dbus-daemon")
            .args(["--session", "--nofork", "--print-address"])
            .arg(format!("--address={address}"))
            .stdout(Stdio::piped())
            .spawn()
            .expect("dbus-daemon is installed (scripts/need.sh dbus-daemon)");
        // It listens once it says so.
        let said = daemon.stdout.as_mut().unwrap().read(&mut [0; 1]).unwrap();
        assert_eq!(said, 1);
        Self { daemon, address }
    }

    fn service(&self, name: &'static str, path: &'static str, profile: &str) -> Connection {
        let active = profile.to_string();
        let service = Builder::address(self.address.as_str()).unwrap();
        let service = match name.starts_with("net") {
            true => service.serve_at(path, Old { active }).unwrap(),
            false => service.serve_at(path, New { active }).unwrap(),
        };
        service.name(name).unwrap().build().unwrap()
    }
}

impl Drop for Bus {
    fn drop(&mut self) {
        self.daemon.kill().unwrap();
        self.daemon.wait().unwrap();
    }
}

const OLD: (&str, &str) = ("net.hadess.PowerProfiles", "/net/hadess/PowerProfiles");
const NEW: (&str, &str) = (
    "org.freedesktop.UPower.PowerProfiles",
    "/org/freedesktop/UPower/PowerProfiles",
);

struct Old {
    active: String,
}

#[zbus::interface(name = "net.hadess.PowerProfiles")]
impl Old {
    #[zbus(property)]
    fn active_profile(&self) -> String {
        self.active.clone()
    }
    #[zbus(property)]
    fn set_active_profile(&mut self, profile: String) {
        self.active = profile;
    }
}

struct New {
    active: String,
}

#[zbus::interface(name = "org.freedesktop.UPower.PowerProfiles")]
impl New {
    #[zbus(property)]
    fn active_profile(&self) -> String {
        self.active.clone()
    }
}

/// As a desktop does it when the user chooses.
fn choose(bus: &Bus, profile: &str) {
    let user = Builder::address(bus.address.as_str()).unwrap().build().unwrap();
    let value = zbus::zvariant::Value::from(profile);
    let properties = Some("org.freedesktop.DBus.Properties");
    let set = user.call_method(Some(OLD.0), OLD.1, properties, "Set", &(OLD.0, "ActiveProfile", value));
    set.unwrap();
}

/// Sleeps as the scheduler does, until the goal is this one.
fn becomes(follower: &Follower, why: &str) -> Goal {
    let begun = Instant::now();
    loop {
        let aim = follower.aim().unwrap();
        if aim.why == why {
            return aim.goal;
        }
        assert!(begun.elapsed() < PATIENCE, "{aim:?}, expected {why}");
        let mut fds: Vec<_> = follower
            .fds()
            .map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN))
            .collect();
        let patience = PATIENCE.try_into().unwrap();
        poll(&mut fds, Some(&patience)).unwrap();
        follower.quiet();
    }
}

#[test]
fn the_profile_goes_before_mains_and_battery_and_is_followed() {
    let root = root();
    supply(&root, "BAT0", &[("type", "Battery"), ("status", "Discharging")]);
    let bus = Bus::start(&root);
    let old = bus.service(OLD.0, OLD.1, "balanced");
    let follower = Follower::begin(&options(&root, Named::Auto.into(), None));
    let now = follower.aim().unwrap();
    assert_eq!((now.goal, now.why.as_str()), (Goal::Balanced, "auto: profile balanced"));
    choose(&bus, "performance");
    assert_eq!(becomes(&follower, "auto: profile performance"), Goal::Speed);
    choose(&bus, "power-saver");
    assert_eq!(becomes(&follower, "auto: profile power-saver"), Goal::Energy);
    let new = bus.service(NEW.0, NEW.1, "performance");
    assert_eq!(becomes(&follower, "auto: profile performance"), Goal::Speed);
    drop(new);
    assert_eq!(becomes(&follower, "auto: profile power-saver"), Goal::Energy);
    choose(&bus, "custom");
    assert_eq!(becomes(&follower, "auto: on battery"), Goal::Energy);
    choose(&bus, "balanced");
    assert_eq!(becomes(&follower, "auto: profile balanced"), Goal::Balanced);
    drop(old);
    assert_eq!(becomes(&follower, "auto: on battery"), Goal::Energy);
}

#[test]
fn without_its_bus_mains_and_battery_decide() {
    let root = root();
    supply(&root, "BAT0", &[("type", "Battery"), ("status", "Discharging")]);
    let bus = Bus::start(&root);
    let _old = bus.service(OLD.0, OLD.1, "performance");
    let follower = Follower::begin(&options(&root, Named::Auto.into(), None));
    assert_eq!(follower.aim().unwrap().goal, Goal::Speed);
    drop(bus);
    assert_eq!(becomes(&follower, "auto: on battery"), Goal::Energy);
}
