// SPDX-License-Identifier: MIT OR Apache-2.0
//! The watts in the machine files are the results of the fit files, and reproduce the measured powers.

mod cases;

use lop_machine::{
    builtin_fit_names, builtin_fit_text, builtin_text, fit, load, steady_power_w, Activity, CoreState, Fit, Machine,
};

fn built_in(name: &str) -> Fit {
    fit(name, builtin_fit_text(name).unwrap()).unwrap_or_else(|error| panic!("{error}"))
}

fn parameter(fit: &Fit, name: &str) -> f64 {
    fit.parameters.iter().find(|p| p.name == name).unwrap().watts
}

/// A number of a TOML text by dotted key.
fn number(text: &str, key: &str) -> f64 {
    let mut value = &toml::from_str::<toml::Value>(text).unwrap();
    for part in key.split('.') {
        value = match part.parse::<usize>() {
            Ok(index) => &value[index],
            Err(_) => &value[part],
        };
    }
    value.as_float().unwrap_or_else(|| value.as_integer().unwrap() as f64)
}

#[test]
fn machine_files_hold_what_the_fits_yield() {
    for name in builtin_fit_names() {
        let text = builtin_text(name).unwrap();
        let fit = built_in(name);
        assert!(fit.values.len() > 5, "{name}");
        for value in fit.values {
            let held = number(text, &value.key);
            assert!(
                (held - value.watts).abs() <= 0.005 + 1e-9,
                "{name} {}: {held}, fitted {}",
                value.key,
                value.watts
            );
        }
    }
}

#[test]
fn residuals_are_as_the_machine_files_say() {
    let opteron = built_in("opteron-8350-x4");
    let largest = opteron.rows.iter().map(|r| r.residual_w().abs()).fold(0.0, f64::max);
    assert_eq!((opteron.rows.len(), opteron.excluded.len()), (51, 3));
    assert!(
        (opteron.rms_w - 0.73).abs() < 0.005 && (largest - 2.1).abs() < 0.05,
        "{} {largest}",
        opteron.rms_w
    );
    assert!(built_in("phenom-9750").rms_w < 1e-6);
}

/// The tie in phenom-9750's fit is the ratio that opteron-8350-x4's fit gives.
#[test]
fn phenom_is_tied_by_the_ratio_of_its_sibling() {
    let opteron = built_in("opteron-8350-x4");
    let idle_difference = parameter(&opteron, "idle_2000") - parameter(&opteron, "idle_1000");
    let ratio = parameter(&opteron, "busy_2000") / idle_difference;
    let phenom = built_in("phenom-9750");
    let tied = parameter(&phenom, "busy_2400") / (parameter(&phenom, "idle_2400") / 2.0);
    assert!((ratio - tied).abs() < 0.001, "{ratio} {tied}");
}

/// On opteron-8350-x4 watts are proportional to frequency, busy and idle alike, so there is no sign of voltage scaling.
#[test]
fn opteron_watts_are_proportional_to_frequency() {
    let fit = built_in("opteron-8350-x4");
    for activity in ["busy", "idle"] {
        let top = parameter(&fit, &format!("{activity}_2000")) / 2000.0;
        for mhz in [1000, 1200, 1400, 1700] {
            let per_mhz = parameter(&fit, &format!("{activity}_{mhz}")) / f64::from(mhz);
            assert!((per_mhz / top - 1.0).abs() < 0.03, "{activity} {mhz}: {per_mhz} {top}");
        }
    }
}

/// Power with the first `busy` cores busy, each core at the OPP given.
fn power(machine: &Machine, opps: [usize; 4], busy: usize) -> f64 {
    let core = |(core, opp)| CoreState {
        opp,
        activity: if core < busy {
            Activity::Busy(1)
        } else {
            Activity::Idle(0)
        },
    };
    steady_power_w(machine, &opps.into_iter().enumerate().map(core).collect::<Vec<_>>())
}

#[test]
fn phenom_gives_its_three_measured_powers_back() {
    let machine = load("phenom-9750", &[]).unwrap();
    for (opps, measured) in [([1, 1, 1, 1], 136.2), ([1, 1, 0, 0], 126.6), ([0, 0, 0, 0], 79.3)] {
        // 1.02 cores busy on average.
        let predicted = 0.98 * power(&machine, opps, 1) + 0.02 * power(&machine, opps, 2);
        assert!(
            (predicted - measured).abs() < 0.05,
            "{opps:?}: {predicted}, measured {measured}"
        );
    }
}

/// By hand: 62.09 + 25.32 + 19.79 + 3 * 3.39 (1.25 / 1.05)^2 = 121.61 W.
#[test]
fn cores_at_a_low_point_pay_for_the_voltage_of_their_domain() {
    let machine = load("phenom-9750", &[]).unwrap();
    let by_hand = 62.09 + 25.32 + 19.79 + 3.0 * 3.39 * (1.25_f64 / 1.05).powi(2);
    assert!((power(&machine, [1, 0, 0, 0], 1) - by_hand).abs() < 1e-9);
}

const LINE: &str = r#"
title = "line"
[parameters]
base = "base"
core = "core"
[[row]]
label = "idle"
watts = 50
state = { base = 1 }
[[row]]
label = "two busy"
watts = 65
state = { base = 1, core = 2 }
"#;

#[test]
fn known_parameters_come_back() {
    let fit = fit("line.toml", LINE).unwrap();
    assert!((parameter(&fit, "base") - 50.0).abs() < 1e-9);
    assert!((parameter(&fit, "core") - 7.5).abs() < 1e-9);
    let shown = fit.to_string();
    assert!(shown.contains("core            7.500  core"), "{shown}");
    assert!(shown.contains("rms residual: 0.00 W over 2 rows"), "{shown}");
}

#[test]
fn what_rows_cannot_tell_apart_is_named() {
    let text = LINE.replace("[[row]]\nlabel = \"idle\"\nwatts = 50\nstate = { base = 1 }\n", "");
    let error = fit("line.toml", &text).unwrap_err();
    assert!(error.message.contains("cannot tell apart: base, core"), "{error}");
}

#[test]
fn bad_fit_files_are_refused_with_line_and_key() {
    let table = r#"
core = 2 } | cor = 2 } | 13 | row.1.state.cor | unknown parameter 'cor'
watts = 65 | watts = -1 | 12 | row.1.watts | -1, expected 0
watts = 65 | watts = nan | 12 | row.1.watts | NaN, expected 0
watts = 65 | watts = 65\nweight = 0 | 13 | row.1.weight | above 0
core = 2 } | core = inf } | 13 | row.1.state.core | inf, expected
state = { base = 1 } | state = {} | 9 | row.0.state | empty
watts = 65 | wats = 65 | 12 | row.wats | unknown field `wats`
"#;
    cases::check_replacements(LINE, table, |text| fit("line.toml", text));
}

/// a + b = 10 W and a = 20 W leave b = -10 W, which nothing draws.
#[test]
fn negative_watts_are_refused() {
    let text = "title = \"n\"\n[parameters]\na = \"one\"\nb = \"two\"\n\
                [[row]]\nlabel = \"both\"\nwatts = 10\nstate = { a = 1, b = 1 }\n\
                [[row]]\nlabel = \"first\"\nwatts = 20\nstate = { a = 1 }\n";
    let error = fit("n.toml", text).unwrap_err();
    assert!(error.message.contains("-10.000 W"), "{error}");
}
