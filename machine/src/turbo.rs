// SPDX-License-Identifier: MIT OR Apache-2.0
//! How fast the cores of a kind may run by how many of them are busy.

use crate::check::Source;
use crate::kind::MAX_MHZ;
use crate::schema::{KindFile, TurboFile};
use crate::{InputError, Opp, Turbo, MAX_CPUS};

const MAX_CPUS_I64: i64 = MAX_CPUS as i64;

/// The list of kind number `kind`, whose last entry must hold for all its cores in a socket.
pub fn turbo(source: Source, kind: usize, file: &KindFile, opps: &[Opp]) -> Result<Vec<Turbo>, InputError> {
    let Some(list) = &file.turbo else { return Ok(Vec::new()) };
    let path = format!("kind.{kind}.turbo");
    let mut all: Vec<Turbo> = Vec::new();
    for (i, entry) in list.get_ref().iter().enumerate() {
        let turbo = entry_of(source, &format!("{path}.{i}"), entry, opps)?;
        if let Some(before) = all.last() {
            falling(source, &format!("{path}.{i}"), entry, (before, &turbo), opps)?;
        }
        all.push(turbo);
    }
    let (covered, cores) = (all.last().map_or(0, |last| last.busy_cores), *file.cores.get_ref());
    if (covered as i64) < cores {
        let message = format!("up to {covered} busy cores, expected up to the {cores} of a socket");
        return Err(source.error(list.span(), path, message));
    }
    Ok(all)
}

fn entry_of(source: Source, path: &str, file: &TurboFile, opps: &[Opp]) -> Result<Turbo, InputError> {
    let key = format!("{path}.mhz");
    let mhz = source.number(&file.mhz, &key, 0.001..=MAX_MHZ, "MHz")?;
    let Some(opp) = opps.iter().rposition(|opp| opp.khz as f64 <= mhz * 1e3) else {
        let lowest = opps[0].khz as f64 / 1e3;
        let message = format!("{mhz}, expected at least {lowest} MHz, the lowest operating point");
        return Err(source.error(file.mhz.span(), key, message));
    };
    Ok(Turbo {
        busy_cores: source.count(&file.cores, &format!("{path}.cores"), 1..=MAX_CPUS_I64)?,
        opp,
    })
}

/// More busy cores than in the entry before, and no more speed.
fn falling(
    source: Source,
    path: &str,
    file: &TurboFile,
    (before, turbo): (&Turbo, &Turbo),
    opps: &[Opp],
) -> Result<(), InputError> {
    if turbo.busy_cores <= before.busy_cores {
        let message = format!(
            "{}, expected more than {} before it",
            turbo.busy_cores, before.busy_cores
        );
        return Err(source.error(file.cores.span(), format!("{path}.cores"), message));
    }
    if turbo.opp > before.opp {
        let most = opps[before.opp].khz as f64 / 1e3;
        let message = format!(
            "{}, expected at most {most} MHz of fewer busy cores",
            file.mhz.get_ref()
        );
        return Err(source.error(file.mhz.span(), format!("{path}.mhz"), message));
    }
    Ok(())
}
