// SPDX-License-Identifier: MIT OR Apache-2.0
//! Suggests the nearest known name for an unknown one.

/// The candidate most similar to `name`; `None`: none is similar.
pub fn nearest<'a>(name: &str, candidates: &[&'a str]) -> Option<&'a str> {
    // A longer word takes quadratic time and is not a misspelt name.
    if name.len() > 100 {
        return None;
    }
    let likeness = |candidate: &&'a str| strsim::jaro_winkler(name, candidate);
    candidates
        .iter()
        .map(|candidate| (likeness(candidate), *candidate))
        .filter(|(likeness, _)| *likeness > 0.75)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, candidate)| candidate)
}

/// `unknown WHAT 'NAME'` with the nearest known name.
pub fn unknown(what: &str, name: &str, known: &[&str]) -> String {
    let near = match nearest(name, known) {
        Some(near) => format!("; did you mean '{near}'?"),
        None => String::new(),
    };
    format!("unknown {what} '{name}'{near}")
}

/// As [`unknown`], where a file may be named as well.
pub fn unknown_or_path(what: &str, name: &str, known: &[&str]) -> String {
    format!(
        "{} (a file needs a slash or an extension: ./{name}.toml)",
        unknown(what, name, known)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelling_finds_its_name_and_nonsense_finds_none() {
        let known = ["phenom-9750", "i7-940", "laptop-hybrid"];
        assert_eq!(nearest("phenm-9750", &known), Some("phenom-9750"));
        assert_eq!(nearest("laptop", &known), Some("laptop-hybrid"));
        assert_eq!(nearest("zzz", &known), None);
        assert_eq!(nearest(&"x".repeat(5000), &known), None);
    }
}
