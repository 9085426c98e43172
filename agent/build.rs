//! Compiles the policy core natively, with the warnings that the BPF build uses.

fn main() {
    println!("cargo:rerun-if-changed=../policy");
    println!("cargo:rerun-if-changed=src/native.c");
    cc::Build::new()
        .file("src/native.c")
        .include("../policy")
        .std("c11")
        .opt_level(3)
        .flag("-Wall")
        .flag("-Wextra")
        .flag("-Werror")
        .compile("lopsided_agent");
}
