// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Which memory domain an application goes to that arrives.

use lop_policy::{DomainLoad, Fit, NodeState, Thread};

/// Domains of ten cores, each with these applications, on machines of this state: the number of the best one.
fn place(domains: &[(NodeState, &[Thread])], t: &Thread) -> Option<usize> {
    let (mut best, mut place) = (Fit::default(), None);
    for (n, &(node, there)) in domains.iter().enumerate() {
        if best.is_bettered_by(&DomainLoad::of(10_000, node, there), there, t) {
            place = Some(n);
        }
    }
    place
}

/// An application of 30 MPKI waits 0.75 of its time, one of 0.09 MPKI 0.008 (in whole thousandths). The second one on seven
/// cores presses 7 * 0.008 = 0.056 and takes 1.006 times as long; the first takes 1 + 0.75 * 0.056 = 1.042 times as long. On nine
/// cores it presses 0.072, and the first takes 1.054 times as long: over 5 %, so it goes to the empty domain. Of 8.4 cores it presses
/// 0.067, and 1.05 is 5 %; of 8.5 it presses 0.068.
#[test]
fn no_application_that_is_there_is_stretched_by_more_than_five_percent() {
    let there = [Thread::arriving(Some(30_000), 1000)];
    let domains: [(NodeState, &[Thread]); 2] = [(NodeState::Used, &there), (NodeState::Off, &[])];
    for (demand_permille, expected) in [(7_000, 0), (8_400, 0), (8_500, 1), (9_000, 1)] {
        let arrives = Thread::arriving(Some(90), demand_permille);
        assert_eq!(place(&domains, &arrives), Some(expected), "{demand_permille}");
    }
}

/// The same two in the other order: the intensive one is the late one, beside nine cores of the other.
#[test]
fn the_application_that_arrives_is_stretched_by_five_percent_at_most() {
    for (demand_permille, expected) in [(7_000, 0), (8_400, 0), (8_500, 1), (9_000, 1)] {
        let there = [Thread::arriving(Some(90), demand_permille)];
        let domains: [(NodeState, &[Thread]); 2] = [(NodeState::Used, &there), (NodeState::Off, &[])];
        let arrives = Thread::arriving(Some(30_000), 1000);
        assert_eq!(place(&domains, &arrives), Some(expected), "{demand_permille}");
    }
}
