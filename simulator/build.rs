//! Compiles the policy core natively, with the warnings that the BPF build uses.

fn main() {
    println!("cargo:rerun-if-changed=src/policy.c");
    println!("cargo:rerun-if-changed=../policy");
    println!("cargo:rerun-if-changed=src/plan.c");
    println!("cargo:rerun-if-changed=src/types.h");
    cc::Build::new()
        .file("src/policy.c")
        .file("src/plan.c")
        .include("../policy")
        .std("c11")
        .opt_level(3)
        .flag("-Wall")
        .flag("-Wextra")
        .flag("-Werror")
        .compile("lopsided_policy");
}
