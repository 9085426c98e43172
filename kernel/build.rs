//! Compiles the BPF program (policy/ and its adapter) and makes the skeleton that loads it. Which clang: .cargo/config.toml.

fn main() {
    println!("cargo:rerun-if-changed=../policy");
    scx_cargo::BpfBuilder::new()
        .and_then(|mut builder| {
            builder
                .enable_intf("src/bpf/intf.h", "bpf_intf.rs")
                .enable_skel("src/bpf/main.bpf.c", "bpf")
                .build()
        })
        .unwrap_or_else(|error| panic!("the BPF program does not build: {error:#}"));
}
