// SPDX-License-Identifier: MIT OR Apache-2.0
//! Memory domains of a machine file: which cores share a last-level cache, and how large that is.

use crate::check::Source;
use crate::schema::{MachineFile, MemoryDomainFile, MemoryDomains, Number, Scope};
use crate::topology::{Layout, MemoryScope};
use crate::{InputError, MAX_CPUS};
use toml::Spanned;

const MAX_CPUS_I64: i64 = MAX_CPUS as i64;
/// Largest cache, MiB.
const MAX_CACHE_MIB: f64 = 65_536.0;
const PER_DOMAIN: &str = "cores_per_memory_domain";

/// A count that divides the cores of a socket.
pub fn divisor(source: Source, value: &Spanned<i64>, key: &str, of: usize) -> Result<usize, InputError> {
    let n = source.count(value, key, 1..=MAX_CPUS_I64)?;
    if !of.is_multiple_of(n) {
        let message = format!("{n} does not divide the {of} cores of a socket, expected a divisor of {of}");
        return Err(source.error(value.span(), key, message));
    }
    Ok(n)
}

/// Which cores share a domain; one for each socket by default.
pub fn scope(source: Source, file: &MachineFile, cores_per_socket: usize) -> Result<MemoryScope, InputError> {
    match (&file.memory_domain, &file.cores_per_memory_domain) {
        (None, None) => Ok(MemoryScope::Shared(Scope::Socket)),
        (None, Some(n)) => divisor(source, n, PER_DOMAIN, cores_per_socket).map(MemoryScope::Cores),
        (Some(_), Some(n)) => Err(source.error(
            n.span(),
            PER_DOMAIN,
            "expected either this or memory_domain, found both",
        )),
        (Some(domains), None) => match domains.get_ref() {
            MemoryDomains::Shared(scope) => Ok(MemoryScope::Shared(*scope)),
            MemoryDomains::Listed(tables) => {
                let cores = tables
                    .iter()
                    .enumerate()
                    .map(|(i, table)| cores(source, file, i, table));
                let listed = cores.collect::<Result<Vec<_>, _>>()?;
                check_sums(source, file, domains.span(), &listed)?;
                Ok(MemoryScope::Listed(listed))
            }
        },
    }
}

/// How many cores of each kind table `i` has.
fn cores(source: Source, file: &MachineFile, i: usize, table: &MemoryDomainFile) -> Result<Vec<usize>, InputError> {
    let mut of_kind = vec![0; file.kind.len()];
    if table.cores.get_ref().is_empty() {
        let message = "no cores, expected { kind = number } for at least one kind";
        return Err(source.error(table.cores.span(), format!("memory_domain.{i}.cores"), message));
    }
    for (name, value) in table.cores.get_ref() {
        let key = format!("memory_domain.{i}.cores.{name}");
        let Some(kind) = file.kind.iter().position(|kind| kind.name.get_ref() == name) else {
            let known: Vec<&str> = file.kind.iter().map(|kind| kind.name.get_ref().as_str()).collect();
            let message = format!("unknown kind '{name}', expected one of {}", known.join(", "));
            return Err(source.error(value.span(), key, message));
        };
        of_kind[kind] = source.count(value, &key, 1..=MAX_CPUS_I64)?;
    }
    Ok(of_kind)
}

/// Each core of a kind must be in exactly one domain.
fn check_sums(
    source: Source,
    file: &MachineFile,
    place: std::ops::Range<usize>,
    listed: &[Vec<usize>],
) -> Result<(), InputError> {
    for (number, kind) in file.kind.iter().enumerate() {
        let in_domains: usize = listed.iter().map(|of_kind| of_kind[number]).sum();
        let (name, cores) = (kind.name.get_ref(), *kind.cores.get_ref());
        if in_domains as i64 != cores {
            let message = format!("{in_domains} cores of kind '{name}' in all, expected the {cores} of a socket");
            return Err(source.error(place, "memory_domain", message));
        }
    }
    Ok(())
}

/// If the file gives the sizes of both nodes and domains, one must lie within the other.
pub fn check_nodes(source: Source, file: &MachineFile, layout: &Layout) -> Result<(), InputError> {
    let (place, key) = match (&layout.memory, &file.memory_domain, &file.cores_per_memory_domain) {
        (MemoryScope::Cores(_), _, Some(n)) => (n.span(), PER_DOMAIN),
        (MemoryScope::Listed(_), Some(domains), _) => (domains.span(), "memory_domain"),
        _ => return Ok(()),
    };
    let Some(domain) = layout.straddling() else {
        return Ok(());
    };
    let cores = layout.cores_per_socket() / layout.nodes_per_socket;
    let message = format!("domain {domain} straddles the nodes of {cores} cores, expected one inside the other");
    Err(source.error(place, key, message))
}

/// Size of the cache of each of the machine's `nr_domains` domains, KiB.
pub fn caches(source: Source, file: &MachineFile, nr_domains: usize) -> Result<Vec<Option<u64>>, InputError> {
    let kib = |value: &Option<Number>, key: &str| {
        let mib = value
            .as_ref()
            .map(|value| source.positive(value, key, MAX_CACHE_MIB, "MiB"));
        Ok(mib.transpose()?.map(|mib| ((mib * 1024.0).round() as u64).max(1)))
    };
    match (file.memory_domain.as_ref().map(Spanned::get_ref), &file.cache_mib) {
        (Some(MemoryDomains::Listed(_)), Some(value)) => Err(source.error(
            value.span(),
            "cache_mib",
            "expected it in each memory_domain, as these are listed",
        )),
        (Some(MemoryDomains::Listed(tables)), None) => {
            let of_table =
                |(i, table): (usize, &MemoryDomainFile)| kib(&table.cache_mib, &format!("memory_domain.{i}.cache_mib"));
            let in_socket = tables
                .iter()
                .enumerate()
                .map(of_table)
                .collect::<Result<Vec<_>, InputError>>()?;
            Ok(in_socket.iter().copied().cycle().take(nr_domains).collect())
        }
        (_, value) => Ok(vec![kib(value, "cache_mib")?; nr_domains]),
    }
}
