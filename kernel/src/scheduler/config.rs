// SPDX-License-Identifier: GPL-2.0-only
//! The policy's configuration for the user's options on this machine, and what follows from it for the loader.

use crate::options::Options;
use lop_machine::costs::{self, Watts};
use lop_machine::live::LiveMachine;
use lop_policy::{default_hold_ns, rules, Config, Domains, Goal, GreenWork, RESERVE_SPEEDS};
use std::time::Duration;

/// What it costs a running task to move, including cold caches (our estimate).
const MIGRATION_NS: u64 = 20_000;
/// Steps of the reserved core's speed from that of low CPUs to that of high ones, where any speed can be set.
const RESERVE_RAISES: u32 = 4;

/// The speeds that can be set.
#[derive(Debug, Clone, Copy)]
pub struct SpeedRange {
    /// Any speed between the lowest and the highest.
    pub any_speed: bool,
    /// The lowest speed of the slowest kind, of its highest, x 1000; 0: not known.
    pub lowest_permille: u16,
}

/// The number of steps of the reserved core's speed, and its speed after each, of the highest, x 1000: four equal steps, or one if no speed between the
/// lowest and the highest can be set.
///
/// speed(step) = lowest + (1000 - lowest) * step / steps
fn reserved_speeds(range: SpeedRange) -> (u32, [u16; RESERVE_SPEEDS]) {
    let lowest = u32::from(range.lowest_permille.min(1000));
    let raises = if range.any_speed && lowest > 0 {
        RESERVE_RAISES
    } else {
        1
    };
    let mut permille = [0; RESERVE_SPEEDS];
    for (step, speed) in (0..=raises).zip(&mut permille) {
        *speed = (lowest + (1000 - lowest) * step / raises) as u16;
    }
    (raises, permille)
}

/// No core counts as hot here, which only sensors know.
pub fn of(options: &Options, machine: &LiveMachine, watts: &Watts, range: SpeedRange) -> Config {
    let ns = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
    let hold_ns = options.hold.map_or(default_hold_ns(machine.transition_ns), ns);
    let (policy, goal) = (options.policy.policy, options.goal.unwrap_or_default());
    let chosen = match &watts.machine {
        Some(known) if watts.are_measured => costs::config(policy, goal, hold_ns, known),
        Some(known) => costs::config_of_guess(policy, goal, hold_ns, known),
        None => Config::on_unmeasured(
            policy,
            goal,
            hold_ns,
            machine.nr_memory_domains,
            machine.nr_tiers,
            machine.threads(),
        ),
    };
    let chosen = match &watts.machine {
        Some(known) if !range.any_speed => costs::without_speeds(chosen, known),
        _ => chosen,
    };
    let (reserve_raises, reserve_permille) = reserved_speeds(range);
    Config {
        nr_cpus: machine.cpus.len() as u32,
        fixed_size: options.policy.cores,
        spare: options.spare.unwrap_or(chosen.spare),
        most_high: options.max_high.unwrap_or(0),
        light: chosen.light && options.max_high.is_none(),
        green: match chosen.green {
            GreenWork::Paced => GreenWork::Paced,
            _ => GreenWork::None,
        },
        hot_mc: i32::MAX,
        transition_ns: machine.transition_ns,
        migration_ns: MIGRATION_NS,
        reserve: options.reserve(),
        reserve_raises,
        reserve_permille,
        ..chosen
    }
}

/// For people: in what the configuration differs from that of goal balanced.
pub fn effects(options: &Options, machine: &LiveMachine, watts: &Watts, range: SpeedRange) -> Vec<String> {
    let balanced = Options {
        goal: Some(Goal::Balanced),
        ..options.clone()
    };
    let [was, is] = [&balanced, options].map(|options| of(options, machine, watts, range));
    let mut effects = Vec::new();
    if is.spare != was.spare {
        effects.push(format!("spare {}", is.spare));
    }
    if is.last_hold_ns != was.last_hold_ns {
        let ms = |ns: u64| ns as f64 / 1e6;
        effects.push(format!(
            "the last CPU stays high for {:.1} ms ({:.1} if balanced)",
            ms(is.last_hold_ns),
            ms(was.last_hold_ns)
        ));
    }
    if is.domains != was.domains {
        effects.push("no memory domain is switched off".to_string());
    }
    effects
}

/// For people: who gets the fast cores and whole cores, then which plans move threads.
pub fn rules_for_people(config: &Config) -> Vec<String> {
    let named = |rules: &[(u32, &str)]| {
        let in_force = rules.iter().filter(|(rule, _)| config.rules & rule != 0);
        in_force.map(|(_, name)| *name).collect::<Vec<_>>().join(", ")
    };
    let ranks = named(&[
        (rules::PHASES, "sequential phases"),
        (rules::LONGEST, "most work left"),
        (rules::SPEEDUP, "most gain"),
        (rules::TURNS, "in turn"),
    ]);
    let domains = match config.domains {
        Domains::Spread => "intensive threads apart over memory domains",
        Domains::Gather => "threads on as few memory domains as pays",
        Domains::AsCome => "",
    };
    let fast = match ranks.is_empty() {
        true => String::new(),
        false => format!("fast cores: {ranks}"),
    };
    let whole = match config.rules & rules::WHOLE {
        0 => "",
        _ => "a whole core before a share of one",
    };
    let paced = match config.green {
        GreenWork::Paced if config.light => "light work where energy-aware scheduling would put it",
        GreenWork::Paced => "work that a clock paces where and as fast as costs least",
        _ => "",
    };
    let rules = [fast.as_str(), whole, domains, paced];
    rules
        .into_iter()
        .filter(|rule| !rule.is_empty())
        .map(str::to_string)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use lop_machine::Machine;
    use lop_policy::{Named, Sizing};
    use rules::{LONGEST, PHASES, SPEEDUP, TURNS, WHOLE};

    const ANY: SpeedRange = SpeedRange {
        any_speed: true,
        lowest_permille: 400,
    };

    fn machine(nr_memory_domains: u16, nr_tiers: u16, threads: u16) -> LiveMachine {
        let root = tempfile::tempdir().unwrap();
        let cpus = root.path().join("sys/devices/system/cpu");
        std::fs::create_dir_all(&cpus).unwrap();
        std::fs::write(cpus.join("present"), "0-1\n").unwrap();
        std::fs::write(cpus.join("online"), "0-1\n").unwrap();
        let mut machine = lop_machine::live::read(root.path()).unwrap();
        (machine.nr_memory_domains, machine.nr_tiers) = (nr_memory_domains, nr_tiers);
        machine.cpus[1].core = machine.cpus[0].core + u16::from(threads == 1);
        machine
    }

    fn watts(machine: Option<Machine>, are_measured: bool) -> Watts {
        Watts {
            machine,
            are_measured,
            source: String::new(),
        }
    }

    fn hold_and_last_hold_ms(hold_ms: Option<u64>, transition_us: u64) -> (u64, u64) {
        let mut machine = machine(1, 1, 1);
        machine.transition_ns = transition_us * 1000;
        let options = Options {
            hold: hold_ms.map(Duration::from_millis),
            ..Options::default()
        };
        let config = of(&options, &machine, &watts(None, false), ANY);
        (config.hold_ns / 1_000_000, config.last_hold_ns / 1_000_000)
    }

    /// 600 thousandths in four steps of 150. In one step where only the lowest and the highest speed can be set, or the lowest is not known.
    #[test]
    fn the_reserved_core_has_as_many_speeds_as_can_be_set() {
        for (any_speed, lowest_permille, expected) in [
            (true, 400, [400, 550, 700, 850, 1000].as_slice()),
            (false, 400, &[400, 1000]),
            (true, 0, &[0, 1000]),
            (true, 1000, &[1000; 5]),
        ] {
            let range = SpeedRange {
                any_speed,
                lowest_permille,
            };
            let config = of(&Options::default(), &machine(1, 1, 1), &watts(None, false), range);
            let speeds = &config.reserve_permille[..=config.reserve_raises as usize];
            assert_eq!(speeds, expected, "{range:?}");
        }
    }

    /// 100 transitions of 500 us are 50 ms. The user's setting takes precedence, and the last member stays at least as long.
    #[test]
    fn a_hold_that_was_asked_for_goes_before_the_default() {
        assert_eq!(hold_and_last_hold_ms(None, 0), (10, 1000));
        assert_eq!(hold_and_last_hold_ms(None, 500), (50, 1000));
        assert_eq!(hold_and_last_hold_ms(Some(20), 500), (20, 1000));
        assert_eq!(hold_and_last_hold_ms(Some(3000), 500), (3000, 3000));
    }

    /// With the watts of a machine the kernel's `auto` has the simulator's rules.
    #[test]
    fn with_watts_auto_has_the_rules_that_the_simulator_shows() {
        for name in lop_machine::builtin_names() {
            let model = lop_machine::load(name, &[]).unwrap();
            let found = of(
                &Options::default(),
                &machine(1, 1, 1),
                &watts(Some(model.clone()), true),
                ANY,
            );
            let simulated = costs::config(Named::Auto, Goal::Balanced, found.hold_ns, &model);
            let expected = Config {
                nr_cpus: 2,
                transition_ns: found.transition_ns,
                hot_mc: i32::MAX,
                migration_ns: MIGRATION_NS,
                reserve_raises: found.reserve_raises,
                reserve_permille: found.reserve_permille,
                ..simulated
            };
            assert_eq!(found, expected, "{name}");
        }
    }

    /// By measured watts a domain is switched off where that pays. By others it stays on, unless `gather` was asked for; a core that is kept high costs what
    /// it costs.
    #[test]
    fn no_domain_is_off_by_watts_that_nobody_measured() {
        let model = lop_machine::load("server-2x64", &[]).unwrap();
        let chosen = |policy: Named, are_measured| {
            let options = Options {
                policy: policy.into(),
                ..Options::default()
            };
            of(
                &options,
                &machine(1, 1, 1),
                &watts(Some(model.clone()), are_measured),
                ANY,
            )
        };
        let (measured, guessed) = (chosen(Named::Auto, true), chosen(Named::Auto, false));
        assert_eq!((measured.domains, guessed.domains), (Domains::Gather, Domains::Spread));
        assert_eq!(
            Config {
                domains: Domains::Gather,
                ..guessed
            },
            measured
        );
        assert_eq!(chosen(Named::Gather, false), chosen(Named::Gather, true));
    }

    /// On a machine of two memory domains whose watts are not known the goal decides by name; on the laptop's model by its watts, but for the spare, which
    /// does not pay there for balanced either.
    #[test]
    fn what_the_goal_changes_is_told() {
        let told = |goal, measured: Option<&str>| {
            let options = Options {
                goal: Some(goal),
                ..Options::default()
            };
            let model = measured.map(|name| lop_machine::load(name, &[]).unwrap());
            effects(&options, &machine(2, 1, 1), &watts(model, true), ANY)
        };
        for measured in [None, Some("laptop-hybrid")] {
            assert_eq!(told(Goal::Balanced, measured), [""; 0]);
        }
        assert_eq!(
            told(Goal::Energy, None),
            ["spare 0", "the last CPU stays high for 10.0 ms (1000.0 if balanced)"]
        );
        assert_eq!(told(Goal::Speed, None), [""; 0]);
        let speed = told(Goal::Speed, Some("laptop-hybrid"));
        assert!(
            speed[0] == "spare 1" && speed[1].starts_with("the last CPU stays high for 1000.0 ms ("),
            "{speed:?}"
        );
        let energy = told(Goal::Energy, Some("laptop-hybrid"));
        assert!(
            energy.len() == 1 && energy[0].starts_with("the last CPU stays high for "),
            "{energy:?}"
        );
        let server = told(Goal::Speed, Some("opteron-8350-x4"));
        assert!(
            server.contains(&"no memory domain is switched off".to_string()),
            "{server:?}"
        );
    }

    /// What each name stands for, and what auto leaves out if there is no choice (policy/core/config.h, policy/core/auto.h). Without watts of the
    /// machine, the spare stays and no domain is switched off.
    #[test]
    fn policies_stand_for_their_rules() {
        use Domains::{AsCome, Gather, Spread};
        let all = PHASES | LONGEST | SPEEDUP | TURNS;
        for (policy, nr_domains, nr_tiers, threads, rules, domains, spare) in [
            (Named::SimpleSets, 2, 2, 1, 0, AsCome, 0),
            (Named::Highlow, 2, 2, 1, 0, AsCome, 0),
            (Named::HighlowSpare, 2, 2, 1, 0, AsCome, 1),
            (Named::ReservedCore, 2, 2, 1, 0, AsCome, 0),
            (Named::Phase, 2, 2, 1, PHASES | TURNS, AsCome, 0),
            (Named::LongestFirst, 2, 2, 1, LONGEST, AsCome, 0),
            (Named::FairShare, 2, 2, 1, TURNS, AsCome, 0),
            (Named::Specialise, 2, 2, 1, SPEEDUP | TURNS, AsCome, 0),
            (Named::Spread, 2, 2, 1, 0, Spread, 0),
            (Named::Gather, 2, 2, 1, 0, Gather, 0),
            (Named::Auto, 1, 1, 1, 0, AsCome, 1),
            (Named::Auto, 2, 1, 1, 0, Spread, 1),
            (Named::Auto, 1, 2, 1, all, AsCome, 1),
            (Named::Auto, 2, 2, 1, all, Spread, 1),
            (Named::Auto, 1, 1, 2, WHOLE, AsCome, 1),
            (Named::Auto, 1, 2, 2, all | WHOLE, AsCome, 1),
        ] {
            let options = Options {
                policy: policy.into(),
                ..Options::default()
            };
            let found = of(
                &options,
                &machine(nr_domains, nr_tiers, threads),
                &watts(None, false),
                ANY,
            );
            assert_eq!(
                (found.rules, found.domains, found.spare),
                (rules, domains, spare),
                "{policy:?} with {nr_domains} memory domains, {nr_tiers} kinds and {threads} threads of a core"
            );
            assert_eq!(found.only_known, policy == Named::Auto, "{policy:?}");
            let sizing = match policy {
                Named::SimpleSets => Sizing::Fixed,
                Named::ReservedCore => Sizing::All,
                _ => Sizing::ByDemand,
            };
            assert_eq!(found.sizing, sizing, "{policy:?}");
            assert_eq!(found.green, GreenWork::None, "{policy:?}: by watts alone");
            assert_eq!(found.room, policy == Named::Auto, "{policy:?}");
        }
    }
}
