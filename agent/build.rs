// SPDX-License-Identifier: GPL-2.0-only
//! Makes the types of the memory in which programs give hints from the header that their library includes.

use std::path::PathBuf;

const HEADER: &str = "../hints/record.h";

fn main() {
    println!("cargo:rerun-if-changed={HEADER}");
    // The flag of scripts/fuzz.sh.
    println!("cargo:rustc-check-cfg=cfg(fuzzing)");
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo says where"));
    bindgen::builder()
        .header(HEADER)
        .use_core()
        .allowlist_type("lop_hint_.*")
        .allowlist_var("LOP_HINT_.*")
        .constified_enum_module("lop_hint_bit")
        .derive_default(true)
        .generate()
        .expect("record.h is C that libclang reads")
        .write_to_file(out.join("record.rs"))
        .expect("cargo's folder can be written");
}
