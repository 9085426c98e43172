// SPDX-License-Identifier: MIT OR Apache-2.0
//! Memory uses of applications: those of data/applications.toml, and those that a workload file describes.

use super::draft::Source;
use super::model::MemoryUse;
use super::schema::RawMemoryUse;
use indexmap::IndexMap;
use lop_machine::{input, InputError};
use serde::Deserialize;
use std::sync::OnceLock;
use toml::Spanned;

const FILE: &str = "applications.toml";
const TEXT: &str = include_str!("../../../data/applications.toml");

/// Memory uses by name.
pub(super) type MemoryUses = IndexMap<String, MemoryUse>;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    reference: Reference,
    memory: IndexMap<String, Spanned<RawMemoryUse>>,
}

/// The core on which work is measured, and its memory.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
struct Reference {
    mhz: f64,
    latency_ns: f64,
}

struct Applications {
    reference: Reference,
    uses: MemoryUses,
}

fn applications() -> &'static Applications {
    static APPLICATIONS: OnceLock<Applications> = OnceLock::new();
    APPLICATIONS.get_or_init(|| parse_applications().expect("a test reads the built-in file"))
}

fn parse_applications() -> Result<Applications, InputError> {
    let file: File = input::parse(FILE, TEXT)?;
    Ok(Applications {
        reference: file.reference,
        uses: read(&Source::toml(FILE, TEXT), &file.memory, &IndexMap::new())?,
    })
}

/// Those of data/applications.toml.
pub(crate) fn built_in_uses() -> impl Iterator<Item = &'static MemoryUse> {
    applications().uses.values()
}

/// The uses that tasks of a file may name: its own and the built-in ones. What a file's use leaves out is taken from the built-in one of that name.
pub(super) fn known(source: &Source, own: &IndexMap<String, Spanned<RawMemoryUse>>) -> Result<MemoryUses, InputError> {
    let mut all = read(source, own, &applications().uses)?;
    for (name, built_in) in &applications().uses {
        all.entry(name.clone()).or_insert_with(|| built_in.clone());
    }
    Ok(all)
}

fn read(
    source: &Source,
    raw: &IndexMap<String, Spanned<RawMemoryUse>>,
    defaults: &MemoryUses,
) -> Result<MemoryUses, InputError> {
    let of = |(name, raw): (&String, &Spanned<RawMemoryUse>)| {
        let memory_use = memory_use(source, name, raw, defaults.get(name))?;
        Ok((name.clone(), memory_use))
    };
    raw.iter().map(of).collect()
}

fn memory_use(
    source: &Source,
    name: &str,
    raw: &Spanned<RawMemoryUse>,
    default: Option<&MemoryUse>,
) -> Result<MemoryUse, InputError> {
    let table = format!("memory.{name}");
    let number = |key: &str, value: &Option<Spanned<f64>>, default: Option<f64>, min: f64, max: f64| {
        let full_key = format!("{table}.{key}");
        let Some(value) = value else {
            let missing = || source.error(raw.span().start, &table, format!("expected a number `{key}`"));
            return default.ok_or_else(missing);
        };
        match *value.get_ref() {
            number if (min..=max).contains(&number) => Ok(number),
            other => {
                let message = format!("{key} = {other}, expected {min} to {max}");
                Err(source.error(value.span().start, &full_key, message))
            }
        }
    };
    let own = raw.get_ref();
    Ok(MemoryUse {
        name: name.to_string(),
        mpki: number("mpki", &own.mpki, default.map(|d| d.mpki), 0.0, 1000.0)?,
        cpi0: number("cpi0", &own.cpi0, default.map(|d| d.cpi0), 0.01, 100.0)?,
        mlp: number("mlp", &own.mlp, default.map(|d| d.mlp), 1.0, 100.0)?,
        cache_sensitivity: number(
            "cache_sensitivity",
            &own.cache_sensitivity,
            default.map(|d| d.cache_sensitivity),
            0.0,
            10.0,
        )?,
    })
}

/// Share of its time alone on the reference core for which work waits for misses. It is the m for machines without figures for their memory.
pub(crate) fn reference_share(memory_use: &MemoryUse) -> f64 {
    memory_use.wait_ns(applications().reference.latency_ns) / reference_ns(memory_use)
}

/// Time of an instruction alone on the reference core.
pub(crate) fn reference_ns(memory_use: &MemoryUse) -> f64 {
    let Reference { mhz, latency_ns } = applications().reference;
    memory_use.compute_ns(mhz * 1e3) + memory_use.wait_ns(latency_ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_built_in_file_is_right() {
        let applications = parse_applications().unwrap();
        assert_eq!(applications.uses.len(), 14);
        assert_eq!(applications.reference.latency_ns, 80.0);
    }

    /// mcf at 2.4 GHz: computes 1.2 / 2.4 = 0.5 ns an instruction, waits 40 / 1000 * 80 / 1.8 = 16 / 9 ns.
    #[test]
    fn the_share_on_the_reference_core_follows_by_hand() {
        let share = reference_share(&applications().uses["mcf"]);
        let expected = (16.0 / 9.0) / (0.5 + 16.0 / 9.0);
        assert!((share - expected).abs() < 1e-15, "{share}");
    }
}
