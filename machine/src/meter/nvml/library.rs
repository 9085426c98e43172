// SPDX-License-Identifier: MIT OR Apache-2.0
//! NVIDIA's management library (NVML), loaded at run time: the few functions that tell energy (docs.nvidia.com/deploy/nvml-api).

use libloading::Library;
use std::ffi::{c_int, c_uint, c_ulonglong, c_void};
use std::ptr::null_mut;

pub const LIBRARY: &str = "libnvidia-ml.so.1";
const SUCCESS: c_int = 0;
const NOT_SUPPORTED: c_int = 3;
const NO_PERMISSION: c_int = 4;
const DRIVER_NOT_LOADED: c_int = 9;
const OTHER_VERSION: c_int = 18;

/// `nvmlReturn_t` of `nvmlInit_v2` and `nvmlShutdown`.
type Call = unsafe extern "C" fn() -> c_int;
type GetCount = unsafe extern "C" fn(*mut c_uint) -> c_int;
type GetHandle = unsafe extern "C" fn(c_uint, *mut *mut c_void) -> c_int;
/// mJ since the driver was loaded.
type GetEnergy = unsafe extern "C" fn(*mut c_void, *mut c_ulonglong) -> c_int;
/// mW
type GetPower = unsafe extern "C" fn(*mut c_void, *mut c_uint) -> c_int;

/// Where the functions lie; in tests, others of the same kind.
#[derive(Clone, Copy)]
pub struct Functions {
    pub init: Call,
    pub shutdown: Call,
    pub count: GetCount,
    pub handle: GetHandle,
    /// Older drivers lack it.
    pub energy: Option<GetEnergy>,
    pub power: GetPower,
}

/// The library in this process.
pub struct Loaded {
    pub functions: Functions,
    /// None: the functions are this program's own.
    pub library: Option<Library>,
}

/// What a function answered instead of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refusal {
    pub function: &'static str,
    pub code: c_int,
}

impl Refusal {
    /// The GPU cannot tell this.
    pub fn is_lack(self) -> bool {
        self.code == NOT_SUPPORTED
    }

    /// What the code means, as `nvml.h` says it, and the way out.
    pub fn explained(self) -> (String, &'static str) {
        let again = "run again; look in 'dmesg' for NVRM, and whether 'nvidia-smi' works";
        let (meaning, mend) = match self.code {
            NOT_SUPPORTED => ("this GPU does not tell it", "take another meter (--meter)"),
            NO_PERMISSION => ("no permission", "run with sudo"),
            DRIVER_NOT_LOADED => ("the kernel's driver is not loaded", "sudo modprobe nvidia"),
            OTHER_VERSION => (
                "the library is of another version than the kernel's driver",
                "start the machine anew",
            ),
            15 => ("the GPU is lost", again),
            _ => ("it failed", again),
        };
        (format!("{} answers {}: {meaning}", self.function, self.code), mend)
    }
}

/// A GPU, as the library names it.
struct Handle(*mut c_void);

// SAFETY: the library is thread-safe, and its handles hold for the process ("NVML API Reference Guide", section 1.1).
unsafe impl Send for Handle {}
// SAFETY: as above.
unsafe impl Sync for Handle {}

/// The library in use, from its first call until this is dropped.
pub struct Nvml {
    functions: Functions,
    gpus: Vec<Handle>,
    /// Behind what calls into it, so that it is unloaded last.
    _library: Option<Library>,
}

impl Loaded {
    ///
    /// # Errors
    /// It is not there, or lacks a function.
    pub fn load() -> Result<Self, String> {
        // SAFETY: the driver's own library, found as the system finds libraries; what it does when it is loaded is left to it.
        let library = unsafe { Library::new(LIBRARY) }.map_err(|error| error.to_string())?;
        let lacks = |error: libloading::Error| error.to_string();
        // SAFETY: the types are those of nvml.h.
        let functions = unsafe {
            Functions {
                init: *library.get::<Call>(b"nvmlInit_v2\0").map_err(lacks)?,
                shutdown: *library.get::<Call>(b"nvmlShutdown\0").map_err(lacks)?,
                count: *library.get::<GetCount>(b"nvmlDeviceGetCount_v2\0").map_err(lacks)?,
                handle: *library
                    .get::<GetHandle>(b"nvmlDeviceGetHandleByIndex_v2\0")
                    .map_err(lacks)?,
                energy: library
                    .get::<GetEnergy>(b"nvmlDeviceGetTotalEnergyConsumption\0")
                    .ok()
                    .map(|function| *function),
                power: *library.get::<GetPower>(b"nvmlDeviceGetPowerUsage\0").map_err(lacks)?,
            }
        };
        Ok(Self {
            functions,
            library: Some(library),
        })
    }
}

impl Nvml {
    /// # Errors
    /// What the library refused: to begin, to count the GPUs, or to name one.
    pub fn begin(loaded: Loaded) -> Result<Self, Refusal> {
        let Loaded { functions, library } = loaded;
        // SAFETY: the first call, as the library asks for it.
        answered("nvmlInit_v2", unsafe { (functions.init)() })?;
        // From here on the drop ends what was begun.
        let mut nvml = Self {
            functions,
            gpus: Vec::new(),
            _library: library,
        };
        let mut count: c_uint = 0;
        // SAFETY: the number is written to a place of its type.
        answered("nvmlDeviceGetCount_v2", unsafe { (functions.count)(&mut count) })?;
        for index in 0..count {
            let mut handle = null_mut();
            // SAFETY: as above, and the index is below the count.
            let code = unsafe { (functions.handle)(index, &mut handle) };
            answered("nvmlDeviceGetHandleByIndex_v2", code)?;
            nvml.gpus.push(Handle(handle));
        }
        Ok(nvml)
    }

    pub fn gpus(&self) -> usize {
        self.gpus.len()
    }

    /// mJ that a GPU used since its driver was loaded.
    ///
    /// # Errors
    /// The library refuses, or is too old for the question.
    pub fn energy_mj(&self, gpu: usize) -> Result<u64, Refusal> {
        const NAME: &str = "nvmlDeviceGetTotalEnergyConsumption";
        let Some(function) = self.functions.energy else {
            return answered(NAME, NOT_SUPPORTED).map(|()| 0);
        };
        let mut energy_mj: c_ulonglong = 0;
        // SAFETY: a handle that the library gave, and a place of the type.
        answered(NAME, unsafe { function(self.gpus[gpu].0, &mut energy_mj) })?;
        Ok(energy_mj)
    }

    /// mW that a GPU draws.
    ///
    /// # Errors
    /// The library refuses.
    pub fn power_mw(&self, gpu: usize) -> Result<u32, Refusal> {
        let mut power_mw: c_uint = 0;
        // SAFETY: as above.
        let code = unsafe { (self.functions.power)(self.gpus[gpu].0, &mut power_mw) };
        answered("nvmlDeviceGetPowerUsage", code)?;
        Ok(power_mw)
    }
}

impl Drop for Nvml {
    fn drop(&mut self) {
        // SAFETY: the last call; nothing is asked after it. What it answers changes nothing any more.
        let _ = unsafe { (self.functions.shutdown)() };
    }
}

fn answered(function: &'static str, code: c_int) -> Result<(), Refusal> {
    match code {
        SUCCESS => Ok(()),
        code => Err(Refusal { function, code }),
    }
}
