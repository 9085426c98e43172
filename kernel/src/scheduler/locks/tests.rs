// SPDX-License-Identifier: GPL-2.0-only
use super::*;

/// BTF of a kernel with these functions: names, and the names of their arguments, which are all integers.
fn kernel(functions: &[(&str, &[&str])]) -> Vec<u8> {
    let (mut types, mut strings) = (Vec::new(), vec![0u8]);
    let mut text = |word: &str| {
        let at = strings.len() as u32;
        strings.extend(word.bytes().chain([0]));
        at
    };
    let mut put = |words: &[u32]| types.extend(words.iter().flat_map(|word| word.to_ne_bytes()));
    // Kinds: 1 integer, 12 function, 13 its prototype. Type 1 is a signed integer of 4 bytes, 32 bits.
    put(&[text("int"), 1 << 24, 4, 1 << 24 | 32]);
    for (number, (name, arguments)) in functions.iter().enumerate() {
        let prototype = 2 + 2 * number as u32;
        put(&[0, 13 << 24 | arguments.len() as u32, 1]);
        for argument in *arguments {
            put(&[text(argument), 1]);
        }
        put(&[text(name), 12 << 24, prototype]);
    }
    let lengths = [types.len() as u32, strings.len() as u32];
    // Magic, version, flags; then the length of the header, and the offsets and lengths of types and strings after it.
    let header = [0xeb9f | 1 << 16, 24, 0, lengths[0], lengths[0], lengths[1]];
    let mut bytes: Vec<u8> = header.iter().flat_map(|word: &u32| word.to_ne_bytes()).collect();
    bytes.extend(types);
    bytes.extend(strings);
    bytes
}

/// The result for a kernel with these functions.
fn found(functions: &[(&str, &[&str])]) -> Result<Places, String> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("vmlinux");
    std::fs::write(&file, kernel(functions)).unwrap();
    Places::of(&Btf::from_path(&file).unwrap())
}

const WAITS: &[&str] = &["uaddr", "flags", "val", "abs_time", "bitset"];

#[test]
fn arguments_are_found_where_the_kernel_has_them() {
    let as_now = found(&[(WAIT, WAITS), (WAKE, &["uaddr", "flags", "nr_wake", "bitset"])]);
    let places = |wait_address, wake_address, wake_count| Places {
        wait_address,
        wake_address,
        wake_count,
    };
    assert_eq!(as_now, Ok(places(0, 0, 2)));
    let other = found(&[
        ("other", &["uaddr"]),
        (WAKE, &["nr_wake", "uaddr"]),
        (WAIT, &["flags", "uaddr"]),
    ]);
    assert_eq!(other, Ok(places(1, 1, 0)));
}

#[test]
fn what_a_kernel_lacks_is_said() {
    for (functions, named) in [
        (&[(WAIT, WAITS)][..], "no function futex_wake"),
        (&[(WAKE, &["uaddr", "nr_wake"][..])], "no function futex_wait"),
        (&[(WAIT, WAITS), (WAKE, &["uaddr", "flags"])], "no argument nr_wake"),
        (
            &[(WAIT, WAITS), (WAKE, &["a", "b", "c", "d", "e", "uaddr", "nr_wake"])],
            "no argument nr_wake",
        ),
    ] {
        let why = found(functions).unwrap_err();
        assert!(why.contains(named), "{why}");
    }
}

/// The kernel that runs the tests, if it has BTF.
#[test]
fn this_kernel_is_read_without_fault() {
    match Locks::look(true).describe() {
        Some(said) => assert!(
            said.starts_with("seen by futex") || said.starts_with("not seen: "),
            "{said}"
        ),
        None => panic!("no description although holders are wanted"),
    }
    assert_eq!(Locks::look(false).describe(), None);
    assert!(!Locks::look(false).are_seen());
}
