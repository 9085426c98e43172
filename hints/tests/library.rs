// SPDX-License-Identifier: MIT OR Apache-2.0
//! The C library as programs get it: shared, static, its header, its symbols, and the Python module over it. What it writes is read from the page of a
//! program that ended at once.

mod common;

use common::build::{clang, compile, make, sources, succeeds};
use common::{give, listen, row, send, Page, Words};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

/// Where the libraries are, and the programs `shared` and `static`, each linked with one of them.
fn built() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let out = make("hints", &[]);
        let path = out.display();
        let link = |name: &str, with: &[&str]| {
            let source = sources().join("tests/probe.c");
            compile("cc", &out.join(name), &source, &[&["-pthread"], with].concat());
        };
        let (folder, found) = (format!("-L{path}"), format!("-Wl,-rpath,{path},-z,defs"));
        link("shared", &[&folder, "-llopsided", &found]);
        link("static", &[&format!("{path}/liblopsided.a")]);
        out
    })
}

/// Runs the program in this mode. Returns its number and the folder of its hints.
fn probe(program: &str, mode: &str) -> (u32, tempfile::TempDir) {
    let hints = tempfile::tempdir().unwrap();
    listen(hints.path());
    let pid = ended(
        Command::new(built().join(program))
            .arg(mode)
            .env("LOP_HINT_DIR", hints.path()),
    );
    (pid, hints)
}

/// Runs the command, which must succeed and say nothing, and returns its number.
fn ended(command: &mut Command) -> u32 {
    let child = command
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let pid = child.id();
    let Output { status, stdout, stderr } = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&[stdout, stderr].concat()).into_owned();
    assert!(status.success() && said.is_empty(), "{command:?}: {status}: {said}");
    pid
}

fn lengths(records: &[Words]) -> Vec<u32> {
    records.iter().map(|record| record[2]).collect()
}

#[test]
fn each_call_has_its_word_in_the_record() {
    for program in ["shared", "static"] {
        let (pid, hints) = probe(program, "every-call");
        assert_eq!(
            Page::read(hints.path(), pid).used(),
            [row([2, 1 | 2 | 4 | 8, 7, 9, 4, 3, pid])],
            "{program}"
        );
        let (pid, hints) = probe(program, "all-over");
        assert_eq!(
            Page::read(hints.path(), pid).used(),
            [row([2, 0, 0, 0, 0, 0, pid])],
            "{program}"
        );
    }
}

#[test]
fn threads_have_a_record_each_and_give_it_back() {
    let (pid, hints) = probe("shared", "together");
    let page = Page::read(hints.path(), pid);
    let lengths: BTreeSet<u32> = lengths(page.used()).into_iter().collect();
    assert_eq!(lengths, [10, 11, 12, 13].into());
    let threads: BTreeSet<u32> = page.used().iter().map(|record| record[6]).collect();
    assert!(threads.len() == 4 && threads.contains(&pid), "{threads:?}");
    assert!(page.used()[1..].iter().all(|record| record[1] == 1));

    let (pid, hints) = probe("shared", "one-after-another");
    let page = Page::read(hints.path(), pid);
    let given_back = page.used()[1];
    assert_eq!(page.used().len(), 2);
    assert_eq!((given_back[0], given_back[2], given_back[6]), (0, 13, 0));
}

#[test]
fn a_length_is_handed_on_to_one_thread() {
    let (pid, hints) = probe("shared", "inherit");
    let page = Page::read(hints.path(), pid);
    assert_eq!(lengths(page.used()), [0, 3, 0]);
    assert_eq!(page.used()[0], row([2, 0, 0, 0, 0, 0, pid]));
}

/// Of the three children the first says nothing, the second has a length and a child of its own that spins.
#[test]
fn a_forked_process_has_a_page_of_its_own() {
    let (pid, hints) = probe("shared", "forked");
    assert_eq!(Page::read(hints.path(), pid).used(), [row([2, 4, 5, 0, 0, 0, pid])]);
    let names = std::fs::read_dir(hints.path()).unwrap();
    let number = |name: String| name.strip_suffix(".hints")?.parse().ok();
    let mut others: Vec<u32> = names
        .filter_map(|entry| number(entry.unwrap().file_name().into_string().unwrap()))
        .filter(|number| *number != pid)
        .collect();
    let said = |pid: &u32| Page::read(hints.path(), *pid).used().to_vec();
    others.sort_by_key(|pid| said(pid)[0][1]);
    assert_eq!(
        others.iter().map(said).collect::<Vec<_>>(),
        [
            [row([2, 0, 8, 0, 0, 0, others[0]])],
            [row([2, 1, 0, 0, 0, 0, others[1]])]
        ]
    );
}

#[test]
fn an_executed_program_begins_anew_and_the_lock_says_whose_the_page_is() {
    let (pid, hints) = probe("shared", "executes");
    assert_eq!(Page::read(hints.path(), pid).used(), [row([2, 0, 0, 0, 0, 2, pid])]);
}

#[test]
fn a_thread_that_finds_no_record_gives_no_hints() {
    let (pid, hints) = probe("shared", "full");
    let Page(header, records) = Page::read(hints.path(), pid);
    assert_eq!(header[4], 4095, "the last record was used");
    assert_eq!(records[0], row([2, 0, 10, 0, 0, 0, pid]));
}

/// Four threads, of which the main thread is the first to take a record.
#[test]
fn a_thread_has_a_record_where_a_reader_expects_it() {
    let hints = tempfile::tempdir().unwrap();
    give(hints.path(), 7, 2);
    let mut command = Command::new(built().join("shared"));
    let pid = ended(command.arg("together").env("LOP_HINT_DIR", hints.path()));
    let Page(_, records) = Page::read(hints.path(), pid);
    let taken: Vec<(usize, u32)> = (0..)
        .zip(&records)
        .filter(|(_, r)| r[6] > 0)
        .map(|(at, r)| (at, r[6]))
        .collect();
    assert!(taken.contains(&(pid as usize % 7, pid)), "{taken:?}");
    for (at, thread) in taken {
        assert!(
            [thread, thread + 1].map(|n| n as usize % 7).contains(&at),
            "{thread} at {at}"
        );
    }
}

#[test]
fn files_of_the_program_have_the_numbers_that_they_would_have() {
    probe("shared", "closed");
}

#[test]
fn after_the_first_a_call_makes_no_system_call() {
    probe("shared", "without-system-calls");
    ended(
        Command::new(built().join("shared"))
            .arg("without-system-calls")
            .env_remove("LOP_HINT_DIR"),
    );
}

#[test]
fn where_nobody_listens_nothing_happens() {
    let folder = tempfile::tempdir().unwrap();
    let long = "x".repeat(5000);
    let abandoned = tempfile::tempdir().unwrap();
    drop(std::os::unix::net::UnixListener::bind(abandoned.path().join("socket")).unwrap());
    let folders = [
        None,
        Some(folder.path().join("missing")),
        Some(abandoned.path().into()),
        Some(long.into()),
    ];
    for hints in folders {
        let mut command = Command::new(built().join("shared"));
        command
            .arg("silent")
            .current_dir(folder.path())
            .env_remove("LOP_HINT_DIR");
        ended(command.envs(hints.map(|hints| ("LOP_HINT_DIR", hints))));
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

/// An empty file, one that is no page, pages that promise more than there is, a page of records of another size, and no answer at all.
#[test]
fn what_is_no_page_is_not_used() {
    let word = |words: &[u32]| words.iter().flat_map(|word| word.to_ne_bytes()).collect::<Vec<u8>>();
    let page = |words: &[u32], bytes: usize| {
        let mut page = word(words);
        page.resize(bytes, 0);
        page
    };
    let answers = [
        Some(Vec::new()),
        Some(vec![b'x'; 4096]),
        Some(page(&[0x6870_6f6c, 2, 64, 64], 4096)),
        Some(page(&[0x6870_6f6c, 2, 64, u32::MAX], 4096)),
        Some(page(&[0x6870_6f6c, 2, 128, 8], 4096)),
        Some(page(&[0x6870_6f6c, 1, 64, 8], 4096)),
        Some(page(&[0x6870_6f6c, 2, 64, 0], 4096)),
        Some(page(&[0x6870_6f6c, 2, 64, 8, 0, 9], 4096)),
        None,
    ];
    for answer in answers {
        let hints = tempfile::tempdir().unwrap();
        let listener = std::os::unix::net::UnixListener::bind(hints.path().join("socket")).unwrap();
        let path = hints.path().join("page");
        std::fs::write(&path, answer.as_deref().unwrap_or_default()).unwrap();
        let file = std::fs::File::options().read(true).write(true).open(&path).unwrap();
        let answers = answer.is_some();
        let server = std::thread::spawn(move || {
            let (connection, _) = listener.accept().unwrap();
            if answers {
                send(&connection, &file);
            }
        });
        let mut command = Command::new(built().join("shared"));
        ended(command.arg("silent").env("LOP_HINT_DIR", hints.path()));
        server.join().unwrap();
        assert_eq!(std::fs::read(path).unwrap(), answer.unwrap_or_default());
    }
}

/// Names of functions in this text.
fn named(text: &str) -> BTreeSet<String> {
    text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
        .filter(|word| word.starts_with("lop_"))
        .map(Into::into)
        .collect()
}

#[test]
fn the_symbols_are_those_that_the_header_declares() {
    let header = std::fs::read_to_string(sources().join("lopsided.h")).unwrap();
    let declarations = header.lines().filter(|line| line.contains('(') && line.ends_with(");"));
    let declared: BTreeSet<String> = declarations
        .map(|line| line.split('(').next().unwrap())
        .flat_map(named)
        .collect();
    assert_eq!(declared.len(), 14);
    let list = |arguments: &[&str], library: &str| {
        let said = succeeds(Command::new("nm").args(arguments).arg(built().join(library)));
        said.lines()
            .filter(|line| !line.ends_with(" LOP_0"))
            .map(|line| line.rsplit(' ').next().unwrap().to_string())
            .collect::<BTreeSet<_>>()
    };
    let with_version = declared.iter().map(|name| format!("{name}@@LOP_0")).collect();
    assert_eq!(list(&["-D", "--defined-only"], "liblopsided.so.0"), with_version);
    let soname = succeeds(Command::new("readelf").arg("-d").arg(built().join("liblopsided.so.0")));
    assert!(soname.contains("[liblopsided.so.0]"), "{soname}");
    let of_static: BTreeSet<String> = list(&["-g", "--defined-only"], "liblopsided.a")
        .into_iter()
        .filter(|name| name.starts_with("lop_") && name != "lop_channel")
        .collect();
    assert_eq!(of_static, declared);
}

#[test]
fn the_header_is_c_and_c_plus_plus() {
    let clang = clang();
    for (language, standard) in [("c", "-std=c11"), ("c++", "-std=c++17")] {
        let mut check = Command::new(&clang);
        check.args([
            "-fsyntax-only",
            "-Wall",
            "-Wextra",
            "-Wpedantic",
            "-Werror",
            standard,
            "-x",
            language,
        ]);
        succeeds(
            check
                .args(["-include", "lopsided.h", "/dev/null"])
                .arg("-I")
                .arg(sources()),
        );
    }
}

#[test]
fn the_python_module_makes_the_same_calls() {
    let hints = tempfile::tempdir().unwrap();
    listen(hints.path());
    let mut python = Command::new("python3");
    python
        .arg(sources().join("tests/module.py"))
        .env("LOP_HINT_DIR", hints.path())
        .env("LD_LIBRARY_PATH", built())
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env("PYTHONPATH", sources());
    let pid = ended(&mut python);
    let page = Page::read(hints.path(), pid);
    assert_eq!(page.used()[0], row([2, 4, 7, 9, 4, 3, pid]));
    assert_eq!(lengths(page.used()), [7, 8]);
}
