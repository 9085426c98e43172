// SPDX-License-Identifier: GPL-2.0-only
//! Compiles the BPF program (policy/ and its adapter) and generates the skeleton that loads it. .cargo/config.toml chooses the clang.

fn main() {
    // The folders of policy/ whose headers the program includes without a folder's name. Relative paths, since flags are split at spaces.
    let folders = std::fs::read_dir("../policy").expect("policy/ is beside kernel/");
    let names = folders.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let folders = names.map(|name| format!("../policy/{name}"));
    let folders: Vec<String> = folders.filter(|folder| has_headers(folder)).collect();
    folders
        .iter()
        .for_each(|folder| println!("cargo:rerun-if-changed={folder}"));
    println!("cargo:rerun-if-changed=../policy/lopsided.h");
    println!("cargo:rerun-if-changed=../policy/policies.def");
    println!("cargo:rerun-if-changed=../hints/record.h");
    let includes: String = folders.iter().map(|folder| format!("-I{folder} ")).collect();
    std::env::set_var("BPF_EXTRA_CFLAGS_POST_INCL", format!("{includes}-I../policy"));
    scx_cargo::BpfBuilder::new()
        .and_then(|mut builder| {
            builder
                .enable_intf("src/bpf/intf.h", "bpf_intf.rs")
                .enable_skel("src/bpf/main.bpf.c", "bpf")
                .build()
        })
        .unwrap_or_else(|error| panic!("the BPF program does not build: {error:#}"));
}

/// Whether this folder has headers; the other folders belong to the native build.
fn has_headers(folder: &str) -> bool {
    std::path::Path::new(folder).is_dir() && !folder.ends_with("/src") && !folder.ends_with("/tests")
}
