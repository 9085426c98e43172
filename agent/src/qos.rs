// SPDX-License-Identifier: GPL-2.0-only
//! What a file in the manner of Sched QoS (github.com/qais-yousef/schedqos) says of programs and their threads, by their names:
//!
//! ```json
//! { "*/chrome": { "qos": "QOS_USER_INTERACTIVE", "thread_qos": { "Worker*": "QOS_BACKGROUND" } },
//!   "solver": { "profile": "COMPUTE_BOUND", "thread_profile": { "io": "SYNCHRONIZATION_BOUND" } } }
//! ```
//!
//! Sched QoS drafts execution profiles, but has no keys for them yet: `profile` and `thread_profile` are ours.

use glob::Pattern;
use lop_machine::input::read_text;
use lop_machine::InputError;
use lop_policy::{hint_flags, MemoryClass};
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use std::collections::BTreeSet;
use std::fmt;
use std::marker::PhantomData;
use std::path::Path;

/// The kernel keeps so many bytes of a thread's name.
const MOST_OF_NAME: usize = 15;
/// For text that is no JSON.
const FORM: &str = r#"; the form is {"PROGRAM": {"qos": "QOS_BACKGROUND", "thread_qos": {"THREAD": "QOS_DEFAULT"}}}"#;

/// Who waits for a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
enum Tag {
    #[serde(rename = "QOS_USER_INTERACTIVE")]
    UserInteractive,
    #[serde(rename = "QOS_USER_INITIATED")]
    UserInitiated,
    #[serde(rename = "QOS_UTILITY")]
    Utility,
    #[serde(rename = "QOS_BACKGROUND")]
    Background,
    #[serde(rename = "QOS_DEFAULT")]
    Default,
}

/// What a thread's speed depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub enum Profile {
    #[serde(rename = "COMPUTE_BOUND")]
    Compute,
    #[serde(rename = "MEMORY_BOUND")]
    Memory,
    #[serde(rename = "SYNCHRONIZATION_BOUND")]
    Synchronization,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Program {
    qos: Option<Tag>,
    #[serde(default)]
    thread_qos: Threads<Tag>,
    profile: Option<Profile>,
    #[serde(default)]
    thread_profile: Threads<Profile>,
    period: Option<u64>,
    #[serde(rename = "version")]
    _version: Option<String>,
}

/// The members of an object whose names are patterns, in the file's order.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Members<T>(Vec<(Pattern, T)>);

/// The same by names of threads.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Threads<T>(Members<T>);

impl<T> Default for Threads<T> {
    fn default() -> Self {
        Self(Members(Vec::new()))
    }
}

impl<T> Members<T> {
    /// The first in the file that is one of these names of a program or thread, else the first pattern that fits one.
    fn of(&self, names: &[&str]) -> Option<&T> {
        let is = |(pattern, _): &&(Pattern, T)| names.contains(&pattern.as_str());
        let fits = |(pattern, _): &&(Pattern, T)| names.iter().any(|name| pattern.matches(name));
        let found = self.0.iter().find(is).or_else(|| self.0.iter().find(fits));
        found.map(|(_, value)| value)
    }

    fn values(&self) -> impl Iterator<Item = &T> {
        self.0.iter().map(|(_, value)| value)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Members<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_map(InOrder(PhantomData))
    }
}

struct InOrder<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for InOrder<T> {
    type Value = Members<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object whose members have the names of programs or threads")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut members: Vec<(Pattern, T)> = Vec::new();
        while let Some(name) = map.next_key::<String>()? {
            if members.iter().any(|(pattern, _)| pattern.as_str() == name) {
                return Err(A::Error::custom(format!("'{name}' is there twice: keep one of them")));
            }
            let pattern = Pattern::new(&name).map_err(|error| {
                A::Error::custom(format!(
                    "'{name}' is no pattern as of the shell, with * ? [..]: {}",
                    error.msg
                ))
            })?;
            members.push((pattern, map.next_value()?));
        }
        Ok(Members(members))
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Threads<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let members = Members::deserialize(from)?;
        let long = |(pattern, _): &&(Pattern, T)| {
            let name = pattern.as_str();
            name.len() > MOST_OF_NAME && Pattern::escape(name) == name
        };
        match members.0.iter().find(long) {
            Some((name, _)) => Err(D::Error::custom(format!(
                "no thread is called '{name}': the kernel keeps {MOST_OF_NAME} bytes of a name; write these, or a pattern"
            ))),
            None => Ok(Self(members)),
        }
    }
}

/// The hints that a file gives for a thread.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Said {
    tag: Option<Tag>,
    profile: Option<Profile>,
}

impl Said {
    /// Nobody waits for the thread.
    #[must_use]
    pub fn is_background(self) -> bool {
        self.tag == Some(Tag::Background)
    }

    #[must_use]
    pub fn profile(self) -> Option<Profile> {
        self.profile
    }

    /// Bits of `enum lop_hint_flags`.
    pub(crate) fn flags(self) -> u32 {
        if self.is_background() {
            hint_flags::BACKGROUND
        } else {
            0
        }
    }

    /// `enum lop_memory_class`, 0 for none.
    pub(crate) fn memory(self) -> u8 {
        let class = match self.profile {
            Some(Profile::Compute) => MemoryClass::VeryLow,
            Some(Profile::Memory) => MemoryClass::Intensive,
            Some(Profile::Synchronization) | None => MemoryClass::Unknown,
        };
        class as u8
    }
}

/// A file that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Qos(Members<Program>);

impl Qos {
    /// # Errors
    /// File, line and reason: it cannot be read, or is no such file.
    pub fn read(path: &Path) -> Result<Self, InputError> {
        Self::parse(&path.display().to_string(), &read_text(path)?)
    }

    /// `file` names the text in errors.
    ///
    /// # Errors
    /// File, line and reason.
    pub fn parse(file: &str, text: &str) -> Result<Self, InputError> {
        let programs: Members<Program> = serde_json::from_str(text).map_err(|error| {
            let said = error.to_string();
            let reason = said
                .rsplit_once(" at line ")
                .map_or(said.as_str(), |(reason, _)| reason);
            let reason = reason
                .replace("unknown variant", "unknown value")
                .replace("unknown field", "unknown key");
            let form = if error.is_data() { "" } else { FORM };
            InputError::new(file, reason + form).at_line(error.line().max(1))
        })?;
        match programs.0.is_empty() {
            true => Err(InputError::new(
                file,
                "it names no program: {\"NAME\": {\"qos\": \"QOS_BACKGROUND\"}} does",
            )
            .at_line(1)),
            false => Ok(Self(programs)),
        }
    }

    /// What it says of a thread called `thread` of a program called `program`, which is the first word of the program's command line, with or without
    /// folders in the file.
    #[must_use]
    pub fn of(&self, program: &str, thread: &str) -> Said {
        let file_name = program.rsplit('/').next().unwrap_or(program);
        let Some(found) = self.0.of(&[program, file_name]) else {
            return Said::default();
        };
        Said {
            tag: found.thread_qos.0.of(&[thread]).copied().or(found.qos),
            profile: found.thread_profile.0.of(&[thread]).copied().or(found.profile),
        }
    }

    /// Words of the file that have no effect: there is no hint for them, or, by affinity, none that acts (docs/enforcement.md).
    #[must_use]
    pub fn without_effect(&self, by_affinity: bool) -> BTreeSet<&'static str> {
        let mut words = BTreeSet::new();
        for program in self.0.values() {
            let tags = program.thread_qos.0.values().chain(&program.qos);
            words.extend(tags.filter_map(|tag| match tag {
                Tag::UserInteractive => Some("QOS_USER_INTERACTIVE"),
                Tag::UserInitiated => Some("QOS_USER_INITIATED"),
                Tag::Utility => Some("QOS_UTILITY"),
                Tag::Background => by_affinity.then_some("QOS_BACKGROUND"),
                Tag::Default => None,
            }));
            let profiles = program.thread_profile.0.values().chain(&program.profile);
            let bound = |profile: &Profile| *profile == Profile::Synchronization;
            words.extend(
                profiles
                    .filter(|profile| bound(profile))
                    .map(|_| "SYNCHRONIZATION_BOUND"),
            );
            words.extend(program.period.map(|_| "period"));
        }
        words
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const VERY_LOW: u8 = MemoryClass::VeryLow as u8;
    const INTENSIVE: u8 = MemoryClass::Intensive as u8;

    fn qos(text: &str) -> Qos {
        Qos::parse("qos.json", text).unwrap()
    }

    /// Flags and memory class.
    fn said(qos: &Qos, program: &str, thread: &str) -> (u32, u8) {
        let said = qos.of(program, thread);
        (said.flags(), said.memory())
    }

    /// The first three programs are of Sched QoS's own example.
    #[test]
    fn tags_and_profiles_are_hints() {
        let qos = qos(r#"{
            "chrome": { "period": 16000000, "qos": "QOS_USER_INTERACTIVE" },
            "make": { "qos": "QOS_BACKGROUND" },
            "schbench": { "thread_qos": { "schbench-msg": "QOS_USER_INTERACTIVE", "schbench-worker": "QOS_BACKGROUND" } },
            "solver": { "version": "2", "profile": "COMPUTE_BOUND", "qos": "QOS_BACKGROUND",
                "thread_qos": { "ui": "QOS_DEFAULT" }, "thread_profile": { "io*": "SYNCHRONIZATION_BOUND", "copy": "MEMORY_BOUND" } }
        }"#);
        let background = hint_flags::BACKGROUND;
        for (program, thread, expected) in [
            ("chrome", "chrome", (0, 0)),
            ("make", "make", (background, 0)),
            ("schbench", "schbench-msg", (0, 0)),
            ("schbench", "schbench-worker", (background, 0)),
            ("schbench", "schbench", (0, 0)),
            ("solver", "solver", (background, VERY_LOW)),
            ("solver", "ui", (0, VERY_LOW)),
            ("solver", "io-3", (background, 0)),
            ("solver", "copy", (background, INTENSIVE)),
            ("maker", "maker", (0, 0)),
        ] {
            assert_eq!(said(&qos, program, thread), expected, "{program} {thread}");
        }
        let idle = |by_affinity| {
            qos.without_effect(by_affinity)
                .into_iter()
                .collect::<Vec<_>>()
                .join(" ")
        };
        assert_eq!(idle(false), "QOS_USER_INTERACTIVE SYNCHRONIZATION_BOUND period");
        assert_eq!(idle(true), format!("QOS_BACKGROUND {}", idle(false)));
    }

    #[test]
    fn a_name_that_is_written_out_goes_before_patterns() {
        let qos = qos(r#"{
            "*": { "profile": "MEMORY_BOUND" },
            "/opt/*": { "profile": "SYNCHRONIZATION_BOUND" },
            "cc1": { "profile": "COMPUTE_BOUND" },
            "*/nginx": { "qos": "QOS_BACKGROUND" }
        }"#);
        for program in ["cc1", "/usr/libexec/gcc/cc1"] {
            assert_eq!(said(&qos, program, "cc1").1, VERY_LOW, "{program}");
        }
        assert_eq!(said(&qos, "ld", "ld").1, INTENSIVE);
        assert_eq!(
            said(&qos, "/usr/sbin/nginx", "nginx"),
            (0, INTENSIVE),
            "the first pattern"
        );
        let fewer =
            super::tests::qos(r#"{ "*/nginx": { "qos": "QOS_BACKGROUND" }, "cc?": { "profile": "COMPUTE_BOUND" } }"#);
        assert_eq!(said(&fewer, "/usr/sbin/nginx", "nginx").0, hint_flags::BACKGROUND);
        assert_eq!(said(&fewer, "nginx", "nginx").0, 0);
        assert_eq!(said(&fewer, "/usr/lib/gcc/cc1", "cc1").1, VERY_LOW);
    }

    #[test]
    fn what_is_no_such_file_is_refused_with_its_line() {
        for (text, line, reason) in [
            (
                "{\n\"a\": {\n\"qos\": \"QOS_BACK\" } }",
                3,
                "unknown value `QOS_BACK`, expected one of `QOS_USER_INTERACTIVE`",
            ),
            (
                "{\"a\": {},\n\"b\": {\"tread_qos\": {}}}",
                2,
                "unknown key `tread_qos`, expected one of `qos`",
            ),
            ("{\"a\": {},\n\"a\": {}}", 2, "'a' is there twice"),
            (
                "{\"a\": {\"thread_profile\": {\n\"[b\": \"MEMORY_BOUND\"}}}",
                2,
                "'[b' is no pattern",
            ),
            (
                "{\"a\": {\"thread_qos\":\n{\"sixteen-letters-\": \"QOS_DEFAULT\"}}}",
                2,
                "keeps 15 bytes",
            ),
            ("{\"a\": {\"profile\": 7}}", 1, "expected"),
            ("{\"a\":\n\n", 3, "EOF while parsing a value; the form is {"),
            ("[]", 1, "an object whose members"),
            ("{}", 1, "names no program"),
            ("", 1, "EOF"),
        ] {
            let error = Qos::parse("qos.json", text).unwrap_err();
            assert_eq!(
                (error.file.as_str(), error.line),
                ("qos.json", Some(line)),
                "{text}: {error}"
            );
            assert!(error.message.contains(reason), "{text}: {error}");
            assert!(!error.message.contains(" at line "), "{error}");
        }
    }
}
