//! Compiles the BPF program (policy/ and its adapter) and makes the skeleton that loads it. Which clang: .cargo/config.toml.
//! Then natively what the loader asks of policy/ by itself, with the warnings of the simulator's build.

fn main() {
    println!("cargo:rerun-if-changed=../policy");
    program();
    native_rules();
}

fn program() {
    scx_cargo::BpfBuilder::new()
        .and_then(|mut builder| {
            builder
                .enable_intf("src/bpf/intf.h", "bpf_intf.rs")
                .enable_skel("src/bpf/main.bpf.c", "bpf")
                .build()
        })
        .unwrap_or_else(|error| panic!("the BPF program does not build: {error:#}"));
}

fn native_rules() {
    println!("cargo:rerun-if-changed=src/native.c");
    println!("cargo:rerun-if-changed=src/bpf/intf.h");
    cc::Build::new()
        .file("src/native.c")
        .include("../policy")
        .std("c11")
        .opt_level(3)
        .flag("-Wall")
        .flag("-Wextra")
        .flag("-Werror")
        .compile("lopsided_loader");
}
