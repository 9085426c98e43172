// SPDX-License-Identifier: MIT OR Apache-2.0
use super::fake::{acpi, active, kill, Fake, Policy};
use crate::speed::{restore::take_over, Speeds, Wish};
use proptest::prelude::*;

const CPUS: usize = 6;

#[derive(Debug, Clone)]
enum Step {
    Apply(usize, Wish),
    /// Only this many writes succeed during this call.
    Fail {
        cpu: usize,
        wish: Wish,
        writes: usize,
        killed: bool,
    },
    Restore,
    Kill,
    /// As `Kill`, with `lop restore` before the next start.
    KillAndRestore,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let wish = || prop_oneof![Just(Wish::High), Just(Wish::Low), Just(Wish::Released)];
    let step = prop_oneof![
        8 => (0..CPUS, wish()).prop_map(|(cpu, wish)| Step::Apply(cpu, wish)),
        2 => (0..CPUS, wish(), 0..4usize, any::<bool>())
            .prop_map(|(cpu, wish, writes, killed)| Step::Fail { cpu, wish, writes, killed }),
        1 => Just(Step::Restore),
        1 => Just(Step::Kill),
        1 => Just(Step::KillAndRestore),
    ];
    prop::collection::vec(step, 0..40)
}

/// Every mechanism, a shared clock, obstacles to idle states.
fn machine() -> Fake {
    let policies = [
        acpi(0, "0 1", "ondemand"),
        acpi(2, "2", "userspace"),
        active(3, "3", "intel_pstate", "powersave"),
        Policy {
            limits_khz: (1_400_000, 1_800_000),
            ..acpi(4, "4", "performance")
        },
        acpi(5, "5", "schedutil"),
    ];
    let fake = Fake::new(&policies, "0-5");
    fake.put_idle(1, "1", "n/a");
    fake.put_idle(5, "0", "50");
    fake
}

fn restore_by_hand(fake: &Fake) {
    take_over(fake, &fake.journal_path()).unwrap();
}

fn take(fake: &Fake, mut speeds: Speeds, step: &Step) -> Speeds {
    match *step {
        Step::Apply(cpu, wish) => speeds.apply(cpu, wish).unwrap(),
        Step::Fail {
            cpu,
            wish,
            writes,
            killed,
        } => {
            fake.writes();
            fake.die_after(writes);
            let _ = speeds.apply(cpu, wish);
            if killed {
                kill(speeds);
                fake.allow_all();
                return fake.open();
            }
            fake.allow_all();
        }
        Step::Restore => assert!(speeds.restore().is_empty()),
        Step::Kill => {
            kill(speeds);
            return fake.open();
        }
        Step::KillAndRestore => {
            kill(speeds);
            restore_by_hand(fake);
            return fake.open();
        }
    }
    speeds
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    /// Whatever is requested, fails or dies, in the end every byte is as before, and at no time did limits cross or a write precede
    /// its journal entry.
    #[test]
    fn every_story_ends_with_the_original_tree(steps in steps()) {
        let fake = machine();
        let before = fake.snapshot();
        let mut speeds = fake.open();
        for step in &steps {
            speeds = take(&fake, speeds, step);
        }
        drop(speeds);
        let changed: Vec<_> = fake.snapshot().into_iter().filter(|(path, text)| before.get(path) != Some(text)).collect();
        prop_assert_eq!(changed, []);
        prop_assert_eq!(fake.violations(), Vec::<String>::new());
        prop_assert!(!fake.journal_path().exists());
    }
}
