// SPDX-License-Identifier: GPL-2.0-only
//! How results are shown: the order of rows and the unit of times, after hyperfine's options, and the method of intervals.

use clap::{Args, ValueEnum};
use lop_compare::statistics::Method;
use lop_report::comparison;

#[derive(Args)]
pub struct ShownArguments {
    /// Order of rows in text, Markdown and HTML; CSV and JSON keep the order given
    #[arg(long, value_enum, value_name = "METHOD", default_value = "auto")]
    pub sort: Sort,
    /// Unit of times in text, Markdown and HTML [default: one that fits]; CSV and JSON have seconds
    #[arg(short = 'u', long, value_enum, value_name = "UNIT")]
    pub time_unit: Option<TimeUnit>,
    /// Method for 95 % confidence intervals; docs/compare.md says how often each covers the truth
    #[arg(long, value_enum, value_name = "METHOD", default_value = "t")]
    pub interval: IntervalMethod,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum IntervalMethod {
    /// Student's t, for means and for the logarithms of ratios
    T,
    /// Bootstrap (BCa), for medians too; assumes no distribution, and covers less with few rounds
    Bca,
}

impl From<IntervalMethod> for Method {
    fn from(method: IntervalMethod) -> Self {
        match method {
            IntervalMethod::T => Self::Student,
            IntervalMethod::Bca => Self::Bca,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Sort {
    /// Same as command
    Auto,
    /// As the commands, parameters and policies were given
    Command,
    /// Shortest mean time first; rows without one last
    MeanTime,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum TimeUnit {
    #[value(alias = "us")]
    Microsecond,
    #[value(alias = "ms")]
    Millisecond,
    #[value(alias = "s")]
    Second,
    #[value(alias = "min")]
    Minute,
    #[value(alias = "h")]
    Hour,
}

impl From<TimeUnit> for comparison::TimeUnit {
    fn from(unit: TimeUnit) -> Self {
        match unit {
            TimeUnit::Microsecond => Self {
                name: "µs",
                seconds: 1e-6,
            },
            TimeUnit::Millisecond => Self {
                name: "ms",
                seconds: 1e-3,
            },
            TimeUnit::Second => Self {
                name: "s",
                seconds: 1.0,
            },
            TimeUnit::Minute => Self {
                name: "min",
                seconds: 60.0,
            },
            TimeUnit::Hour => Self {
                name: "h",
                seconds: 3600.0,
            },
        }
    }
}
