// SPDX-License-Identifier: MIT OR Apache-2.0
//! Typed access to the members of an object, with errors that name line and key.

use super::super::draft::Source;
use super::json::{Member, Value};
use lop_machine::{InputError, MAX_CPUS};
use std::collections::BTreeSet;

/// An object: its members, and its dotted key.
pub(super) struct Object<'a> {
    pub source: &'a Source<'a>,
    pub members: &'a [Member],
    pub key: String,
    pub offset: usize,
}

impl<'a> Object<'a> {
    /// An error about one of its members.
    pub fn error(&self, member: &Member, message: impl Into<String>) -> InputError {
        self.source.error(member.offset, &self.key_of(member), message)
    }

    /// An error about the object as a whole.
    pub fn error_here(&self, message: impl Into<String>) -> InputError {
        self.source.error(self.offset, &self.key, message)
    }

    pub fn key_of(&self, member: &Member) -> String {
        match self.key.is_empty() {
            true => member.key.clone(),
            false => format!("{}.{}", self.key, member.key),
        }
    }

    /// The member of this name. A repeated one is an error, as rt-app would drop one of them.
    pub fn get(&self, name: &str) -> Result<Option<&'a Member>, InputError> {
        let mut all = self.members.iter().filter(|m| m.key == name);
        let first = all.next();
        match all.next() {
            Some(again) => Err(self.error(again, "given twice; expected once")),
            None => Ok(first),
        }
    }

    pub fn whole(&self, member: &Member, min: i64, max: i64, what: &str) -> Result<i64, InputError> {
        let number = match &member.value {
            Value::Number(text) => text.parse::<i64>().ok(),
            _ => None,
        };
        match number {
            Some(n) if (min..=max).contains(&n) => Ok(n),
            _ => {
                let found = match &member.value {
                    Value::Number(text) => text.as_str(),
                    other => other.kind(),
                };
                Err(self.error(
                    member,
                    format!("expected {what} as a whole number from {min} to {max}, found {found}"),
                ))
            }
        }
    }

    pub fn optional_whole(&self, name: &str, min: i64, max: i64, what: &str) -> Result<Option<i64>, InputError> {
        self.get(name)?.map(|m| self.whole(m, min, max, what)).transpose()
    }

    pub fn string(&self, member: &'a Member, what: &str) -> Result<&'a str, InputError> {
        match &member.value {
            Value::String(text) => Ok(text),
            other => Err(self.error(member, format!("expected {what} as a string, found {}", other.kind()))),
        }
    }

    pub fn optional_string(&self, name: &str, what: &str) -> Result<Option<&'a str>, InputError> {
        self.get(name)?.map(|m| self.string(m, what)).transpose()
    }

    pub fn members_of(&self, member: &'a Member) -> Result<&'a [Member], InputError> {
        match &member.value {
            Value::Object(members) => Ok(members),
            other => Err(self.error(member, format!("expected an object, found {}", other.kind()))),
        }
    }

    /// The value of a member as an object.
    pub fn inner(&self, member: &'a Member) -> Result<Object<'a>, InputError> {
        Ok(Object {
            source: self.source,
            members: self.members_of(member)?,
            key: self.key_of(member),
            offset: member.offset,
        })
    }

    /// `cpus`; `None`: not given, so all CPUs.
    pub fn cpus(&self) -> Result<Option<BTreeSet<u16>>, InputError> {
        let Some(member) = self.get("cpus")? else {
            return Ok(None);
        };
        let Value::Array(elements) = &member.value else {
            return Err(self.error(
                member,
                format!("expected an array of CPUs, found {}", member.value.kind()),
            ));
        };
        if elements.is_empty() {
            return Err(self.error(member, "expected at least one CPU (leave the key out for all)"));
        }
        let cpu = |value: &Value| match value {
            Value::Number(text) => text.parse::<u16>().ok().filter(|&n| usize::from(n) < MAX_CPUS),
            _ => None,
        };
        let numbers = elements.iter().map(|element| {
            cpu(&element.value).ok_or_else(|| {
                let message = format!("expected CPUs from 0 to {}", MAX_CPUS - 1);
                self.source.error(element.offset, &self.key_of(member), message)
            })
        });
        numbers.collect::<Result<_, _>>().map(Some)
    }
}
