// SPDX-License-Identifier: MIT OR Apache-2.0
use super::*;
use crate::scripted::scripted;
use proptest::prelude::*;

const ALL: &str = "
    0 0 exec 7 make
    5 0 fork 7 8
    6 0 thread 7 9
    7 1 in 8
    8 1 name 8 cc1
    9 0 wake 8 9
    11 0 preempted 7
    300 4095 blocked 9
    90000 1 exit 8";

fn bytes() -> Vec<u8> {
    write(&scripted(ALL)).unwrap()
}

/// The offset at which the events of [`bytes`] begin.
fn first_event(bytes: &[u8]) -> usize {
    (bytes.iter().enumerate())
        .filter(|(_, &b)| b == b'\n')
        .nth(1)
        .unwrap()
        .0
        + 1
}

#[test]
fn what_is_written_can_be_read() {
    let trace = scripted(ALL);
    assert_eq!(read("a.trace", &bytes()).unwrap(), trace);
    // A switch takes a few bytes, not a line of text.
    let events = bytes().len() - first_event(&bytes());
    assert!(events < 8 * trace.events.len(), "{events} bytes");
}

/// Version 1 has no speed.
#[test]
fn recordings_of_version_1_are_read() {
    let (now, events) = (bytes(), first_event(&bytes()));
    let header = String::from_utf8(now[MAGIC.len()..events].to_vec()).unwrap();
    let first = [
        b"lop-trace 1\n".to_vec(),
        header.replace("\"speed_permille\":null,", "").into_bytes(),
        now[events..].to_vec(),
    ]
    .concat();
    assert_ne!(first, now);
    assert_eq!(read("a.trace", &first).unwrap(), scripted(ALL));
}

#[test]
fn the_bytes_of_an_event_are_those_of_the_documentation() {
    // 300 us is 289000 ns after the previous event: 0xe8 0xd1 0x11; CPU 4095: 0xff 0x1f.
    let bytes = bytes();
    let expected = [BLOCKED, 0xe8, 0xd1, 0x11, 0xff, 0x1f, 9];
    assert!(bytes.windows(expected.len()).any(|window| window == expected));
}

#[test]
fn what_is_malformed_is_refused_with_file_place_and_reason() {
    let good = bytes();
    let events = first_event(&good);
    let with = |events: &[u8]| [&good[..first_event(&good)], events].concat();
    let header = |json: &str| format!("lop-trace 1\n{json}\n").into_bytes();
    let changed = |from: &str, to: &str| {
        let line = String::from_utf8(good[MAGIC.len()..events - 1].to_vec()).unwrap();
        assert!(line.contains(from), "{line}");
        header(&line.replace(from, to))
    };
    for (bytes, expected) in [
        (b"".to_vec(), "a.trace:1: not a recording"),
        (b"name = 'a'\n".to_vec(), "a.trace:1: not a recording"),
        (
            b"lop-trace 3\n{}\n".to_vec(),
            "a.trace:1: a recording of another version",
        ),
        (b"lop-trace 1\n{}".to_vec(), "a.trace:2: the header does not end"),
        (header("{}"), "a.trace:2: bad header: missing field `command`"),
        (header("[1"), "a.trace:2: bad header: invalid type"),
        (
            changed("\"cpus\":2", "\"cpus\":0"),
            "a.trace:2: a time or a number of CPUs",
        ),
        (
            changed("\"cpus\":2", "\"cpus\":99999"),
            "a.trace:2: a time or a number of CPUs",
        ),
        (
            changed("\"speed_permille\":null", "\"speed_permille\":0"),
            "a.trace:2: host.speed_permille: expected 1 to 1000000",
        ),
        (
            changed("\"command\"", "\"comand\""),
            "a.trace:2: bad header: unknown field",
        ),
        (with(&[]), "the file ends here"),
        (good[..good.len() - 1].to_vec(), "the file ends here"),
        (with(&[99]), &format!("byte {events}: unknown event 99")),
        (
            with(&[END, 3]),
            &format!("byte {events}: the end says 3 events, but there are 0"),
        ),
        (with(&[END, 0, 7]), &format!("byte {}: more after the end", events + 2)),
        (
            with(&[IN, 0, 0x80, 0x20, 1, END, 1]),
            &format!("byte {}: 4096, expected a CPU", events + 2),
        ),
        (
            with(&[IN, 0, 0, 0xff, 0xff, 0xff, 0x7f, END, 1]),
            "expected a task of at most 4194304",
        ),
        (
            with(&[IN, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]),
            "a number of more than 63 bits",
        ),
        (with(&[NAME, 0, 0, 1, 65]), "65, expected a length of a name"),
        (
            with(&[NAME, 0, 0, 1, 2, 0xff, 0xff, END, 1]),
            &format!("byte {}: a name that is not UTF-8", events + 5),
        ),
        (with(&[NAME, 0, 0, 1, 9, b'a']), "the file ends here"),
    ] {
        let error = read("a.trace", &bytes).expect_err(expected).to_string();
        assert!(
            error.starts_with("a.trace") && error.contains(expected),
            "{error}, expected {expected}"
        );
    }
}

#[test]
fn other_files_are_no_recordings() {
    assert!(!is_trace(std::path::Path::new("/proc/version")));
    assert!(load(std::path::Path::new("/proc"))
        .unwrap_err()
        .to_string()
        .contains("regular file"));
    assert!(load(std::path::Path::new("missing.trace"))
        .unwrap_err()
        .to_string()
        .starts_with("missing.trace: cannot be read"));
}

proptest! {
    #[test]
    fn any_numbers_come_back(numbers in proptest::collection::vec((0..MAX_TIME_NS / 1000, 0..=MAX_CPU, 0..=MAX_TASK), 0..200)) {
        let mut trace = scripted("");
        let mut at_ns = 0;
        for (later_ns, cpu, task) in numbers {
            at_ns += later_ns / 1000;
            trace.events.push(Event { at_ns, cpu, what: What::Wake { waker: task, woken: task / 2 } });
        }
        prop_assert_eq!(read("a", &write(&trace).unwrap()).unwrap(), trace);
    }

    #[test]
    fn any_change_of_a_byte_is_read_or_refused(at in 0usize..300, to: u8) {
        let mut bytes = bytes();
        let at = at % bytes.len();
        bytes[at] = to;
        if let Err(error) = read("a.trace", &bytes) {
            prop_assert!(error.to_string().starts_with("a.trace"));
        }
    }
}
