// SPDX-License-Identifier: GPL-2.0-only
//! The kernel's program as compiled.

use object::{Object, ObjectSection, SectionKind};

/// `struct bpf_insn` of linux/bpf.h.
const INSTRUCTION_BYTES: usize = 8;
/// BPF_STX | BPF_ATOMIC, for any size.
const ATOMIC: u8 = 0xc3;
const SIZE: u8 = 0x18;
const FETCH: u8 = 0x01;

fn is_atomic(instruction: &[u8]) -> bool {
    instruction[0] & !SIZE == ATOMIC
}

/// The kernel's JIT for arm64 only orders atomic instructions that fetch (linux/bpf.h: BPF_FETCH).
#[test]
fn every_atomic_orders() {
    let bytes = include_bytes!(concat!(env!("OUT_DIR"), "/bpf.bpf.o"));
    let program = object::File::parse(bytes.as_slice()).unwrap();
    let (mut ordering, mut relaxed) = (0, 0);
    for section in program.sections().filter(|section| section.kind() == SectionKind::Text) {
        for instruction in section.data().unwrap().chunks_exact(INSTRUCTION_BYTES) {
            match (is_atomic(instruction), instruction[4] & FETCH) {
                (false, _) => {}
                (true, 0) => relaxed += 1,
                (true, _) => ordering += 1,
            }
        }
    }
    assert_eq!(relaxed, 0, "of {} atomic instructions", ordering + relaxed);
    assert!(ordering > 0);
}
