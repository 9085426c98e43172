// SPDX-License-Identifier: MIT OR Apache-2.0
//! The results as a table.

use super::{Fitted, Plan, Row};

/// A row for each stretch: what was measured, what the model says, and the error. At most 80 columns wide, ends with a newline.
pub fn table(plan: &Plan, rows: &[Row], fitted: Option<&Fitted>) -> String {
    let width = plan
        .kinds
        .iter()
        .map(|kind| kind.name.len())
        .max()
        .unwrap_or(0)
        .max("kind".len());
    let mut text = format!("{:width$}  {:>9}  {:>4}  {:>12}", "kind", "MHz", "busy", "work per s");
    if fitted.is_some() {
        text += &format!(
            "  {:>10}  {:>8}  {:>8}  {:>6}",
            "measured W", "model W", "error W", "error"
        );
    }
    text.push('\n');
    for (index, row) in rows.iter().enumerate() {
        let kind = &plan.kinds[row.setting.kind];
        let mhz = kind.khz[row.setting.point] as f64 / 1e3;
        let work = match row.setting.busy {
            0 => "-".to_string(),
            _ => format!("{:.3}", row.work_per_s),
        };
        text += &format!("{:width$}  {mhz:>9.1}  {:>4}  {work:>12}", kind.name, row.setting.busy);
        if let (Some(fitted), Some(measured_w)) = (fitted, row.watts) {
            let model_w = fitted.model_w[index];
            let error_w = measured_w - model_w;
            text += &format!(
                "  {measured_w:>10.2}  {model_w:>8.2}  {:>8.2}  {:>4.1} %",
                without_sign(error_w, 0.005),
                without_sign(100.0 * error_w / measured_w, 0.05)
            );
        }
        text.push('\n');
    }
    match fitted {
        Some(fitted) => text + &format!("\nrms residual: {:.3} W over {} rows\n", fitted.rms_w, rows.len()),
        None => text,
    }
}

/// Turns what would print as `-0.00` into 0.
fn without_sign(value: f64, rounds_to_zero: f64) -> f64 {
    if value.abs() < rounds_to_zero {
        0.0
    } else {
        value
    }
}

/// A remark as a sentence of its own.
pub fn sentence(remark: &str) -> String {
    let mut letters = remark.chars();
    let first: String = letters.next().into_iter().flat_map(char::to_uppercase).collect();
    let end = if remark.ends_with('.') { "" } else { "." };
    format!("{first}{}{end}", letters.as_str())
}
