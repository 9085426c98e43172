// SPDX-License-Identifier: MIT OR Apache-2.0
//! Cores held below their highest operating point, as `scaling_max_freq` does it, to make symmetric hardware asymmetric. Cores of
//! one kind that are held at different points become separate kinds.

use crate::check::Source;
use crate::kind::MAX_MHZ;
use crate::schema::Number;
use crate::{InputError, Kind, Machine};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use toml::Spanned;

const KEY: &str = "max_mhz";

/// A kind of core by its old number, and how many of its operating points are left.
type Held = (u16, usize);

/// Holds the cores of `machine` at the frequencies of the list, which is repeated over the cores in the order of their numbers.
///
/// # Errors
/// A list that does not fit the number of cores, a frequency below a core's lowest operating point, or different ones for cores
/// that share a clock.
pub fn hold(source: Source, list: &Spanned<Vec<Number>>, machine: &mut Machine) -> Result<(), InputError> {
    let limits = limits(source, list, machine.nr_cores)?;
    one_for_each_clock(source, list, &limits, machine)?;
    let mut held: Vec<Held> = Vec::with_capacity(machine.cpus.len());
    for cpu in &machine.cpus {
        let kind = &machine.kinds[usize::from(cpu.kind)];
        let at = usize::from(cpu.core) % limits.len();
        let left = kind.opps.partition_point(|opp| opp.khz as f64 <= limits[at] * 1e3);
        if left == 0 {
            let lowest = kind.opps[0].khz as f64 / 1e3;
            let message = format!(
                "{}, expected at least {lowest} MHz, the lowest operating point of core {} (kind '{}')",
                limits[at], cpu.core, kind.name
            );
            return Err(source.error(list.get_ref()[at].span(), format!("{KEY}.{at}"), message));
        }
        held.push((cpu.kind, left));
    }
    renumber(machine, &held);
    Ok(())
}

/// The frequencies in MHz, one or more.
fn limits(source: Source, list: &Spanned<Vec<Number>>, nr_cores: usize) -> Result<Vec<f64>, InputError> {
    let numbers = list.get_ref();
    if numbers.is_empty() || !nr_cores.is_multiple_of(numbers.len()) {
        let message = format!(
            "{} frequencies for {nr_cores} cores, expected one for each core, or fewer that are repeated: a divisor of {nr_cores}",
            numbers.len()
        );
        return Err(source.error(list.span(), KEY, message));
    }
    let limit = |(i, value)| source.positive(value, &format!("{KEY}.{i}"), MAX_MHZ, "MHz");
    numbers.iter().enumerate().map(limit).collect()
}

fn one_for_each_clock(
    source: Source,
    list: &Spanned<Vec<Number>>,
    limits: &[f64],
    machine: &Machine,
) -> Result<(), InputError> {
    let mut first: BTreeMap<u16, u16> = BTreeMap::new();
    for cpu in &machine.cpus {
        let other = *first.entry(cpu.clock_domain).or_insert(cpu.core);
        let at = |core: u16| usize::from(core) % limits.len();
        let (mine, its) = (limits[at(cpu.core)], limits[at(other)]);
        if mine != its {
            let message = format!(
                "cores {other} and {} share a clock, expected the same for both, found {its} and {mine} MHz",
                cpu.core
            );
            return Err(source.error(
                list.get_ref()[at(cpu.core)].span(),
                format!("{KEY}.{}", at(cpu.core)),
                message,
            ));
        }
    }
    Ok(())
}

/// Sorts the kinds by their speed as held, fastest first, and drops those without cores.
fn renumber(machine: &mut Machine, held: &[Held]) {
    let mut kinds: Vec<(Held, Kind)> = BTreeSet::from_iter(held.iter().map(|&(kind, left)| (kind, Reverse(left))))
        .into_iter()
        .map(|(kind, Reverse(left))| ((kind, left), held_kind(&machine.kinds[usize::from(kind)], left)))
        .collect();
    // The sort is stable: kinds of equal speed stay in the order of the file.
    kinds.sort_by(|(_, a), (_, b)| b.top_rate().total_cmp(&a.top_rate()));
    let number: BTreeMap<Held, u16> = kinds
        .iter()
        .zip(0..)
        .map(|((held, _), number)| (*held, number))
        .collect();
    for (cpu, held) in machine.cpus.iter_mut().zip(held) {
        cpu.kind = number[held];
    }
    machine.kinds = kinds.into_iter().map(|(_, kind)| kind).collect();
}

fn held_kind(kind: &Kind, left: usize) -> Kind {
    let mut kind = kind.clone();
    if left < kind.opps.len() {
        kind.opps.truncate(left);
        kind.turbo
            .iter_mut()
            .for_each(|turbo| turbo.opp = turbo.opp.min(left - 1));
        kind.name = format!("{} up to {} MHz", kind.name, kind.opps[left - 1].khz as f64 / 1e3);
    }
    kind
}
