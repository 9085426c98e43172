// SPDX-License-Identifier: GPL-2.0-only
//! `lop agent --node`: what the agent of a node of Kubernetes (fleet/node) needs of its machine, one line of JSON in and one out.

use super::kernel::Place;
use crate::failure::{Failure, BAD_INPUT, FAILED};
use crate::{signals, terminal};
use clap::Args;
use lop_agent::node::{Node, Request};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

pub const EXAMPLES: &str = "\
Example:
  lop agent --node

It is the part on the machine of a program that knows what runs where, such as
gather-node for Kubernetes, and is started by it. It reads requests from standard
input, a line of JSON each, and answers each with a line on standard output:

  {\"confine\": {\"kubepods.slice/kubepods-podA.slice\": 1}}
  {\"domains\":[\"0-7\",\"8-15\"],\"cgroups\":\"/sys/fs/cgroup\",\"counted\":{},\"left\":{}}

A request replaces the one before, also that of one that was killed: it names all
cgroups that are to run in one memory domain, from 0 in the order of the answer, and all
others get their CPUs back. 'left' says which are not as requested, and why. A cgroup
whose cpuset.cpus somebody else has set, there or below, is left alone. \"count\":
[\"kubepods.slice\"] in two requests has 'counted' say how often that cgroup missed the
last-level cache between them, and in how many instructions. A domain whose CPUs are all
offline or isolated keeps its number.

It needs root and cgroup v2 with cpuset; to count it needs the CPU's counters. When its
input ends, and on signals, all cgroups get their CPUs back; after 'kill -9' by 'lop
restore', or by the first request to the next one.";

#[derive(Args)]
pub struct Arguments {
    /// Tell the memory domains of this machine, confine cgroups to them, count their cache misses
    #[arg(long, required = true)]
    node: bool,
    #[command(flatten)]
    place: Place,
}

pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let dir = arguments.place.run_dir();
    let node = Node::begin(&arguments.place.root, dir.path()).map_err(failed)?;
    let node = Arc::new(Mutex::new(node));
    let held = Arc::clone(&node);
    let _signals = signals::on_ending(move |_| {
        // Held until the process is gone, so that no request is served after this.
        let mut node = locked(&held);
        let ended = end(&mut node);
        ended.iter().for_each(Failure::print);
        std::process::exit(ended.map_or(0, |failure| failure.code).into());
    })?;
    let served = serve(&node);
    let ended = end(&mut locked(&node));
    served.and(ended.map_or(Ok(()), Err))
}

fn serve(node: &Mutex<Node>) -> Result<(), Failure> {
    for (index, line) in std::io::stdin().lines().enumerate() {
        let bad = |error: &dyn std::fmt::Display| {
            let message = format!("standard input:{}: {error}", index + 1);
            Failure::new(BAD_INPUT, message).hint("'lop agent --help' shows a request")
        };
        let request: Request =
            serde_json::from_str(&line.map_err(|error| bad(&error))?).map_err(|error| bad(&error))?;
        let answer = locked(node).serve(&request).map_err(failed)?;
        let text = serde_json::to_string(&answer).map_err(|error| failed(error.to_string()))?;
        if !terminal::is_read(&format!("{text}\n"))? {
            break;
        }
    }
    Ok(())
}

fn end(node: &mut Node) -> Option<Failure> {
    node.end().err().map(|failed| not_restored(&failed))
}

/// Cgroups that do not have their CPUs back: a sentence for each.
pub fn not_restored(failed: &[String]) -> Failure {
    Failure::new(FAILED, failed.join("; ")).hint("'lop restore' tries again, as does the next 'lop agent --node'")
}

fn locked(node: &Mutex<Node>) -> MutexGuard<'_, Node> {
    node.lock().unwrap_or_else(PoisonError::into_inner)
}

fn failed(sentence: String) -> Failure {
    Failure::new(FAILED, sentence)
}
