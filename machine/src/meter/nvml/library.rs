// SPDX-License-Identifier: MIT OR Apache-2.0
//! NVIDIA's management library (NVML), loaded at run time: the few functions for energy (docs.nvidia.com/deploy/nvml-api).

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

/// Pointers to the functions; tests supply their own.
#[derive(Clone, Copy)]
pub struct Functions {
    pub init: Call,
    pub shutdown: Call,
    pub count: GetCount,
    pub handle: GetHandle,
    /// `None` with older drivers.
    pub energy: Option<GetEnergy>,
    pub power: GetPower,
}

/// The library in this process.
pub struct Loaded {
    pub functions: Functions,
    /// None if the functions are part of this program.
    pub library: Option<Library>,
}

/// A function that answered with an error, and its code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refusal {
    pub function: &'static str,
    pub code: c_int,
}

impl Refusal {
    /// Whether the GPU does not support this.
    pub fn is_lack(self) -> bool {
        self.code == NOT_SUPPORTED
    }

    /// The meaning of the code, from `nvml.h`, and what to do about it.
    pub fn explained(self) -> (String, &'static str) {
        let again = "run again; look for NVRM in 'dmesg', and check whether 'nvidia-smi' works";
        let (meaning, mend) = match self.code {
            NOT_SUPPORTED => ("this GPU does not support it", "take another meter (--meter)"),
            NO_PERMISSION => ("no permission", "run with sudo"),
            DRIVER_NOT_LOADED => ("the kernel's driver is not loaded", "sudo modprobe nvidia"),
            OTHER_VERSION => ("the library and the kernel's driver differ in version", "reboot"),
            15 => ("the GPU is lost", again),
            _ => ("it failed", again),
        };
        (format!("{} answers {}: {meaning}", self.function, self.code), mend)
    }
}

/// The library's handle of a GPU.
struct Handle(*mut c_void);

// SAFETY: the library is thread-safe, and its handles are valid in the whole process ("NVML API Reference Guide", section 1.1).
unsafe impl Send for Handle {}
// SAFETY: as above.
unsafe impl Sync for Handle {}

/// The initialised library; dropping this shuts it down.
pub struct Nvml {
    functions: Functions,
    gpus: Vec<Handle>,
    /// The last field, so that the library is unloaded last.
    _library: Option<Library>,
}

impl Loaded {
    ///
    /// # Errors
    /// The library is missing, or lacks a function.
    pub fn load() -> Result<Self, String> {
        // SAFETY: this is the driver's own library, found on the system's library path, and we trust its initialisers.
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
    /// The library refused to initialise, to count the GPUs, or to give a handle.
    pub fn begin(loaded: Loaded) -> Result<Self, Refusal> {
        let Loaded { functions, library } = loaded;
        // SAFETY: the library requires this call to be the first.
        answered("nvmlInit_v2", unsafe { (functions.init)() })?;
        // From here on, dropping `nvml` shuts the library down.
        let mut nvml = Self {
            functions,
            gpus: Vec::new(),
            _library: library,
        };
        let mut count: c_uint = 0;
        // SAFETY: the pointer is to a variable of the right type.
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

    /// Energy that a GPU used since its driver was loaded, mJ.
    ///
    /// # Errors
    /// The library refuses, or is too old to have the function.
    pub fn energy_mj(&self, gpu: usize) -> Result<u64, Refusal> {
        const NAME: &str = "nvmlDeviceGetTotalEnergyConsumption";
        let Some(function) = self.functions.energy else {
            return answered(NAME, NOT_SUPPORTED).map(|()| 0);
        };
        let mut energy_mj: c_ulonglong = 0;
        // SAFETY: the handle is from the library, and the pointer to a variable of the right type.
        answered(NAME, unsafe { function(self.gpus[gpu].0, &mut energy_mj) })?;
        Ok(energy_mj)
    }

    /// Power of a GPU, mW.
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
        // SAFETY: this is the last call to the library. Its result does not matter any more.
        let _ = unsafe { (self.functions.shutdown)() };
    }
}

fn answered(function: &'static str, code: c_int) -> Result<(), Refusal> {
    match code {
        SUCCESS => Ok(()),
        code => Err(Refusal { function, code }),
    }
}
