// SPDX-License-Identifier: MIT OR Apache-2.0
//! Compiles the C library into the crate.

fn main() {
    for file in ["lopsided.c", "lopsided.h", "channel.c", "channel.h", "record.h"] {
        println!("cargo:rerun-if-changed={file}");
    }
    cc::Build::new()
        .files(["lopsided.c", "channel.c"])
        .std("c11")
        .define("_GNU_SOURCE", None)
        .flag("-fvisibility=hidden")
        .flag("-pthread")
        .flag("-Wall")
        .flag("-Wextra")
        .flag("-Werror")
        .opt_level(2)
        .compile("lopsided");
}
