// SPDX-License-Identifier: GPL-2.0-only
//! Makes the types of hints from the header that the BPF program includes.

use std::path::PathBuf;

const HEADER: &str = "../src/bpf/intf.h";

fn main() {
    println!("cargo:rerun-if-changed={HEADER}");
    println!("cargo:rerun-if-changed=../../hints/record.h");
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo says where"));
    bindgen::builder()
        .header(HEADER)
        .use_core()
        .allowlist_type("lop_hint_(record|page)")
        .allowlist_type("lop_page_(key|args)")
        .allowlist_var("LOP_(HINT_.*|PAGES|PAGE_.*)")
        .prepend_enum_name(false)
        .derive_default(true)
        .derive_eq(true)
        .generate()
        .expect("intf.h is C that libclang reads")
        .write_to_file(out.join("records.rs"))
        .expect("cargo's folder can be written");
}
