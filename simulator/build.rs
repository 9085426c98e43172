//! Compiles the policy core natively, with the warnings that the BPF build uses.

fn main() {
    println!("cargo:rerun-if-changed=src/policy.c");
    println!("cargo:rerun-if-changed=../policy");
    cc::Build::new()
        .file("src/policy.c")
        .include("../policy")
        .std("c11")
        .opt_level(3)
        .flag("-Wall")
        .flag("-Wextra")
        .flag("-Werror")
        .compile("lopsided_policy");
}
