// SPDX-License-Identifier: MIT OR Apache-2.0
//! NVIDIA's GPUs, through the library of their driver: the energy that each counts, else its sampled power.
//!
//! It does not measure the processor, so it is only used if the user names it.

mod library;

#[cfg(test)]
pub use library::Functions;
pub use library::Loaded;

use super::integral::Integral;
use super::rising::{Plan, Register, Rising, IMPOSSIBLE_W, STILL_AFTER};
use super::world::World;
use super::{Meter, MeterError, MeterKind, Source};
use library::{Nvml, Refusal, LIBRARY};
use std::sync::Arc;
use std::time::Duration;

/// Its permissions tell who may query the driver.
pub const DEVICE: &str = "dev/nvidiactl";
const READ_WITHIN: Duration = Duration::from_secs(2);
const PCI: &str = "sys/bus/pci/devices";
/// The vendor NVIDIA, and the classes of displays and accelerators (PCI code and ID assignment specification).
const VENDOR: &str = "0x10de";
const DISPLAY: &str = "0x03";
const KIND: MeterKind = MeterKind::Nvml;

/// # Errors
/// There is no library or no GPU, the library refuses, or a GPU reports neither energy nor power, or reports 0.
pub fn open(world: Arc<dyn World>) -> Result<Box<dyn Meter>, MeterError> {
    let loaded = world.nvml().map_err(|reason| no_library(world.as_ref(), reason))?;
    let nvml = Arc::new(Nvml::begin(loaded).map_err(refused)?);
    if nvml.gpus() == 0 {
        let mend = "check whether 'nvidia-smi' lists one; give a container access to the device";
        return Err(MeterError::new(KIND, LIBRARY, "the driver finds no GPU", mend));
    }
    let energies = (0..nvml.gpus()).map(|gpu| nvml.energy_mj(gpu));
    match energies.collect::<Result<Vec<u64>, Refusal>>() {
        Ok(_) => Ok(Box::new(counted(world, &nvml)?)),
        Err(refusal) if refusal.is_lack() => Ok(Box::new(sampled(world, nvml)?)),
        Err(refusal) => Err(refused(refusal)),
    }
}

fn counted(world: Arc<dyn World>, nvml: &Arc<Nvml>) -> Result<Rising, MeterError> {
    let plan = Plan {
        kind: KIND,
        name: name("energy", nvml),
        whole_system: false,
        read_within: None,
        still_after: STILL_AFTER,
        waits: true,
        update_period: None,
        most_w: Some(IMPOSSIBLE_W),
    };
    let register = |gpu: usize| {
        let nvml = nvml.clone();
        Register {
            what: format!("energy of GPU {gpu}"),
            read: Box::new(move || nvml.energy_mj(gpu).map_err(refused)),
            uj_per_unit: 1e3,
            range: None,
            may_stand_still: false,
        }
    };
    Rising::open(world, plan, (0..nvml.gpus()).map(register).collect())
}

/// The power of all GPUs, used if one of them does not count energy.
fn sampled(world: Arc<dyn World>, nvml: Arc<Nvml>) -> Result<Integral, MeterError> {
    let source = Source {
        kind: KIND,
        name: name("power", &nvml),
        whole_system: false,
        update_period: None,
        only_ratios: false,
    };
    let read = move || {
        let milliwatts = (0..nvml.gpus()).map(|gpu| nvml.power_mw(gpu).map(f64::from).map_err(refused));
        Ok(milliwatts.sum::<Result<f64, MeterError>>()? / 1e3)
    };
    Integral::open(world, source, "power of the GPUs".into(), READ_WITHIN, Box::new(read))
}

fn name(what: &str, nvml: &Nvml) -> String {
    match nvml.gpus() {
        1 => format!("nvml {what} of 1 GPU"),
        gpus => format!("nvml {what} of {gpus} GPUs"),
    }
}

fn refused(refusal: Refusal) -> MeterError {
    let (reason, mend) = refusal.explained();
    MeterError::new(KIND, LIBRARY, reason, mend)
}

/// The error if there is no library; only a machine with a card needs it.
fn no_library(world: &dyn World, reason: String) -> MeterError {
    let read = |device: &str, file: &str| world.read(&format!("{PCI}/{device}/{file}")).unwrap_or_default();
    let is_gpu =
        |device: &String| read(device, "vendor").trim() == VENDOR && read(device, "class").starts_with(DISPLAY);
    match world.list(PCI).iter().find(|device| is_gpu(device)) {
        Some(device) => {
            let reason = format!("the library of GPU {device} cannot be used: {reason}");
            let mend = "sudo apt-get install libnvidia-ml1 (Debian, of non-free; Ubuntu: libnvidia-compute-VERSION), sudo dnf install \
                        xorg-x11-drv-nvidia-cuda (Fedora, of RPM Fusion), sudo pacman -S nvidia-utils (Arch)";
            MeterError::new(KIND, LIBRARY, reason, mend)
        }
        None => MeterError::new(
            KIND,
            world.shown(PCI),
            "this machine has no NVIDIA GPU",
            "use another meter (--meter)",
        ),
    }
}
