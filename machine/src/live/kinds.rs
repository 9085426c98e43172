// SPDX-License-Identifier: MIT OR Apache-2.0
//! Kinds of cores ("tiers"), and how fast they are.
//!
//! A measure of speed is searched for in this order: `cpu_capacity` (ARM; x86 where the kernel balances by capacity),
//! `acpi_cppc/highest_perf`, `cpufreq/cpuinfo_max_freq`. The first one that all online CPUs have and that distinguishes kinds is used; so the
//! next one distinguishes the kinds of a hybrid x86 whose capacities are all 1024, as they are with SMT on.
//!
//! Kinds are separated by gaps: with the cores in order of speed, a new kind begins where a core is more than 10 % below the one
//! before it. Favoured cores of one kind differ by less: 4.8 and 4.5 GHz (6 %), 5.76 and 5.25 GHz on the two chiplets of
//! a desktop (9 %), or rankings in steps of 2 to 3 % from 236 down to 166. Different cores differ by about 12 % or more.
//!
//! Worked example, a laptop whose cores reach 4800, 4500, 3800 and 2500 MHz:
//!
//! ```text
//! 4500 >= 0.9 x 4800 = 4320    same kind
//! 3800 <  0.9 x 4500 = 4050    next kind
//! 2500 <  0.9 x 3800 = 3420    next kind: three kinds, 0 (4800 and 4500), 1 (3800), 2 (2500)
//! ```
//!
//! If the kernel names core types (`/sys/devices/cpu_core`, `cpu_atom`, `cpu_lowpower`), cores of different types are always different
//! kinds. SMT never makes a kind: a core counts as its fastest sibling.

use super::partition::Numbering;
use super::present::Present;
use super::reader::{cpu_file, Reader};
use super::{LiveError, MAX_TIERS};
use std::cmp::Reverse;
use std::collections::BTreeMap;

const FULL_CAPACITY: u32 = 1024;
/// The kernel's names, fastest first.
const TYPES: [&str; 3] = ["cpu_core", "cpu_atom", "cpu_lowpower"];

/// By index of the CPU.
pub struct Kinds {
    pub nr_tiers: u16,
    pub tier: Vec<u16>,
    pub capacity: Vec<u32>,
}

/// What distinguishes the kinds of cores.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Core {
    /// Position in [`TYPES`], or after them.
    named: usize,
    /// In the unit of the measure; equal for all if there is no measure.
    speed: Reverse<u64>,
}

/// Reads kinds and capacities. Offline CPUs are assumed to be like their stand-in.
pub fn read(
    reader: &mut Reader,
    present: &Present,
    cores: &Numbering,
    max_khz: &[Option<u64>],
    stand_in: &[usize],
) -> Result<Kinds, LiveError> {
    let stated = values(reader, present, "cpu_capacity", 1, i64::from(FULL_CAPACITY))?;
    let perf = values(reader, present, "acpi_cppc/highest_perf", 0, i64::from(u32::MAX))?;
    let named = named_types(reader, present)?;
    let measures = [stated.clone(), perf, max_khz.to_vec()]
        .into_iter()
        .map(|m| complete(present, &m));
    // By index; offline CPUs borrow the figures of their stand-in.
    let of_cores = |speeds: &[u64]| {
        let figures = stand_in.iter().map(|&i| Core {
            named: named[i],
            speed: Reverse(speeds[i]),
        });
        best_of_siblings(cores, figures.collect())
    };
    let telling = measures.flatten().find(|speeds| tells_apart(&of_cores(speeds)));
    let nothing = vec![0; present.numbers.len()];
    let figures = of_cores(telling.as_ref().unwrap_or(&nothing));
    let (tier, fastest) = tiers(&figures);
    if fastest.len() > MAX_TIERS {
        let what = format!("found {} kinds of cores", fastest.len());
        let way_out = "raise LOP_MAX_TIERS in policy/core/topology.h and build anew";
        return Err(reader.too_many(&cpu_file(present.numbers[0], "cpu_capacity"), &what, MAX_TIERS, way_out));
    }
    let stated = complete(present, &stated).filter(|stated| telling.is_none() || telling.as_ref() == Some(stated));
    if telling.is_none() && fastest.len() > 1 {
        reader.note("The speeds of the kinds of cores are not known: their order follows their names, and each gets the full capacity.");
    }
    let derived = |i: usize| relative(fastest[usize::from(tier[i])], fastest[0]);
    let capacity = (0..tier.len()).map(|i| stated.as_ref().map_or_else(|| derived(i), |s| s[stand_in[i]] as u32));
    Ok(Kinds {
        nr_tiers: fastest.len() as u16,
        capacity: capacity.collect(),
        tier,
    })
}

/// A measure by index of the CPU; 0 counts as not known.
fn values(
    reader: &mut Reader,
    present: &Present,
    name: &str,
    least: i64,
    most: i64,
) -> Result<Vec<Option<u64>>, LiveError> {
    let mut values = vec![None; present.numbers.len()];
    for (i, cpu) in present.online() {
        let value = reader.number(&cpu_file(cpu, name), least..=most, "a whole number")?;
        values[i] = value.filter(|&v| v > 0).map(i64::unsigned_abs);
    }
    Ok(values)
}

/// The measure if all online CPUs have it; 0 for offline ones.
fn complete(present: &Present, values: &[Option<u64>]) -> Option<Vec<u64>> {
    let all = values.iter().zip(&present.online);
    all.map(|(value, online)| if *online { *value } else { Some(0) })
        .collect()
}

/// Position in [`TYPES`] by index of the CPU.
fn named_types(reader: &mut Reader, present: &Present) -> Result<Vec<usize>, LiveError> {
    let mut named = vec![TYPES.len(); present.numbers.len()];
    for (position, name) in TYPES.iter().enumerate() {
        if let Some(list) = reader.list(&format!("sys/devices/{name}/cpus"))? {
            for i in present.indices(&list) {
                named[i] = named[i].min(position);
            }
        }
    }
    Ok(named)
}

/// Gives each CPU the figures of its best sibling.
fn best_of_siblings(cores: &Numbering, figures: Vec<Core>) -> Vec<Core> {
    let mut best: BTreeMap<u16, Core> = BTreeMap::new();
    for (core, figure) in cores.of.iter().zip(figures) {
        best.entry(*core).and_modify(|b| *b = figure.min(*b)).or_insert(figure);
    }
    cores.of.iter().map(|core| best[core]).collect()
}

/// Whether the measure alone, without the named types, yields more than one kind.
fn tells_apart(figures: &[Core]) -> bool {
    let unnamed: Vec<Core> = figures.iter().map(|f| Core { named: 0, ..*f }).collect();
    tiers(&unnamed).1.len() > 1
}

/// The tier of each, and the highest speed in each tier. Tiers are in order of speed; equal ones are in order of their names.
fn tiers(figures: &[Core]) -> (Vec<u16>, Vec<u64>) {
    let mut order: Vec<usize> = (0..figures.len()).collect();
    order.sort_by_key(|&i| figures[i]);
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for i in order {
        match groups.last_mut() {
            Some(group)
                if group
                    .last()
                    .is_some_and(|&before| same_kind(figures[before], figures[i])) =>
            {
                group.push(i)
            }
            _ => groups.push(vec![i]),
        }
    }
    groups.sort_by_key(|group| (figures[group[0]].speed, figures[group[0]].named));
    let mut tier = vec![0; figures.len()];
    for (number, group) in groups.iter().enumerate() {
        for &i in group {
            tier[i] = number as u16;
        }
    }
    let fastest = groups.iter().map(|group| figures[group[0]].speed.0).collect();
    (tier, fastest)
}

/// Whether two neighbours in the order of speed, the faster one first, are at most 10 % apart.
fn same_kind(faster: Core, slower: Core) -> bool {
    let (faster_tenths, slower_tenths) = (u128::from(faster.speed.0) * 9, u128::from(slower.speed.0) * 10);
    faster.named == slower.named && slower_tenths >= faster_tenths
}

/// Capacity of a tier: 1024 for the fastest, and if no speed is known.
fn relative(speed: u64, fastest: u64) -> u32 {
    if fastest == 0 {
        return FULL_CAPACITY;
    }
    let full = u128::from(FULL_CAPACITY);
    let rounded = (u128::from(speed) * full + u128::from(fastest) / 2) / u128::from(fastest);
    rounded.clamp(1, full) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tiers_of(cores: &[(usize, u64)]) -> Vec<u16> {
        let core = |&(named, speed): &(usize, u64)| Core {
            named,
            speed: Reverse(speed),
        };
        tiers(&cores.iter().map(core).collect::<Vec<_>>()).0
    }

    #[test]
    fn kinds_begin_at_gaps_of_more_than_a_tenth() {
        for (speeds, expected) in [
            (&[1024][..], &[0][..]),
            (&[1024, 1024, 1024], &[0, 0, 0]),
            (&[4500, 4800, 3800, 2500, 3800], &[0, 0, 1, 2, 1]),
            (&[6000, 5800, 5760, 5250], &[0, 0, 0, 0]),
            (&[166, 236, 186, 196, 176, 206, 226, 216], &[0, 0, 0, 0, 0, 0, 0, 0]),
            (&[325, 1024, 870], &[2, 0, 1]),
            (&[1000, 900, 810, 728], &[0, 0, 0, 1]),
            (&[0, 0], &[0, 0]),
        ] {
            let cores: Vec<(usize, u64)> = speeds.iter().map(|&s| (0, s)).collect();
            assert_eq!(tiers_of(&cores), expected, "{speeds:?}");
        }
    }

    #[test]
    fn named_types_are_kinds_however_fast() {
        assert_eq!(
            tiers_of(&[(1, 0), (0, 0), (2, 0)]),
            [1, 0, 2],
            "by name where nothing is measured"
        );
        assert_eq!(tiers_of(&[(1, 3800), (0, 3900), (0, 4000)]), [1, 0, 0]);
        assert_eq!(tiers_of(&[(0, 3000), (1, 3500)]), [1, 0], "by speed where it is");
        assert_eq!(tiers_of(&[(0, 5000), (1, 3800), (1, 2500)]), [0, 1, 2]);
    }

    #[test]
    fn siblings_count_by_the_faster_one() {
        let cores = Numbering {
            of: vec![0, 0, 1],
            count: 2,
        };
        let core = |speed| Core {
            named: 0,
            speed: Reverse(speed),
        };
        let best = best_of_siblings(&cores, vec![core(500), core(1000), core(990)]);
        assert_eq!(tiers(&best).0, [0, 0, 0]);
    }

    #[test]
    fn capacity_is_relative_to_the_fastest() {
        for (speed, fastest, expected) in [(42, 68, 632), (68, 68, 1024), (1, u64::MAX, 1), (0, 0, 1024)] {
            assert_eq!(relative(speed, fastest), expected, "{speed} of {fastest}");
        }
    }
}
