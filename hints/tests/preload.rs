// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the library for LD_PRELOAD says of a program that gives no hints itself.

mod common;

use common::build::{compile, make, sources};
use common::program::Program;
use std::process::Command;

const LOCK_HOLDER: u32 = 4;

#[test]
fn who_waited_for_a_mutex_holds_it_for_others_until_it_unlocks_the_last() {
    let out = make("preload", &[]);
    let program = out.join("contended");
    compile("cc", &program, &sources().join("tests/contended.c"), &["-pthread"]);

    let mut program = Program::start(Command::new(program).env("LD_PRELOAD", out.join("liblopsided-preload.so")));
    let condition = [
        ("before-condition", LOCK_HOLDER),
        ("in-condition", 0),
        ("after-condition", 0),
        ("unlocked", 0),
    ];
    let locks = [
        ("outer", LOCK_HOLDER),
        ("both", LOCK_HOLDER),
        ("inner", LOCK_HOLDER),
        ("none", 0),
        ("outer-at-once", 0),
        ("inner-again", LOCK_HOLDER),
    ];
    for (place, flags) in locks.into_iter().chain([condition; 3].concat()) {
        program.at(place, |(own, _)| *own == (flags, 0));
    }
    program.ends();
}
