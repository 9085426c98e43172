// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whatever is done to a good file, readers return a value or an error, and an accepted machine can be drawn.

use lop_machine::input::Override;
use lop_machine::{builtin_fit_names, builtin_fit_text, builtin_names, builtin_text, draw, fit, load, read, MAX_CPUS};
use proptest::prelude::*;
use proptest::sample::Index;

/// Numbers and fragments that break careless readers.
const FRAGMENTS: [&str; 17] = [
    "0",
    "-1",
    "1e308",
    "-1e-308",
    "nan",
    "inf",
    "9223372036854775807",
    "99999999999999999999",
    "513",
    "\"\"",
    "[",
    "]]",
    "{ }",
    "\n[[kind]]\n",
    "= = =",
    "\nmax_mhz = [2000, 1e3]\n",
    "\"\\u0000\"",
];

#[derive(Debug, Clone)]
enum Mutation {
    /// Swap the value of a key for a fragment.
    Value(Index, Index),
    DropLine(Index),
    RepeatLine(Index),
    Insert(Index, Index),
    Truncate(Index),
}

fn mutation() -> impl Strategy<Value = Mutation> {
    prop_oneof![
        4 => (any::<Index>(), any::<Index>()).prop_map(|(at, with)| Mutation::Value(at, with)),
        1 => any::<Index>().prop_map(Mutation::DropLine),
        1 => any::<Index>().prop_map(Mutation::RepeatLine),
        1 => (any::<Index>(), any::<Index>()).prop_map(|(at, with)| Mutation::Insert(at, with)),
        1 => any::<Index>().prop_map(Mutation::Truncate),
    ]
}

/// Keys that exist, lead nowhere or are malformed.
fn override_key() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        Just("kind"),
        Just("0"),
        Just("7"),
        Just("opp"),
        Just("idle"),
        Just("mhz"),
        Just("cpufreq"),
        Just("transition_us"),
        Just("memory"),
        Just("bandwidth_mb_s"),
        Just("sockets"),
        Just("max_mhz"),
        Just("notes"),
        Just(""),
        Just("\"=[ "),
    ];
    prop::collection::vec(part, 1..6).prop_map(|parts| parts.join("."))
}

fn mutated(text: &str, mutation: &Mutation) -> String {
    let mut lines: Vec<String> = text.lines().map(str::to_string).collect();
    if lines.is_empty() {
        return String::new();
    }
    match mutation {
        Mutation::Value(at, with) => {
            let starts: Vec<usize> = text.match_indices("= ").map(|(i, _)| i + 2).collect();
            if starts.is_empty() {
                return text.to_string();
            }
            let start = starts[at.index(starts.len())];
            let end = text[start..]
                .find([',', '}', '\n'])
                .map_or(text.len(), |length| start + length);
            return format!(
                "{}{}{}",
                &text[..start],
                FRAGMENTS[with.index(FRAGMENTS.len())],
                &text[end..]
            );
        }
        Mutation::DropLine(at) => {
            lines.remove(at.index(lines.len()));
        }
        Mutation::RepeatLine(at) => {
            let line = lines[at.index(lines.len())].clone();
            lines.insert(at.index(lines.len()), line);
        }
        Mutation::Insert(at, with) => {
            lines.insert(
                at.index(lines.len()),
                FRAGMENTS[with.index(FRAGMENTS.len())].to_string(),
            );
        }
        Mutation::Truncate(at) => lines.truncate(at.index(lines.len())),
    }
    lines.join("\n")
}

/// The built-in machines, and one whose cores are held at different frequencies.
fn machines() -> Vec<String> {
    let held = include_str!("../../fuzz/seeds/machine_toml/held.toml");
    let built_in = builtin_names().into_iter().filter_map(builtin_text);
    built_in.chain([held]).map(String::from).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn machines_are_read_or_refused(
        which in any::<Index>(),
        mutations in prop::collection::vec(mutation(), 1..4),
    ) {
        let texts = machines();
        let text = texts[which.index(texts.len())].clone();
        let text = mutations.iter().fold(text, |text, m| mutated(&text, m));
        match read("mutated.toml", &text) {
            Ok(machine) => {
                prop_assert!((1..=MAX_CPUS).contains(&machine.cpus.len()));
                let drawn = draw(&machine);
                prop_assert!(drawn.lines().all(|line| line.chars().count() <= 100), "{}", drawn);
            }
            Err(error) => prop_assert!(!error.message.is_empty() && error.file == "mutated.toml"),
        }
    }

    #[test]
    fn fits_are_solved_or_refused(
        which in any::<Index>(),
        mutations in prop::collection::vec(mutation(), 1..4),
    ) {
        let names = builtin_fit_names();
        let text = builtin_fit_text(names[which.index(names.len())]).unwrap();
        let text = mutations.iter().fold(text.to_string(), |text, m| mutated(&text, m));
        match fit("mutated.toml", &text) {
            Ok(fit) => prop_assert!(fit.parameters.iter().all(|p| p.watts.is_finite()), "{}", fit),
            Err(error) => prop_assert!(!error.message.is_empty()),
        }
    }

    #[test]
    fn overrides_are_applied_or_refused(
        which in any::<Index>(),
        keys in prop::collection::vec(override_key(), 1..3),
        value in any::<Index>(),
    ) {
        let names = builtin_names();
        let value = FRAGMENTS[value.index(FRAGMENTS.len())].to_string();
        let change = |key: &String| Override { key: key.clone(), value: value.clone() };
        let changes: Vec<Override> = keys.iter().map(change).collect();
        if let Err(error) = load(names[which.index(names.len())], &changes) {
            prop_assert!(!error.message.is_empty());
        }
    }

    #[test]
    fn any_text_is_refused_politely(text in "\\PC{0,200}") {
        prop_assert!(read("any.toml", &text).is_err());
        prop_assert!(fit("any.toml", &text).is_err());
    }
}
