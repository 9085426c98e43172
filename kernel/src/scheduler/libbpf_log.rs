// SPDX-License-Identifier: GPL-2.0-only
//! What libbpf and the verifier say while a program is loaded: kept for the error, shown with -v.

use libbpf_rs::PrintLevel;
use std::sync::Mutex;

/// Lines kept for an error: the verifier says why at the end.
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

/// From now on libbpf speaks to us; `show` also to stderr.
pub fn listen(show: bool) {
    if let Ok(mut lines) = LINES.lock() {
        *lines = (show, Vec::new());
    }
    let level = if show { PrintLevel::Debug } else { PrintLevel::Warn };
    libbpf_rs::set_print(Some((level, keep)));
}

/// The last lines said since [`listen`].
pub fn said() -> String {
    LINES.lock().map(|lines| lines.1.join("\n")).unwrap_or_default()
}
