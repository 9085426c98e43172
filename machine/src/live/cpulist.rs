// SPDX-License-Identifier: MIT OR Apache-2.0
//! Linux's list format: `0-3,8,10-11`.

use std::collections::BTreeSet;
use std::fmt::Write;

/// Linux is built for 8192 CPUs at most, and for fewer nodes.
const MAX_NUMBER: u32 = 8191;

/// Numbers of a list, ascending as Linux writes them; empty text is an empty list. `None`: not such a list.
pub fn parse(text: &str) -> Option<BTreeSet<u32>> {
    let mut numbers = BTreeSet::new();
    if text.is_empty() {
        return Some(numbers);
    }
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = (number(first)?, number(last)?);
        if first > last || numbers.last().is_some_and(|&before| before >= first) {
            return None;
        }
        numbers.extend(first..=last);
    }
    Some(numbers)
}

/// Numbers separated by blanks, as cpufreq writes its lists.
pub fn parse_blanks(text: &str) -> Option<BTreeSet<u32>> {
    text.split_ascii_whitespace().map(number).collect()
}

/// Digits only: no sign, no blank.
fn number(text: &str) -> Option<u32> {
    let digits = text.bytes().all(|b| b.is_ascii_digit());
    text.parse().ok().filter(|&n| digits && n <= MAX_NUMBER)
}

/// The shortest list of ascending numbers: `0-3,8`.
pub fn format(numbers: impl IntoIterator<Item = u32>) -> String {
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for n in numbers {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == n => *last = n,
            _ => ranges.push((n, n)),
        }
    }
    let mut text = String::new();
    for (first, last) in ranges {
        let comma = if text.is_empty() { "" } else { "," };
        // Writing to a String cannot fail.
        let _ = match first == last {
            true => write!(text, "{comma}{first}"),
            false => write!(text, "{comma}{first}-{last}"),
        };
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_read_and_written() {
        for (text, expected) in [
            ("", &[][..]),
            ("0", &[0]),
            ("0-3", &[0, 1, 2, 3]),
            ("0-3,8,10-11", &[0, 1, 2, 3, 8, 10, 11]),
            ("8191", &[8191]),
        ] {
            let numbers = parse(text).unwrap();
            assert_eq!(numbers.iter().copied().collect::<Vec<_>>(), expected, "{text}");
            assert_eq!(format(numbers), text);
        }
        assert_eq!(format([0, 1, 2, 4]), "0-2,4");
    }

    #[test]
    fn what_is_no_list_is_refused() {
        for text in [
            "a",
            "0-",
            "-3",
            "3-0",
            "0,",
            ",",
            "0--3",
            "0-3-5",
            "0 1",
            "+1",
            "0x1",
            "0:3",
            "8192",
            "4,1",
            "0-3,3",
            "0-4294967295",
            "99999999999",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }

    #[test]
    fn cpufreq_separates_by_blanks() {
        assert_eq!(format(parse_blanks("0 1 2 8").unwrap()), "0-2,8");
        assert_eq!(parse_blanks(" ").map(format), Some(String::new()));
        assert_eq!(parse_blanks("0-3"), None);
        assert_eq!(parse_blanks("0,1"), None);
    }
}
