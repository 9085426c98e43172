// SPDX-License-Identifier: MIT OR Apache-2.0
//! Limits on a kernel whose worker applies them a moment after they were written.

use super::fake::{acpi, policy_file, Fake};
use crate::speed::limit::limit;
use crate::speed::restore::take_over;
use std::collections::BTreeMap;

fn late_fake(reads: usize) -> Fake {
    let fake = Fake::new(&[acpi(0, "0", "schedutil"), acpi(1, "1", "schedutil")], "0-1");
    fake.late(reads);
    fake
}

/// The limit of CPU 1, or why it has none.
fn limited(fake: &Fake, khz: u32) -> Result<u32, String> {
    let wanted = BTreeMap::from([(1, khz)]);
    let limited = limit(fake, &fake.journal_path(), &wanted).map_err(|error| error.to_string())?;
    Ok(limited[&1].khz)
}

#[test]
fn a_limit_is_told_as_it_is_once_the_kernel_has_taken_it_in() {
    let fake = late_fake(5);
    assert_eq!(limited(&fake, 1_400_000), Ok(1_400_000));
    assert_eq!(fake.limits(1).1, "1400000");
}

#[test]
fn the_next_limit_does_not_take_the_last_one_for_the_original() {
    let fake = late_fake(5);
    limited(&fake, 1_400_000).unwrap();
    assert_eq!(limited(&fake, 1_800_000), Ok(1_800_000));
    let (left, restored) = take_over(&fake, &fake.journal_path()).unwrap();
    assert!(left.entries.is_empty() && restored.skipped.is_empty());
    assert_eq!(fake.limits(1).1, "2100000");
}

#[test]
fn a_limit_between_two_steps_that_already_stands_is_not_waited_for() {
    let fake = late_fake(0);
    let limit = policy_file(1, "scaling_max_freq");
    fake.put(&limit, "1400000");
    fake.late(usize::MAX);
    for asked in [1_500_000, 1_400_000] {
        assert_eq!(limited(&fake, asked), Ok(1_400_000));
        assert_eq!(fake.looks_in_vain(&limit), 1, "one look is enough");
    }
}

#[test]
fn a_limit_that_is_never_taken_in_is_an_error() {
    let fake = late_fake(usize::MAX);
    let refused = limited(&fake, 1_400_000).unwrap_err();
    assert!(
        refused.contains("still 2100000 kHz") && refused.contains("as in 50%"),
        "{refused}"
    );
}
