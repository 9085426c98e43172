//! Weights of tasks and groups: policy/weight.h.

extern "C" {
    fn lop_native_weight_of_nice(nice: i32) -> u32;
    fn lop_native_weight_of_share(cpu_weight: u32) -> u32;
}

/// A task of nice 0, and a group with cpu.weight 100.
pub const WEIGHT_DEFAULT: u32 = 1024;

/// Weight of a nice value, -20 to 19; beyond these, that of the nearest.
pub fn weight_of_nice(nice: i8) -> u32 {
    unsafe { lop_native_weight_of_nice(i32::from(nice)) }
}

/// Weight of a group by its cpu.weight, 1 to 10000.
pub fn weight_of_share(cpu_weight: u32) -> u32 {
    unsafe { lop_native_weight_of_share(cpu_weight) }
}
