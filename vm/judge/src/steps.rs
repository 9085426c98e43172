// SPDX-License-Identifier: GPL-2.0-only
//! Step functions of time, and the intervals in which they have a value.

/// A value over time: each entry is valid until the next. Times are in ns, ascending.
#[derive(Debug, Clone, PartialEq)]
pub struct Steps<T>(Vec<(u64, T)>);

impl<T: Copy + PartialEq> Steps<T> {
    /// `value` from `from_ns` on; times before count as `from_ns`.
    pub fn new(from_ns: u64, value: T) -> Self {
        Steps(vec![(from_ns, value)])
    }

    /// Sets `value` from `at_ns` on, which must not be before the last change.
    pub fn set(&mut self, at_ns: u64, value: T) {
        let last = self.0.last_mut().expect("never empty");
        debug_assert!(last.0 <= at_ns);
        if last.0 == at_ns {
            last.1 = value;
        } else if last.1 != value {
            self.0.push((at_ns, value));
        }
    }

    pub fn at(&self, at_ns: u64) -> T {
        let after = self.0.partition_point(|(from, _)| *from <= at_ns);
        self.0[after.saturating_sub(1)].1
    }

    /// The last value set.
    pub fn last(&self) -> T {
        self.0.last().expect("never empty").1
    }

    /// Each interval of constant value within `[from_ns, to_ns)`, with the value.
    pub fn stretches(&self, from_ns: u64, to_ns: u64) -> impl Iterator<Item = (Interval, T)> + '_ {
        let first = self.0.partition_point(|(from, _)| *from <= from_ns).saturating_sub(1);
        let ends = self.0[first..].iter().skip(1).map(|step| step.0).chain([u64::MAX]);
        self.0[first..]
            .iter()
            .zip(ends)
            .take_while(move |(step, _)| step.0 < to_ns)
            .filter_map(move |(step, end)| {
                let interval = Interval {
                    from_ns: step.0.max(from_ns),
                    to_ns: end.min(to_ns),
                };
                (interval.from_ns < interval.to_ns).then_some((interval, step.1))
            })
    }

    /// First instant at or after `from_ns` at which `wanted` holds.
    pub fn first(&self, from_ns: u64, wanted: impl Fn(T) -> bool) -> Option<u64> {
        self.stretches(from_ns, u64::MAX)
            .find(|(_, value)| wanted(*value))
            .map(|(interval, _)| interval.from_ns)
    }
}

/// A half-open interval of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Interval {
    pub from_ns: u64,
    pub to_ns: u64,
}

impl Interval {
    pub fn length_ns(&self) -> u64 {
        self.to_ns.saturating_sub(self.from_ns)
    }

    /// The part inside `other`; may be empty.
    pub fn within(&self, other: Interval) -> Interval {
        let from_ns = self.from_ns.max(other.from_ns);
        Interval {
            from_ns,
            to_ns: self.to_ns.min(other.to_ns).max(from_ns),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Steps<u32> {
        let mut steps = Steps::new(10, 1);
        steps.set(20, 2);
        steps.set(20, 3);
        steps.set(30, 3);
        steps.set(40, 1);
        steps
    }

    #[test]
    fn value_at_an_instant() {
        let steps = sample();
        let expected = [(0, 1), (10, 1), (19, 1), (20, 3), (39, 3), (40, 1), (1000, 1)];
        assert!(expected.iter().all(|(at, value)| steps.at(*at) == *value));
    }

    #[test]
    fn stretches_are_clipped() {
        let found: Vec<_> = sample()
            .stretches(15, 45)
            .map(|(i, v)| (i.from_ns, i.to_ns, v))
            .collect();
        assert_eq!(found, [(15, 20, 1), (20, 40, 3), (40, 45, 1)]);
        assert_eq!(sample().stretches(20, 20).count(), 0);
    }

    #[test]
    fn first_instant_of_a_value() {
        assert_eq!(sample().first(0, |v| v == 3), Some(20));
        assert_eq!(sample().first(25, |v| v == 3), Some(25));
        assert_eq!(sample().first(25, |v| v == 1), Some(40));
        assert_eq!(sample().first(25, |v| v == 9), None);
    }
}
