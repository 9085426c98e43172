// SPDX-License-Identifier: MIT OR Apache-2.0
//! The report for people, 80 columns wide except for commands to copy.

use super::{Finding, Report, State};
use crate::draw_domains;

const WIDTH: usize = 80;

/// What works, then the CPUs, then each finding. Ends with a newline.
pub fn text(report: &Report) -> String {
    let mut text = wrapped(&summary(report), "", "  ") + "\n";
    text += &match &report.machine {
        Ok(machine) => draw_domains(machine),
        Err(error) => wrapped(&format!("CPUs: {error}"), "", "  "),
    };
    for finding in &report.findings {
        text.push('\n');
        text += &section(finding);
    }
    text
}

fn section(finding: &Finding) -> String {
    let state = match finding.state {
        State::Yes => "yes   ",
        State::Partly => "partly",
        State::No => "no    ",
    };
    let mut text = format!("{state}  {}\n", finding.title);
    for (first, lines) in [
        ("        ", &finding.found),
        ("        costs: ", &finding.costs),
        ("        mend:  ", &finding.mends),
    ] {
        // Continuation lines are indented to the text.
        let next = " ".repeat(first.chars().count() + if lines.len() > 1 { 2 } else { 0 });
        text.extend(lines.iter().map(|line| wrapped(line, first, &next)));
    }
    // For copying: each on a line of its own, however long.
    text.extend(
        finding
            .commands
            .iter()
            .map(|command| format!("        here:  {command}\n")),
    );
    text
}

fn summary(report: &Report) -> String {
    let titles = report.usable().into_iter().map(|area| {
        report
            .findings
            .iter()
            .find(|finding| finding.area == area)
            .map_or(area, |f| f.title)
    });
    let titles: Vec<&str> = titles.collect();
    match titles.is_empty() {
        true => "Nothing of this can be used here; 'lop simulate' works on any machine.".to_string(),
        false => format!("Can be used here: {}.", titles.join("; ")),
    }
}

fn wrapped(text: &str, first: &str, next: &str) -> String {
    let options = textwrap::Options::new(WIDTH)
        .initial_indent(first)
        .subsequent_indent(next)
        .word_separator(textwrap::WordSeparator::AsciiSpace)
        .word_splitter(textwrap::WordSplitter::NoHyphenation)
        // Paths and kernel options stay whole, so that they can be copied.
        .break_words(false);
    textwrap::wrap(text, options)
        .iter()
        .map(|line| format!("{line}\n"))
        .collect()
}
