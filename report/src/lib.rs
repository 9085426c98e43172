// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tables, JSON, HTML with SVG plots, Perfetto traces. Knows results, timelines and what was published, not how they came about.

mod applications;
mod cells;
mod check;
mod classes;
pub mod comparison;
mod counters;
mod csv;
mod error;
mod file;
mod grid;
mod html;
mod json;
mod labels;
pub mod model;
mod number;
mod page;
mod pareto;
mod perfetto;
pub mod published;
mod ratios;
mod rows;
mod rules;
mod sweep;
mod table;
mod variations;
mod verdict;

pub use counters::counters_table;
pub use csv::{csv, csv_line};
pub use error::ReportError;
pub use file::write_file;
pub use html::html;
pub use json::json;
pub use model::*;
pub use page::{printable, wrapped, Room};
pub use perfetto::perfetto;
pub use table::table;
