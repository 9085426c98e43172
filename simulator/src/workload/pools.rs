// SPDX-License-Identifier: MIT OR Apache-2.0
//! Pools as a file describes them, checked and ready to be expanded for a seed.

use super::draft::{Draft, Place, Source, MAX_TASKS};
use super::model::{Item, Pool};
use super::quantity::{share, to_ns, variation, whole};
use super::schema::{RawGraph, RawItem, RawPool};
use lop_machine::InputError;
use std::collections::HashMap;
use toml::Spanned;

/// Where the items of a pool come from.
#[derive(Debug, Clone)]
pub(super) enum Plan {
    /// The file lists them.
    Explicit,
    Fitted(Fitted),
    Graph(Fitted, Graph),
}

/// Processes drawn from a distribution.
#[derive(Debug, Clone)]
pub(super) struct Fitted {
    /// Number of processes, including the tail, without helpers.
    pub phases: usize,
    /// Number of these that run one after the other at the end.
    pub tail: usize,
    pub work_ns: u64,
    pub tail_work_ns: u64,
    pub cv: f64,
    /// Total work of the helpers; 0: no helpers.
    pub helper_ns: u64,
    pub class: u16,
    pub app: u16,
}

/// Objects in directories, each a chain of stages.
#[derive(Debug, Clone)]
pub(super) struct Graph {
    pub directories: usize,
    pub objects: usize,
    pub archive_ns: u64,
    /// Names and shares of an object's work, in order.
    pub stages: Vec<(String, f64)>,
}

impl Plan {
    /// Number of processes that it adds to those of the file, including helpers.
    pub fn tasks(&self) -> u64 {
        match self {
            Self::Explicit => 0,
            Self::Fitted(fitted) | Self::Graph(fitted, _) => match fitted.helper_ns {
                0 => fitted.phases as u64,
                _ => 2 * fitted.phases as u64,
            },
        }
    }
}

/// Names that a pool may use, resolved.
pub(super) struct PoolContext<'a> {
    pub source: Source<'a>,
    pub programs: &'a HashMap<&'a str, u32>,
    pub class: u16,
    pub app: u16,
    pub scale: f64,
}

/// Adds a pool to the draft.
pub(super) fn add(
    draft: &mut Draft,
    name: &str,
    raw: &Spanned<RawPool>,
    context: &PoolContext,
) -> Result<(), InputError> {
    let key = format!("pool.{name}");
    let place = Place {
        offset: raw.span().start,
        key,
    };
    let pool = raw.get_ref();
    let slots = at(context, &place, &pool.slots, |&n| {
        whole(n, 1, MAX_TASKS.into(), "slots")
    })? as u32;
    let (plan, items) = match &pool.items {
        Some(items) => {
            refuse_drawn_keys(pool, &place, context)?;
            (Plan::Explicit, explicit(items, &place, context)?)
        }
        None => (drawn(pool, &place, context)?, Vec::new()),
    };
    draft.workload.pools.push(Pool {
        name: name.to_string(),
        slots,
        items,
    });
    draft.plans.push(plan);
    draft.pool_places.push(place);
    Ok(())
}

/// Checks a value and adds its place to the error.
fn at<T, R>(
    context: &PoolContext,
    place: &Place,
    value: &Spanned<T>,
    check: impl Fn(&T) -> Result<R, String>,
) -> Result<R, InputError> {
    check(value.get_ref()).map_err(|message| context.source.error(value.span().start, &place.key, message))
}

fn refuse_drawn_keys(pool: &RawPool, place: &Place, context: &PoolContext) -> Result<(), InputError> {
    let spans = [
        pool.phases.as_ref().map(Spanned::span),
        pool.work_s.as_ref().map(Spanned::span),
        pool.cv.as_ref().map(Spanned::span),
        pool.serial_tail.as_ref().map(Spanned::span),
        pool.helper.as_ref().map(Spanned::span),
        pool.graph.as_ref().map(Spanned::span),
    ];
    match spans.into_iter().flatten().next() {
        Some(span) => {
            let message = "belongs to a drawn pool; expected either `items` or `phases` and `work_s`";
            Err(context.source.error(span.start, &place.key, message))
        }
        None => Ok(()),
    }
}

fn drawn(pool: &RawPool, place: &Place, context: &PoolContext) -> Result<Plan, InputError> {
    let (Some(phases), Some(work)) = (&pool.phases, &pool.work_s) else {
        let message = "expected `phases` and `work_s` (a drawn pool) or `items` (a listed one)";
        return Err(context.source.error(place.offset, &place.key, message));
    };
    let optional = |value: &Option<Spanned<f64>>, check: fn(f64) -> Result<f64, String>| match value {
        Some(value) => at(context, place, value, |&v| check(v)),
        None => Ok(0.0),
    };
    let count = at(context, place, phases, |&n| whole(n, 1, MAX_TASKS.into(), "phases"))? as usize;
    let work_ns = at(context, place, work, |&s| to_ns(s, 1e9 * context.scale))?;
    if work_ns == 0 {
        return Err(context
            .source
            .error(work.span().start, &place.key, "expected work above 0"));
    }
    let cv = optional(&pool.cv, variation)?;
    let tail_share = optional(&pool.serial_tail, share)?;
    let helper = optional(&pool.helper, share)?;
    let tail = tail_phases(count, tail_share);
    let fitted = Fitted {
        phases: count,
        tail,
        work_ns,
        tail_work_ns: if tail == 0 { 0 } else { part(work_ns, tail_share) },
        cv,
        helper_ns: part(work_ns, helper),
        class: context.class,
        app: context.app,
    };
    match &pool.graph {
        Some(raw) => graph(raw, fitted, place, context),
        None => Ok(Plan::Fitted(fitted)),
    }
}

fn part(work_ns: u64, share: f64) -> u64 {
    (libm::round(work_ns as f64 * share) as u64).min(work_ns)
}

/// The tail has at least one phase if it has work, and leaves at least one to the rest.
fn tail_phases(phases: usize, share: f64) -> usize {
    match share > 0.0 {
        true => (libm::round(phases as f64 * share) as usize).max(1).min(phases - 1),
        false => 0,
    }
}

fn graph(
    raw: &Spanned<RawGraph>,
    mut fitted: Fitted,
    place: &Place,
    context: &PoolContext,
) -> Result<Plan, InputError> {
    let graph = raw.get_ref();
    let fail =
        |offset: usize, message: String| Err(context.source.error(offset, &format!("{}.graph", place.key), message));
    let directories = at(context, place, &graph.directories, |&n| {
        whole(n, 1, MAX_TASKS.into(), "directories")
    })? as usize;
    let archive = match &graph.archive {
        Some(value) => at(context, place, value, |&v| share(v))?,
        None => 0.0,
    };
    let mut stages = Vec::new();
    for (name, value) in graph.stages.get_ref() {
        stages.push((name.clone(), at(context, place, value, |&v| share(v))?));
    }
    let total: f64 = stages.iter().map(|(_, share)| share).sum();
    if stages.is_empty() || (total - 1.0).abs() > 1e-6 {
        let message = format!(
            "expected stages whose shares add up to 1, found {} with {total}",
            stages.len()
        );
        return fail(graph.stages.span().start, message);
    }
    let archive_ns = part(fitted.work_ns, archive);
    if fitted.tail_work_ns + archive_ns >= fitted.work_ns {
        return fail(
            raw.span().start,
            "tail and archives leave no work for the objects".to_string(),
        );
    }
    let left = fitted.phases.saturating_sub(fitted.tail + directories);
    let objects = left / stages.len();
    if objects < directories {
        let message = format!(
            "{} phases leave {objects} objects for {directories} directories; expected at least one object in each",
            fitted.phases
        );
        return fail(graph.directories.span().start, message);
    }
    // Processes that do not make up a whole chain go into the tail, so that their number stays as given.
    let rest = left - objects * stages.len();
    if rest > 0 && fitted.tail == 0 {
        let message =
            format!("{rest} phases make no whole chain; expected a `serial_tail` to take them, or {rest} fewer phases");
        return fail(raw.span().start, message);
    }
    fitted.tail += rest;
    Ok(Plan::Graph(
        fitted,
        Graph {
            directories,
            objects,
            archive_ns,
            stages,
        },
    ))
}

fn explicit(
    items: &Spanned<Vec<Spanned<RawItem>>>,
    place: &Place,
    context: &PoolContext,
) -> Result<Vec<Item>, InputError> {
    let list = items.get_ref();
    let fail =
        |offset: usize, message: String| Err(context.source.error(offset, &format!("{}.items", place.key), message));
    if list.is_empty() || list.len() as u64 > MAX_TASKS {
        return fail(
            items.span().start,
            format!("expected 1 to {MAX_TASKS} items, found {}", list.len()),
        );
    }
    let mut names: HashMap<&str, u32> = HashMap::new();
    for (index, item) in list.iter().enumerate() {
        if let Some(name) = &item.get_ref().name {
            if names.insert(name.get_ref(), index as u32).is_some() {
                return fail(name.span().start, format!("two items are named '{}'", name.get_ref()));
            }
        }
    }
    let resolve = |names: &HashMap<&str, u32>, name: &Spanned<String>, what: &str| {
        names.get(name.get_ref().as_str()).copied().ok_or_else(|| {
            let message = format!(
                "no {what} is named '{}'; expected one that the file has",
                name.get_ref()
            );
            context.source.error(name.span().start, &place.key, message)
        })
    };
    let mut resolved = Vec::with_capacity(list.len());
    for item in list {
        let raw = item.get_ref();
        if raw.stages.is_empty() {
            return fail(item.span().start, "expected at least one stage".to_string());
        }
        resolved.push(Item {
            stages: raw
                .stages
                .iter()
                .map(|n| resolve(context.programs, n, "task"))
                .collect::<Result<_, _>>()?,
            after: raw
                .after
                .iter()
                .map(|n| resolve(&names, n, "item of this pool"))
                .collect::<Result<_, _>>()?,
            helper: raw
                .helper
                .as_ref()
                .map(|n| resolve(context.programs, n, "task"))
                .transpose()?,
        });
    }
    let edges = |index: usize| resolved[index].after.iter().map(|&a| a as usize).collect();
    if let Err(cycle) = super::check::topological(resolved.len(), edges) {
        let name = |&index: &usize| match &list[index].get_ref().name {
            Some(name) => name.get_ref().clone(),
            None => format!("item {index}"),
        };
        let names: Vec<String> = cycle.iter().map(name).collect();
        let message = format!(
            "cycle: {}; expected items that wait for each other in one direction only",
            names.join(" after ")
        );
        return fail(list[cycle[0]].span().start, message);
    }
    Ok(resolved)
}
