// SPDX-License-Identifier: MIT OR Apache-2.0
//! A machine file in TOML: every key has its unit in its name, every value its place in the text.
//!
//! Whole numbers are read as `i64` and decimals as `f64`, so that a number out of range reaches the range check, which
//! says what was expected, instead of failing in the parser.

use serde::de::value::SeqAccessDeserializer;
use serde::de::{Deserializer, IntoDeserializer, SeqAccess, Visitor};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fmt;
use toml::Spanned;

pub type Number = Spanned<f64>;
pub type Count = Spanned<i64>;
pub type Text = Spanned<String>;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MachineFile {
    pub name: Text,
    pub description: Text,
    /// `model name` of `/proc/cpuinfo` on such a machine. Absent: not known.
    pub processor: Option<Text>,
    /// The machine whose watts these are. Absent: its own.
    pub watts_of: Option<Text>,
    /// Sources of the figures: author, title, year.
    #[serde(default)]
    pub sources: Vec<Text>,
    /// What was fitted, to what, with which residual; what is assumed.
    #[serde(default)]
    pub notes: Vec<Text>,
    pub sockets: Count,
    pub nodes_per_socket: Option<Count>,
    pub clock_domain: Scope,
    pub voltage_domain: Scope,
    pub memory_domain: Option<Spanned<MemoryDomains>>,
    /// Instead of `memory_domain`: neighbouring cores of a socket, this many to a domain.
    pub cores_per_memory_domain: Option<Count>,
    /// Last-level cache of each memory domain, if all are alike. Absent: not known.
    pub cache_mib: Option<Number>,
    /// Cores held below their highest operating point: MHz by core, repeated over the cores. Absent: none.
    pub max_mhz: Option<Spanned<Vec<Number>>>,
    pub base_w: Number,
    /// Limits of the mean power of all cores and voltage domains. Absent: none.
    #[serde(default)]
    pub power_limit: Vec<PowerLimitFile>,
    pub dram: Option<DramFile>,
    /// Absent: the misses of tasks do not slow other tasks down.
    pub memory: Option<MemoryFile>,
    pub ships: Option<ShipsFile>,
    pub cpufreq: CpufreqFile,
    /// The shortest exit from an idle or parked state, as a share of its `exit_us`. Absent: 1.
    pub shortest_exit_share: Option<Number>,
    pub cost: CostFile,
    pub park: Option<ParkFile>,
    pub thermal: Option<ThermalFile>,
    #[serde(default)]
    pub kind: Vec<KindFile>,
}

/// Which cores share a clock, a voltage or a last-level cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scope {
    /// Each core by itself.
    Core,
    /// The cores of one kind in one socket.
    Kind,
    Socket,
    Machine,
}

/// Memory domains: those of a scope, or a list of them if they differ in size or cache.
#[derive(Debug)]
pub enum MemoryDomains {
    Shared(Scope),
    Listed(Vec<MemoryDomainFile>),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MemoryDomainFile {
    /// How many cores of each kind, by its name, in each socket. They follow the cores of the previous domain.
    pub cores: Spanned<BTreeMap<String, Count>>,
    pub cache_mib: Option<Number>,
}

/// Written by hand: the code that serde derives for such a choice loses the places of values in the text.
impl<'de> Deserialize<'de> for MemoryDomains {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = MemoryDomains;

            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("core, kind, socket, machine or a list of tables with cores and cache_mib")
            }

            fn visit_str<E: serde::de::Error>(self, name: &str) -> Result<MemoryDomains, E> {
                Scope::deserialize(name.into_deserializer()).map(MemoryDomains::Shared)
            }

            fn visit_seq<A: SeqAccess<'de>>(self, tables: A) -> Result<MemoryDomains, A::Error> {
                Vec::deserialize(SeqAccessDeserializer::new(tables)).map(MemoryDomains::Listed)
            }
        }
        deserializer.deserialize_any(Either)
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PowerLimitFile {
    pub w: Number,
    pub window_s: Number,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DramFile {
    pub idle_w: Number,
    pub stall_w_per_core: Number,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MemoryFile {
    pub latency_ns: Number,
    /// Bandwidth of each memory domain. Absent: no limit.
    pub bandwidth_mb_s: Option<Number>,
}

/// What the operating system of such a machine ships. Absent: Linux of today.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ShipsFile {
    pub placement: Text,
    pub governor: Text,
    pub source: Text,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CpufreqFile {
    pub transition_us: Number,
    /// Absent: max(1000 transition latencies, 20 scheduler ticks of 4 ms).
    pub ondemand_period_ms: Option<Number>,
    /// Absent: half of the period.
    pub ondemand_min_period_ms: Option<Number>,
    pub schedutil_rate_limit_us: Number,
    /// Shortest and longest window of `hwp`. Absent: 1 and 10 ms.
    pub hwp_window_ms: Option<Spanned<Vec<Number>>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CostFile {
    pub context_switch_us: Number,
    pub migration_us: Number,
    pub memory_domain_us: Number,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ParkFile {
    pub exit_us: Number,
    pub w: Number,
    /// Power of a voltage domain while all its cores are parked. Absent: that of its operating point.
    pub domain_w: Option<Number>,
    /// Time until a core of such a domain runs again. Absent: the same as for any core.
    pub domain_exit_us: Option<Number>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ThermalFile {
    pub ambient_c: Number,
    pub c_per_w: Number,
    pub time_constant_s: Number,
    pub limit_c: Number,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KindFile {
    pub name: Text,
    /// In each socket.
    pub cores: Count,
    /// Threads of a core; 1 when absent.
    pub smt: Option<Count>,
    pub speed: Number,
    pub smt_speedup: Option<Number>,
    pub smt_power: Option<Number>,
    pub opp: Spanned<Vec<OppFile>>,
    /// Absent: the highest operating point with any number of busy cores.
    pub turbo: Option<Spanned<Vec<TurboFile>>>,
    pub idle: Spanned<Vec<IdleFile>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OppFile {
    pub mhz: Number,
    pub mv: Count,
    pub idle_w: Number,
    pub busy_w: Number,
    pub domain_w: Option<Number>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TurboFile {
    /// With up to so many busy cores of the kind in a socket.
    pub cores: Count,
    pub mhz: Number,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IdleFile {
    pub name: Text,
    pub exit_us: Number,
    pub residency_us: Number,
    pub w: Option<Number>,
    pub holds_voltage: Option<bool>,
}
