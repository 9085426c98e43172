// SPDX-License-Identifier: MIT OR Apache-2.0
//! The machine that this runs on.

use super::load::Load;
use super::{Look, Plan, Trouble, World};
use crate::busy;
use crate::live::Folder;
use crate::meter::OpenMeter;
use crate::speed::{Asker, SpeedError, Speeds, Wish};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How soon an interruption is noticed.
const LOOK_EVERY: Duration = Duration::from_millis(20);

pub struct Host {
    /// The error tells why speeds cannot be set, or that they were restored.
    speeds: Result<Speeds, String>,
    /// By kind.
    cpus: Vec<Vec<u32>>,
    meter: Option<OpenMeter>,
    files: Folder,
    load: Load,
    began: Instant,
    interrupted: Arc<AtomicBool>,
}

impl Host {
    /// Reads what can be set on the machine whose files are below `root`. Changes are recorded in `journal`; measuring ends when `interrupted` is true.
    ///
    /// # Errors
    /// Another process sets speeds; the journal is damaged; the list of CPUs cannot be read.
    pub fn open(
        root: &Path,
        journal: &Path,
        meter: Option<OpenMeter>,
        interrupted: Arc<AtomicBool>,
    ) -> Result<Self, SpeedError> {
        let speeds = match Speeds::open_for(Asker::Trial, root, journal) {
            Ok(speeds) => Ok(speeds),
            // Nothing may be changed without a journal.
            Err(error @ SpeedError::Journal { .. }) => Err(error.to_string()),
            Err(error) => return Err(error),
        };
        Ok(Self {
            speeds,
            cpus: Vec::new(),
            meter,
            files: Folder::new(root),
            load: Load::default(),
            began: Instant::now(),
            interrupted,
        })
    }

    /// Between which frequencies (kHz) all of these CPUs can be held.
    ///
    /// # Errors
    /// Why they cannot.
    pub fn range(&self, cpus: &[u32]) -> Result<(u64, u64), String> {
        let speeds = self.speeds.as_ref().map_err(Clone::clone)?;
        let (mut least, mut most) = (0, u64::MAX);
        for &cpu in cpus {
            let (min_khz, max_khz) = speeds.range_khz(cpu as usize)?;
            (least, most) = (least.max(u64::from(min_khz)), most.min(u64::from(max_khz)));
        }
        Ok((least, most))
    }

    /// Must be called before anything is measured.
    pub fn follow(&mut self, plan: &Plan) {
        self.cpus = plan.kinds.iter().map(|kind| kind.cpus.clone()).collect();
    }

    fn check(&self) -> Result<(), Trouble> {
        match self.interrupted.load(Ordering::SeqCst) {
            true => Err(Trouble::Interrupted),
            false => Ok(()),
        }
    }
}

impl World for Host {
    fn hold(&mut self, khz: &[Option<u64>]) -> Result<(), Trouble> {
        self.check()?;
        let Ok(speeds) = &mut self.speeds else { return Ok(()) };
        for (cpus, khz) in self.cpus.iter().zip(khz) {
            let Some(khz) = khz else { continue };
            for &cpu in cpus {
                speeds.set_high(cpu as usize, *khz as u32);
                speeds.apply(cpu as usize, Wish::High).map_err(Trouble::Speed)?;
            }
        }
        Ok(())
    }

    fn load(&mut self, cpus: &[u32]) -> Result<(), Trouble> {
        self.check()?;
        self.load = Load::default();
        self.load = Load::begin(cpus).map_err(Trouble::Load)?;
        Ok(())
    }

    fn pass(&mut self, time: Duration) -> Result<(), Trouble> {
        let end = Instant::now() + time;
        loop {
            self.check()?;
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(());
            }
            std::thread::sleep(left.min(LOOK_EVERY));
        }
    }

    fn look(&mut self) -> Result<Look, Trouble> {
        let uj = self.meter.as_ref().map(OpenMeter::total_uj).transpose();
        let joules = uj.map_err(Trouble::Meter)?.map(|uj| uj as f64 / 1e6);
        Ok(Look {
            at: self.began.elapsed(),
            work_s: self.load.work_s(),
            joules,
            cpu_times: busy::read(&self.files).unwrap_or_default(),
        })
    }

    fn put_back(&mut self) {
        self.load = Load::default();
        // What cannot be restored was reported, and stays in the journal.
        self.speeds = Err("they were put back".to_string());
    }
}
