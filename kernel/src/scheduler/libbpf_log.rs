// SPDX-License-Identifier: GPL-2.0-only
//! Messages of libbpf and the verifier while a program is loaded: kept for the error, shown with -v.

use libbpf_rs::PrintLevel;
use std::sync::Mutex;

/// How many lines are kept for an error: the verifier gives its reason at the end.
const KEPT: usize = 40;

static LINES: Mutex<(bool, Vec<String>)> = Mutex::new((false, Vec::new()));

fn keep(level: PrintLevel, text: String) {
    let Ok(mut lines) = LINES.lock() else { return };
    if lines.0 {
        eprint!("{text}");
    }
    if level == PrintLevel::Warn {
        lines.1.extend(text.lines().map(str::to_string));
        let surplus = lines.1.len().saturating_sub(KEPT);
        lines.1.drain(..surplus);
    }
}

/// Collects libbpf's messages from now on; with `show`, also prints them to stderr.
pub fn listen(show: bool) {
    if let Ok(mut lines) = LINES.lock() {
        *lines = (show, Vec::new());
    }
    let level = if show { PrintLevel::Debug } else { PrintLevel::Warn };
    libbpf_rs::set_print(Some((level, keep)));
}

/// The last lines since [`listen`].
pub fn said() -> String {
    LINES.lock().map(|lines| lines.1.join("\n")).unwrap_or_default()
}
