// SPDX-License-Identifier: MIT OR Apache-2.0
//! GPUs, with functions that answer as NVIDIA's library does.

use super::fake::Fake;
use crate::meter::nvml::{self, Functions};
use crate::meter::{Meter, MeterError};
use std::cell::RefCell;
use std::ffi::{c_int, c_uint, c_ulonglong, c_void};
use std::sync::Arc;

/// The answers of the library in this thread's test.
#[derive(Default)]
struct Answers {
    world: Arc<Fake>,
    /// W of each GPU.
    watts: Vec<f64>,
    /// The function of this name answers with this code.
    refuses: Option<(&'static str, c_int)>,
    begun: usize,
    ended: usize,
}

thread_local! {
    static ANSWERS: RefCell<Answers> = RefCell::default();
}

fn answer(function: &str, value: impl FnOnce(&mut Answers)) -> c_int {
    ANSWERS.with_borrow_mut(|answers| match answers.refuses {
        Some((name, code)) if name == function => code,
        _ => {
            value(answers);
            0
        }
    })
}

extern "C" fn init() -> c_int {
    answer("init", |answers| answers.begun += 1)
}

extern "C" fn shutdown() -> c_int {
    answer("shutdown", |answers| answers.ended += 1)
}

unsafe extern "C" fn count(to: *mut c_uint) -> c_int {
    answer("count", |answers| *to = answers.watts.len() as c_uint)
}

/// The index plus one, so that no handle is null.
unsafe extern "C" fn handle(index: c_uint, to: *mut *mut c_void) -> c_int {
    answer("handle", |_| *to = (index as usize + 1) as *mut c_void)
}

/// Updated every 100 ms.
unsafe extern "C" fn energy(gpu: *mut c_void, to: *mut c_ulonglong) -> c_int {
    answer("energy", |answers| {
        let steps = (answers.world.seconds() * 10.0).floor();
        *to = 7_000_000 + (steps * answers.watts[gpu as usize - 1] * 100.0) as c_ulonglong;
    })
}

unsafe extern "C" fn power(gpu: *mut c_void, to: *mut c_uint) -> c_int {
    answer("power", |answers| {
        *to = (answers.watts[gpu as usize - 1] * 1e3) as c_uint
    })
}

const FUNCTIONS: Functions = Functions {
    init,
    shutdown,
    count,
    handle,
    energy: Some(energy),
    power,
};

fn machine(watts: &[f64]) -> Arc<Fake> {
    let fake = Fake::new(&[]);
    *fake.nvml.lock().unwrap() = Some(FUNCTIONS);
    ANSWERS.set(Answers {
        world: fake.clone(),
        watts: watts.to_vec(),
        ..Answers::default()
    });
    fake
}

fn refuses(function: &'static str, code: c_int) {
    ANSWERS.with_borrow_mut(|answers| answers.refuses = Some((function, code)));
}

/// How many initialisations of the library were not shut down.
fn in_use() -> usize {
    ANSWERS.with_borrow(|answers| answers.begun - answers.ended)
}

fn refused(fake: Arc<Fake>) -> MeterError {
    nvml::open(fake).err().expect("it cannot be opened")
}

fn used(fake: &Fake, meter: &mut dyn Meter, seconds: usize) -> f64 {
    let before_uj = meter.read_uj().unwrap();
    let mut uj = 0;
    for _ in 0..seconds {
        fake.pass(1.0);
        uj = meter.read_uj().unwrap();
    }
    (uj - before_uj) as f64 / 1e6
}

#[test]
fn energies_of_all_gpus_are_summed() {
    let fake = machine(&[70.0, 300.0]);
    let mut meter = nvml::open(fake.clone()).unwrap();
    assert_eq!(meter.source().name, "nvml energy of 2 GPUs");
    assert!(!meter.source().whole_system);
    let period_s = meter.source().update_period.unwrap().as_secs_f64();
    assert!((0.099..0.102).contains(&period_s), "{period_s}");
    let joules = used(&fake, meter.as_mut(), 10);
    assert!((joules - 3700.0).abs() < 0.1, "10 s at 370 W: {joules}");
    drop(meter);
    assert_eq!(in_use(), 0);
}

#[test]
fn where_no_energy_is_counted_power_is_sampled() {
    // A GPU that does not support it, and a library that is too old to have the function.
    for (function, code) in [(Some(energy as _), 3), (None, 0)] {
        let fake = machine(&[70.0]);
        *fake.nvml.lock().unwrap() = Some(Functions {
            energy: function,
            ..FUNCTIONS
        });
        refuses("energy", code);
        let mut meter = nvml::open(fake.clone()).unwrap();
        assert_eq!(meter.source().name, "nvml power of 1 GPU");
        let joules = used(&fake, meter.as_mut(), 10);
        assert!((joules - 700.0).abs() < 0.1, "{joules}");
        fake.pass(3.0);
        assert!(meter.read_uj().unwrap_err().reason.contains("not read for 3.0 s"));
    }
}

#[test]
fn each_refusal_is_an_error_that_says_who_refused() {
    for (function, code, reason, mend) in [
        (
            "init",
            9,
            "nvmlInit_v2 answers 9: the kernel's driver is not loaded",
            "modprobe nvidia",
        ),
        ("init", 18, "differ in version", "reboot"),
        ("count", 999, "nvmlDeviceGetCount_v2 answers 999", "nvidia-smi"),
        (
            "handle",
            4,
            "nvmlDeviceGetHandleByIndex_v2 answers 4: no permission",
            "sudo",
        ),
        (
            "energy",
            15,
            "nvmlDeviceGetTotalEnergyConsumption answers 15: the GPU is lost",
            "dmesg",
        ),
    ] {
        let fake = machine(&[70.0]);
        refuses(function, code);
        let error = refused(fake);
        assert!(error.reason.contains(reason) && error.mend.contains(mend), "{error}");
        assert_eq!(in_use(), 0, "{function}");
    }
    let fake = machine(&[70.0]);
    *fake.nvml.lock().unwrap() = Some(Functions {
        energy: None,
        ..FUNCTIONS
    });
    refuses("power", 3);
    let error = refused(fake);
    assert!(
        error.reason.contains("nvmlDeviceGetPowerUsage answers 3") && error.mend.contains("--meter"),
        "{error}"
    );
}

#[test]
fn what_fails_later_is_no_zero_and_stays_failed() {
    let fake = machine(&[70.0]);
    let mut meter = nvml::open(fake.clone()).unwrap();
    assert!(used(&fake, meter.as_mut(), 1) > 0.0);
    refuses("energy", 15);
    fake.pass(1.0);
    let error = meter.read_uj().unwrap_err();
    assert!(error.reason.contains("is lost"), "{error}");
    ANSWERS.with_borrow_mut(|answers| answers.refuses = None);
    assert_eq!(meter.read_uj(), Err(error));
}

#[test]
fn a_gpu_that_says_that_it_uses_nothing_is_no_meter() {
    let fake = machine(&[70.0, 0.0]);
    assert!(refused(fake).reason.contains("stands still"));
    let fake = machine(&[0.0]);
    refuses("energy", 3);
    assert!(refused(fake).reason.contains("reads 0 W"));
    assert!(refused(machine(&[])).reason.contains("no GPU"));
}

#[test]
fn who_has_no_card_needs_no_library() {
    let fake = Fake::new(&[
        ("sys/bus/pci/devices/0000:00:02.0/vendor", "0x8086"),
        ("sys/bus/pci/devices/0000:00:02.0/class", "0x030000"),
        ("sys/bus/pci/devices/0000:01:00.1/vendor", "0x10de"),
        ("sys/bus/pci/devices/0000:01:00.1/class", "0x040300"),
    ]);
    let error = refused(fake.clone());
    assert!(
        error.reason.contains("no NVIDIA GPU") && !error.mend.contains("install"),
        "{error}"
    );
    fake.file("sys/bus/pci/devices/0000:01:00.0/vendor", "0x10de");
    fake.file("sys/bus/pci/devices/0000:01:00.0/class", "0x030200");
    let error = refused(fake);
    assert!(
        error.reason.contains("GPU 0000:01:00.0") && error.reason.contains("shared object"),
        "{error}"
    );
    for package in ["libnvidia-ml1", "xorg-x11-drv-nvidia-cuda", "nvidia-utils"] {
        assert!(error.mend.contains(package), "{error}");
    }
}
