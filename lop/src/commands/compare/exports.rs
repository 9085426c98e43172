// SPDX-License-Identifier: GPL-2.0-only
//! Files that a comparison is written to.

use crate::failure::Failure;
use crate::output::OutputFile;
use clap::Args;
use lop_report::comparison::{
    comparison_asciidoc, comparison_csv, comparison_html, comparison_json, comparison_markdown, comparison_orgmode,
    Comparison,
};
use std::path::PathBuf;

#[derive(Args)]
pub struct ExportArguments {
    /// Also write JSON, a superset of hyperfine's export
    #[arg(long, value_name = "FILE")]
    export_json: Option<PathBuf>,
    /// Also write CSV, hyperfine's columns first
    #[arg(long, value_name = "FILE")]
    export_csv: Option<PathBuf>,
    /// Also write a table for a README or an issue
    #[arg(long, value_name = "FILE")]
    export_markdown: Option<PathBuf>,
    /// Also write the same table in AsciiDoc
    #[arg(long, value_name = "FILE")]
    export_asciidoc: Option<PathBuf>,
    /// Also write the same table in Emacs' Org mode
    #[arg(long, value_name = "FILE")]
    export_orgmode: Option<PathBuf>,
    /// Also write a page with plots that works offline
    #[arg(long, value_name = "FILE")]
    export_html: Option<PathBuf>,
}

type Make = fn(&Comparison) -> String;

/// Whether an export is for people, who choose the order of its rows.
#[derive(Clone, Copy, PartialEq, Eq)]
enum For {
    People,
    Programs,
}

/// Files asked for, checked before anything is measured.
pub struct Exports(Vec<(OutputFile, (Make, For))>);

impl Exports {
    /// # Errors
    /// A file that cannot be written, or the same file for two exports.
    pub fn check(arguments: &ExportArguments) -> Result<Self, Failure> {
        let all: [(&str, &Option<PathBuf>, (Make, For)); 6] = [
            (
                "--export-json",
                &arguments.export_json,
                (comparison_json, For::Programs),
            ),
            ("--export-csv", &arguments.export_csv, (comparison_csv, For::Programs)),
            (
                "--export-markdown",
                &arguments.export_markdown,
                (comparison_markdown, For::People),
            ),
            (
                "--export-asciidoc",
                &arguments.export_asciidoc,
                (comparison_asciidoc, For::People),
            ),
            (
                "--export-orgmode",
                &arguments.export_orgmode,
                (comparison_orgmode, For::People),
            ),
            ("--export-html", &arguments.export_html, (comparison_html, For::People)),
        ];
        let wanted = all
            .into_iter()
            .filter_map(|(option, path, make)| Some((option, path.as_ref()?, make)));
        let files = wanted.map(|(option, path, make)| Ok((OutputFile::check(option, path)?, make)));
        let files = files.collect::<Result<Vec<_>, Failure>>()?;
        OutputFile::check_distinct(&files.iter().map(|(file, _)| file).collect::<Vec<_>>())?;
        Ok(Self(files))
    }

    /// `sorted`: in the order that --sort asks for.
    ///
    /// # Errors
    /// The system's own, with the path. The other files are still written.
    pub fn write(&self, comparison: &Comparison, sorted: &Comparison) -> Result<(), Failure> {
        let mut result = Ok(());
        for (file, (make, reader)) in &self.0 {
            let written = file.write(&make(if *reader == For::People { sorted } else { comparison }));
            if written.is_ok() {
                file.tell_written();
            }
            result = result.and(written);
        }
        result
    }
}
