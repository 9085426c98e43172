// SPDX-License-Identifier: MIT OR Apache-2.0
//! Numbers in the kernel's records, which have the byte order of this machine.

pub fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    let bytes = bytes.get(at..at.checked_add(4)?)?;
    bytes.try_into().ok().map(u32::from_ne_bytes)
}

pub fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    let bytes = bytes.get(at..at.checked_add(8)?)?;
    bytes.try_into().ok().map(u64::from_ne_bytes)
}
