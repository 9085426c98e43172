// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reading TOML files: bounded in size, overridable by key, every error with file, line and key.

use crate::InputError;
use serde::de::DeserializeOwned;
use std::ops::Range;
use std::path::Path;
use toml_edit::{DocumentMut, Item, Table, Value};

/// Larger inputs are refused unread: no sensible input for `lop` comes near this size.
pub const MAX_INPUT_BYTES: u64 = 16 << 20;

/// One `--set KEY=VALUE`: a dotted key and a TOML value (a bare word counts as a string).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Override {
    pub key: String,
    pub value: String,
}

/// Contents of a file. Refused if it is missing, not a regular file, larger than [`MAX_INPUT_BYTES`] or not UTF-8.
pub fn read_text(path: &Path) -> Result<String, InputError> {
    let file = path.display().to_string();
    let about = std::fs::metadata(path).map_err(|e| InputError::new(&file, format!("cannot be read: {e}")))?;
    if !about.is_file() {
        return Err(InputError::new(&file, "expected a regular file"));
    }
    if about.len() > MAX_INPUT_BYTES {
        return Err(InputError::new(
            &file,
            format!("{} bytes, expected at most {MAX_INPUT_BYTES}", about.len()),
        ));
    }
    let bytes = std::fs::read(path).map_err(|e| InputError::new(&file, format!("cannot be read: {e}")))?;
    String::from_utf8(bytes).map_err(|e| {
        let at = e.utf8_error().valid_up_to();
        let line = e.as_bytes()[..at].iter().filter(|&&b| b == b'\n').count() + 1;
        InputError::new(&file, "expected UTF-8 text").at_line(line)
    })
}

/// Deserialises TOML. Errors of serde and of the parser get their line and key.
pub fn parse<T: DeserializeOwned>(file: &str, text: &str) -> Result<T, InputError> {
    if text.len() as u64 > MAX_INPUT_BYTES {
        return Err(InputError::new(
            file,
            format!("{} bytes, expected at most {MAX_INPUT_BYTES}", text.len()),
        ));
    }
    toml::from_str(text).map_err(|e| {
        let message = in_words(&e.message().replace('\n', "; "));
        match e.span() {
            Some(span) => error_at(file, text, span, message),
            None => InputError::new(file, message),
        }
    })
}

/// Replaces the names of Rust's types, which mean nothing to the author of a TOML file.
fn in_words(message: &str) -> String {
    const WORDS: [(&str, &str); 9] = [
        ("expected f64", "expected a number"),
        ("expected i64", "expected a whole number"),
        ("expected u64", "expected a whole number from 0"),
        ("expected u32", "expected a whole number from 0"),
        ("expected u16", "expected a whole number from 0"),
        ("expected usize", "expected a whole number from 0"),
        ("expected a sequence", "expected a list"),
        ("expected a map", "expected a table"),
        ("expected struct", "expected a table of"),
    ];
    WORDS
        .iter()
        .fold(message.to_string(), |text, (rust, word)| text.replace(rust, word))
}

/// An error about a span of `text` (as `toml::Spanned` gives it), with the line and the key found there.
pub fn error_at(file: &str, text: &str, span: Range<usize>, message: impl Into<String>) -> InputError {
    let line = InputError::line_of(text, span.start);
    let error = InputError::new(file, message).at_line(line);
    match key_at_line(text, line) {
        Some(key) => error.key(key),
        None => error,
    }
}

/// Dotted key that `line` (1-based) assigns or opens: the last table header above it and what stands left of `=`.
fn key_at_line(text: &str, line: usize) -> Option<String> {
    let header_of = |l: &str| {
        let l = l.trim();
        (l.starts_with('[') && l.ends_with(']') && !l.contains('='))
            .then(|| l.trim_matches(|c| c == '[' || c == ']').trim().to_string())
            .filter(|h| !h.is_empty() && !h.contains([',', '{', '"']))
    };
    let lines: Vec<&str> = text.lines().take(line).collect();
    let here = lines.get(line - 1)?;
    if let Some(header) = header_of(here) {
        return Some(header);
    }
    let name = here
        .split_once('=')
        .map(|(left, _)| left.trim().trim_start_matches('{').trim().to_string());
    let name = name.filter(|n| !n.is_empty() && !n.starts_with('#'))?;
    let header = lines[..line - 1].iter().rev().find_map(|l| header_of(l));
    Some(match header {
        Some(header) => format!("{header}.{name}"),
        None => name,
    })
}

/// Applies overrides to a TOML text. Keys are dotted paths; a number selects an element of an array (of tables).
/// A key may be new; an unknown one is rejected later, by the reader of the file.
///
/// # Errors
/// The text is not TOML, or a path leads through something that is not a table.
pub fn apply_overrides(file: &str, text: &str, overrides: &[Override]) -> Result<String, InputError> {
    if overrides.is_empty() {
        return Ok(text.to_string());
    }
    let mut document: DocumentMut = text.parse().map_err(|e: toml_edit::TomlError| {
        let message = e.message().to_string();
        match e.span() {
            Some(span) => error_at(file, text, span, message),
            None => InputError::new(file, message),
        }
    })?;
    for change in overrides {
        set_path(document.as_item_mut(), &change.key, &change.value)
            .map_err(|message| InputError::new("--set", message).key(&change.key))?;
    }
    Ok(document.to_string())
}

fn set_path(root: &mut Item, key: &str, value: &str) -> Result<(), String> {
    let (path, last) = match key.rsplit_once('.') {
        Some((path, last)) => (path.split('.').collect(), last),
        None => (Vec::new(), key),
    };
    if last.is_empty() {
        return Err("expected a dotted key".into());
    }
    let mut item = root;
    for part in path {
        item = descend(item, part)?;
    }
    let new = Item::Value(parse_value(value));
    if let (Ok(index), Some(array)) = (last.parse::<usize>(), item.as_array_mut()) {
        let slot = array.get_mut(index).ok_or_else(|| format!("no element {index}"))?;
        *slot = parse_value(value);
        return Ok(());
    }
    let table = item
        .as_table_like_mut()
        .ok_or_else(|| format!("'{last}' is inside something that is not a table"))?;
    table.insert(last, new);
    Ok(())
}

fn descend<'a>(item: &'a mut Item, part: &str) -> Result<&'a mut Item, String> {
    if let Ok(index) = part.parse::<usize>() {
        if item.is_array_of_tables() || item.is_array() {
            return item.get_mut(index).ok_or_else(|| format!("no element {index}"));
        }
    }
    let table = item
        .as_table_like_mut()
        .ok_or_else(|| format!("'{part}' is inside something that is not a table"))?;
    if !table.contains_key(part) {
        table.insert(part, Item::Table(Table::new()));
    }
    table.get_mut(part).ok_or_else(|| format!("no key '{part}'"))
}

fn parse_value(value: &str) -> Value {
    value.parse().unwrap_or_else(|_| Value::from(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, serde::Deserialize, PartialEq)]
    #[serde(deny_unknown_fields)]
    struct Small {
        a: Inner,
        list: Vec<Inner>,
    }
    #[derive(Debug, serde::Deserialize, PartialEq)]
    #[serde(deny_unknown_fields)]
    struct Inner {
        b: u32,
    }
    const TEXT: &str = "[a]\nb = 1\n\n[[list]]\nb = 2\n";

    #[test]
    fn wrong_type_is_reported_with_line_and_key() {
        let e = parse::<Small>("f.toml", "[a]\nb = 'x'\n").unwrap_err();
        assert_eq!((e.line, e.key.as_deref()), (Some(2), Some("a.b")), "{e}");
    }

    #[test]
    fn unknown_key_is_reported_with_its_line() {
        let e = parse::<Small>("f.toml", "[a]\nb = 1\nc = 2\n").unwrap_err();
        assert_eq!(e.line, Some(3), "{e}");
        assert!(e.message.contains("unknown field `c`"), "{e}");
    }

    #[test]
    fn overrides_reach_tables_and_elements() {
        let set = |key: &str, value: &str| Override {
            key: key.into(),
            value: value.into(),
        };
        let text = apply_overrides("f.toml", TEXT, &[set("a.b", "7"), set("list.0.b", "9")]).unwrap();
        let small: Small = parse("f.toml", &text).unwrap();
        assert_eq!(
            small,
            Small {
                a: Inner { b: 7 },
                list: vec![Inner { b: 9 }]
            }
        );
    }

    #[test]
    fn override_through_a_number_is_refused() {
        let e = apply_overrides(
            "f.toml",
            TEXT,
            &[Override {
                key: "a.b.c".into(),
                value: "1".into(),
            }],
        )
        .unwrap_err();
        assert_eq!(e.key.as_deref(), Some("a.b.c"));
    }

    #[test]
    fn too_large_a_text_is_refused() {
        let big = " ".repeat(MAX_INPUT_BYTES as usize + 1);
        assert!(parse::<Small>("f.toml", &big)
            .unwrap_err()
            .message
            .contains("expected at most"));
    }
}
