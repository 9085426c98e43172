// SPDX-License-Identifier: MIT OR Apache-2.0
//! The value of a closed form: numbers, + - * / and parentheses.

/// Evaluates `text`, such as "16 / (8 + 8 * 1.7)".
///
/// # Errors
/// Text that is no such arithmetic, or whose value is not finite.
pub(super) fn value(text: &str) -> Result<f64, String> {
    let mut rest = text;
    let value = sum(&mut rest, 0)?;
    match rest.trim_start() {
        "" if value.is_finite() => Ok(value),
        "" => Err(format!("'{text}' is not finite")),
        rest => Err(format!("expected + - * / or the end before '{rest}'")),
    }
}

/// Deeper parentheses are refused, so that no text exhausts the stack.
const DEEPEST: usize = 16;

fn sum(rest: &mut &str, depth: usize) -> Result<f64, String> {
    let mut value = product(rest, depth)?;
    loop {
        if taken(rest, '+') {
            value += product(rest, depth)?;
        } else if taken(rest, '-') {
            value -= product(rest, depth)?;
        } else {
            return Ok(value);
        }
    }
}

fn product(rest: &mut &str, depth: usize) -> Result<f64, String> {
    let mut value = factor(rest, depth)?;
    loop {
        if taken(rest, '*') {
            value *= factor(rest, depth)?;
        } else if taken(rest, '/') {
            value /= factor(rest, depth)?;
        } else {
            return Ok(value);
        }
    }
}

fn factor(rest: &mut &str, depth: usize) -> Result<f64, String> {
    if taken(rest, '(') {
        if depth == DEEPEST {
            return Err(format!("expected at most {DEEPEST} parentheses inside each other"));
        }
        let value = sum(rest, depth + 1)?;
        return match taken(rest, ')') {
            true => Ok(value),
            false => Err(format!("expected ) before '{rest}'")),
        };
    }
    let end = rest
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(rest.len());
    let number = rest[..end].parse();
    let number = number.map_err(|_| format!("expected a number or ( before '{rest}'"))?;
    *rest = &rest[end..];
    Ok(number)
}

/// Skips blanks, and `sign` if it is next.
fn taken(rest: &mut &str, sign: char) -> bool {
    *rest = rest.trim_start();
    match rest.strip_prefix(sign) {
        Some(after) => {
            *rest = after.trim_start();
            true
        }
        None => false,
    }
}
