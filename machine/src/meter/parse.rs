// SPDX-License-Identifier: MIT OR Apache-2.0
//! Parsers of foreign text: the kernel's files of energy events, a command's line, the output of IPMI tools. All are strict: unknown text is
//! an error that says what was expected, never a zero.

/// How much of a wrong text an error repeats.
const SHOWN_CHARS: usize = 60;

/// The answer of a wall meter's command.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Said {
    /// Energy that only rises, J.
    EnergyJ(f64),
    /// Present power, W.
    PowerW(f64),
}

/// One line with a number and a unit: `123.4 W` (W, mW, kW) is power, `5.25 kWh` (J, kJ, Wh, kWh) is energy that only rises.
///
/// # Errors
/// Anything else: more lines, no unit, another unit, a number that is negative or not finite.
pub fn command_line(text: &str) -> Result<Said, String> {
    let expected = || {
        format!(
            "printed '{}', expected one line of a number and a unit: W, mW or kW for power, J, kJ, Wh or kWh for a sum of energy",
            shown(text)
        )
    };
    let line = text.strip_suffix('\n').unwrap_or(text);
    let mut words = line.split([' ', '\t']).filter(|word| !word.is_empty());
    let (Some(number), Some(unit), None) = (words.next(), words.next(), words.next()) else {
        return Err(expected());
    };
    if line.contains('\n') {
        return Err(expected());
    }
    let value = plain_number(number).ok_or_else(expected)?;
    Ok(match unit {
        "W" => Said::PowerW(value),
        "mW" => Said::PowerW(value / 1e3),
        "kW" => Said::PowerW(value * 1e3),
        "J" => Said::EnergyJ(value),
        "kJ" => Said::EnergyJ(value * 1e3),
        "Wh" => Said::EnergyJ(value * 3.6e3),
        "kWh" => Said::EnergyJ(value * 3.6e6),
        _ => return Err(expected()),
    })
}

/// The watts in the output of `ipmitool dcmi power reading` or FreeIPMI's `ipmi-dcmi --get-system-power-statistics`.
///
/// # Errors
/// There is no such line, measuring is switched off, or the reading is 0 W, which is what controllers without a sensor report.
pub fn dcmi_watts(text: &str) -> Result<f64, String> {
    let mut watts = None;
    for line in text.lines() {
        let Some((key, value)) = line.split_once(':') else {
            continue;
        };
        let (key, value) = (key.trim().to_ascii_lowercase(), value.trim());
        match key.as_str() {
            "instantaneous power reading" | "current power" => watts = Some(in_watts(value)?),
            "power reading state is" | "power measurement" if !is_active(value) => {
                return Err(format!("power measurement is '{}'", shown(value)));
            }
            _ => {}
        }
    }
    match watts {
        Some(0.0) => Err("the controller reports 0 W, as one without a sensor does".to_string()),
        Some(watts) => Ok(watts),
        None => Err(format!("'{}' has no power reading", shown(text))),
    }
}

fn is_active(state: &str) -> bool {
    matches!(
        state.to_ascii_lowercase().as_str(),
        "activated" | "active" | "available"
    )
}

fn in_watts(value: &str) -> Result<f64, String> {
    let wrong = || format!("found '{}', expected watts", shown(value));
    let (number, unit) = value.split_once(' ').ok_or_else(wrong)?;
    let is_watts = matches!(unit.trim().to_ascii_lowercase().as_str(), "watts" | "watt" | "w");
    plain_number(number).filter(|_| is_watts).ok_or_else(wrong)
}

/// The configuration of an event from its file in `events/` (`event=0x02`).
///
/// # Errors
/// The file has terms other than `event`, which energy events do not.
pub fn event_config(text: &str) -> Result<u64, String> {
    let wrong = || format!("found '{}', expected event=0xNN", shown(text));
    let value = text.trim().strip_prefix("event=").ok_or_else(wrong)?;
    let parsed = match value.strip_prefix("0x") {
        Some(hex) if hex.bytes().all(|b| b.is_ascii_hexdigit()) => u64::from_str_radix(hex, 16).ok(),
        Some(_) => None,
        None => plain_integer(value),
    };
    parsed.ok_or_else(wrong)
}

/// Microjoules for each count, from an event's files `.scale` and `.unit`.
///
/// # Errors
/// The unit is not Joules, or the scale is not a positive number.
pub fn event_scale_uj(scale: &str, unit: &str) -> Result<f64, String> {
    if unit.trim() != "Joules" {
        return Err(format!("found unit '{}', expected Joules", shown(unit)));
    }
    let wrong = || format!("found scale '{}', expected a positive number of Joules", shown(scale));
    let joules = plain_number(scale.trim()).ok_or_else(wrong)?;
    // Counts stand for 2^-32 J to a few mJ; a scale far from that is a misreading.
    (1e-15..=1e3)
        .contains(&joules)
        .then_some(joules * 1e6)
        .ok_or_else(wrong)
}

/// A decimal number, optionally with a fraction and an exponent; no sign, no `inf`.
fn plain_number(text: &str) -> Option<f64> {
    let usual = |b: u8| b.is_ascii_digit() || matches!(b, b'.' | b'e' | b'E' | b'-' | b'+');
    let begins = text.starts_with(|c: char| c.is_ascii_digit());
    let value: f64 = (begins && text.bytes().all(usual)).then(|| text.parse().ok())??;
    value.is_finite().then_some(value)
}

/// A whole number of decimal digits.
pub fn plain_integer(text: &str) -> Option<u64> {
    let text = text.trim();
    let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    digits.then(|| text.parse().ok())?
}

/// Shortened, with control characters escaped.
pub(super) fn shown(text: &str) -> String {
    let text = text.trim_end();
    let mut short: String = text.chars().take(SHOWN_CHARS).flat_map(char::escape_debug).collect();
    if text.chars().nth(SHOWN_CHARS).is_some() {
        short += "...";
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_commands_line_is_a_number_and_a_unit() {
        for (line, said) in [
            ("123.4 W\n", Said::PowerW(123.4)),
            ("  0 W", Said::PowerW(0.0)),
            ("1500 mW\n", Said::PowerW(1.5)),
            ("1.2e0 kW", Said::PowerW(1200.0)),
            ("77 J", Said::EnergyJ(77.0)),
            ("2 kJ", Said::EnergyJ(2000.0)),
            ("1 Wh", Said::EnergyJ(3600.0)),
            ("5.25 kWh\n", Said::EnergyJ(18_900_000.0)),
        ] {
            assert_eq!(command_line(line), Ok(said), "{line:?}");
        }
        for line in [
            "",
            "\n",
            "W",
            "12",
            "12W",
            "12 w",
            "-3 W",
            "+3 W",
            "inf W",
            "NaN W",
            "1e999 W",
            "0x10 W",
            "3 W 4 W",
            "3 W\n4 W\n",
            "3 W\n\n",
            "3,5 W",
            "12 VA",
        ] {
            let message = command_line(line).unwrap_err();
            assert!(
                message.contains("expected one line of a number and a unit"),
                "{line:?}: {message}"
            );
        }
    }

    #[test]
    fn both_ipmi_tools_are_understood() {
        let ipmitool = "\n    Instantaneous power reading:                   220 Watts\n    Minimum during sampling period:                12 Watts\n\
                        \n    IPMI timestamp:                           Thu Jan  1 00:00:00 1970\
                        \n    Sampling period:                          00000001 Seconds.\
                        \n    Power reading state is:                   activated\n";
        assert_eq!(dcmi_watts(ipmitool), Ok(220.0));
        let freeipmi =
            "Current Power                        : 164 Watts\nMinimum Power over sampling duration : 5 watts\n\
                        Power Measurement                    : Active\n";
        assert_eq!(dcmi_watts(freeipmi), Ok(164.0));
        for (text, reason) in [
            (
                ipmitool.replace("activated", "deactivated"),
                "power measurement is 'deactivated'",
            ),
            (
                freeipmi.replace("Active", "Not Available"),
                "power measurement is 'Not Available'",
            ),
            (ipmitool.replace("220", "0"), "0 W"),
            (ipmitool.replace("220", "-1"), "expected watts"),
            (ipmitool.replace("220 Watts", "220 Amps"), "expected watts"),
            (
                "DCMI request failed because: Invalid command (c1)".into(),
                "no power reading",
            ),
            (String::new(), "no power reading"),
        ] {
            let message = dcmi_watts(&text).unwrap_err();
            assert!(message.contains(reason), "{text}: {message}");
        }
    }

    #[test]
    fn event_files_are_as_the_kernel_writes_them() {
        assert_eq!(event_config("event=0x02\n"), Ok(2));
        assert_eq!(event_config("event=5"), Ok(5));
        for text in [
            "",
            "event=",
            "event=0x",
            "event=0x02,umask=1",
            "config=2",
            "event=-1",
            "event=0x+2",
        ] {
            assert!(event_config(text).is_err(), "{text}");
        }
        let uj = event_scale_uj("2.3283064365386962890625e-10\n", "Joules\n").unwrap();
        assert!((uj * 2f64.powi(32) - 1e6).abs() < 1e-6, "2^32 counts are a joule: {uj}");
        assert!(event_scale_uj("1", "Watts").unwrap_err().contains("expected Joules"));
        for scale in ["", "0", "-1", "nan", "1e300", "1e-300"] {
            assert!(event_scale_uj(scale, "Joules").is_err(), "{scale}");
        }
    }
}
