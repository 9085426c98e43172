// SPDX-License-Identifier: MIT OR Apache-2.0
use super::*;
use proptest::prelude::*;

fn parameters(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs
        .iter()
        .map(|(name, value)| (name.to_string(), value.to_string()))
        .collect()
}

#[test]
fn places_are_filled_once_and_unknown_ones_stay() {
    let known = parameters(&[("n", "{m}"), ("m", "7"), ("nn", "9")]);
    assert_eq!(substitute("a{n} {m} {nn} {x} ${m} {", &known), "a{m} 7 9 {x} $7 {");
}

#[test]
fn lines_become_words_only_without_a_shell() {
    let words = CommandLine::of("echo 'a b' c", None).unwrap();
    assert_eq!(words.words(), ["echo", "a b", "c"]);
    assert_eq!(words.to_string(), "echo 'a b' c");
    let shell = CommandLine::of("echo $HOME | cat", Some("bash --norc")).unwrap();
    assert_eq!(shell.words(), ["bash", "--norc", "-c", "echo $HOME | cat"]);
    for (line, shell) in [("", None), (" ", Some("sh")), ("echo 'a", None)] {
        CommandLine::of(line, shell).unwrap_err();
    }
}

#[test]
fn scans_keep_their_decimals_and_meet_their_end() {
    let values = |low, high, step| Parameter::scan("x", low, high, step).unwrap().values;
    assert_eq!(values("0.1", "0.3", "0.1"), ["0.1", "0.2", "0.3"]);
    assert_eq!(values("1", "8", "3"), ["1", "4", "7"]);
    assert_eq!(values("2", "0", "-1"), ["2", "1", "0"]);
    for (low, high, step) in [("1", "2", "0"), ("2", "1", "1"), ("a", "2", "1"), ("0", "1", "1e-6")] {
        Parameter::scan("x", low, high, step).unwrap_err();
    }
}

#[test]
fn parameters_multiply() {
    let list = |name: &str, values: &[&str]| Parameter {
        name: name.to_string(),
        values: values.iter().map(ToString::to_string).collect(),
    };
    let all = combine(&[list("a", &["1", "2"]), list("b", &["x", "y"])]);
    let shown: Vec<String> = all.iter().map(|known| substitute("{a}{b}", known)).collect();
    assert_eq!(shown, ["1x", "1y", "2x", "2y"]);
    assert_eq!(combine(&[]).len(), 1);
}

#[test]
fn rounds_last_three_seconds_for_each_command_within_their_bounds() {
    let ms = Duration::from_millis;
    assert_eq!(Rounds::Exactly(7).count(ms(1), 1), 7);
    let between = |min, max| Rounds::Between { min, max };
    assert_eq!(between(10, None).count(ms(20), 1), 150);
    assert_eq!(between(10, None).count(ms(20 + 20), 2), 150);
    assert_eq!(
        between(10, None).count(ms(1 + 10_000), 2),
        10,
        "a short command beside a long one"
    );
    assert_eq!(between(10, None).count(ms(5000), 1), 10);
    assert_eq!(between(2, Some(50)).count(ms(20), 1), 50);
}

fn combination(policy: &str, unit: usize) -> Combination {
    Combination {
        policy: policy.into(),
        command: CommandLine::Words(vec!["true".into()]),
        name: "true".into(),
        parameters: BTreeMap::new(),
        unit,
        prepare: None,
        conclude: None,
        setup: None,
        cleanup: None,
    }
}

#[test]
fn policies_are_compared_within_a_command_and_commands_with_the_first() {
    let of = |units: &[usize], reference| {
        let combinations: Vec<_> = units.iter().map(|unit| combination("linux", *unit)).collect();
        baselines(&combinations, reference)
    };
    assert_eq!(of(&[0, 0, 1, 1], None), [0, 0, 2, 2]);
    assert_eq!(of(&[0, 1, 2], None), [0, 0, 0]);
    assert_eq!(of(&[0, 0], None), [0, 0]);
    assert_eq!(
        of(&[0, 0, 1, 1], Some(2)),
        [2; 4],
        "the chosen reference, across policies"
    );
}

proptest! {
    #[test]
    fn each_round_holds_every_combination_once(seed: u64, count in 1..20usize) {
        let (mut orders, mut again) = (Orders::new(seed, count), Orders::new(seed, count));
        for _ in 0..5 {
            let order = orders.next_round();
            prop_assert_eq!(&order, &again.next_round());
            let mut sorted = order;
            sorted.sort_unstable();
            prop_assert_eq!(sorted, (0..count).collect::<Vec<_>>());
        }
    }
}

/// Each of two combinations goes first about as often: 1,000 rounds, sd 15.8.
#[test]
fn nobody_always_goes_first() {
    let mut orders = Orders::new(42, 2);
    let first = (0..1000).filter(|_| orders.next_round()[0] == 0).count();
    assert!((435..=565).contains(&first), "{first}");
}
