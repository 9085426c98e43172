// SPDX-License-Identifier: MIT OR Apache-2.0
//! A machine whose files, events and programs follow its own clock, which only advances while somebody waits.

use crate::live::Tree;
use crate::meter::choose::open_in;
use crate::meter::nvml::{Functions, Loaded};
use crate::meter::world::{EventCounter, EventId, Printed, World};
use crate::meter::{Meter, MeterKind, Setup};
use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

type At<T> = Arc<dyn Fn(f64) -> T + Send + Sync>;
/// The value of a counter at a time.
type Counts = At<Result<u64, ErrorKind>>;

#[derive(Default)]
pub struct Fake {
    now: Mutex<Duration>,
    files: Mutex<BTreeMap<String, At<Result<String, ErrorKind>>>>,
    /// By configuration and CPU.
    events: Mutex<BTreeMap<(u64, usize), Counts>>,
    programs: Mutex<BTreeMap<String, At<Printed>>>,
    pub modes: Mutex<BTreeMap<String, u32>>,
    pub nvml: Mutex<Option<Functions>>,
}

impl Fake {
    pub fn new(files: &[(&str, &str)]) -> Arc<Self> {
        let fake = Arc::new(Self::default());
        for (path, text) in files {
            fake.file(path, text);
        }
        fake
    }

    pub fn file(&self, path: &str, text: &str) {
        let text = format!("{text}\n");
        self.follows(path, move |_| Ok(text.clone()));
    }

    /// A file whose contents follow the time, in seconds.
    pub fn follows(&self, path: &str, text: impl Fn(f64) -> Result<String, ErrorKind> + Send + Sync + 'static) {
        self.files.lock().unwrap().insert(path.to_string(), Arc::new(text));
    }

    pub fn refuses(&self, path: &str, kind: ErrorKind) {
        self.follows(path, move |_| Err(kind));
    }

    pub fn event(
        &self,
        config: u64,
        cpu: usize,
        count: impl Fn(f64) -> Result<u64, ErrorKind> + Send + Sync + 'static,
    ) {
        self.events.lock().unwrap().insert((config, cpu), Arc::new(count));
    }

    pub fn program(&self, name: &str, prints: impl Fn(f64) -> Printed + Send + Sync + 'static) {
        self.programs.lock().unwrap().insert(name.to_string(), Arc::new(prints));
    }

    pub fn pass(&self, seconds: f64) {
        *self.now.lock().unwrap() += Duration::from_secs_f64(seconds);
    }

    pub fn seconds(&self) -> f64 {
        self.now.lock().unwrap().as_secs_f64()
    }
}

/// The meter of this kind, for tests that measure a machine with it.
pub fn opened(fake: &Arc<Fake>, kind: MeterKind) -> Box<dyn Meter> {
    let world: Arc<dyn World> = fake.clone();
    open_in(&world, Some(kind), &Setup::default()).unwrap_or_else(|errors| panic!("{errors:?}"))
}

pub fn prints(text: impl Into<String>) -> Printed {
    Printed {
        stdout: text.into(),
        stderr: String::new(),
        code: Some(0),
    }
}

impl Tree for Fake {
    fn read(&self, path: &str) -> io::Result<String> {
        let file = self.files.lock().unwrap().get(path).cloned();
        let file = file.ok_or_else(|| io::Error::from(ErrorKind::NotFound))?;
        file(self.seconds()).map_err(io::Error::from)
    }
    fn list(&self, folder: &str) -> Vec<String> {
        let files = self.files.lock().unwrap();
        let below = files
            .keys()
            .filter_map(|path| path.strip_prefix(folder)?.strip_prefix('/'));
        let mut names: Vec<String> = below
            .filter_map(|rest| rest.split('/').next())
            .map(str::to_string)
            .collect();
        names.dedup();
        names
    }
    fn shown(&self, path: &str) -> String {
        format!("/{path}")
    }
}

impl World for Fake {
    fn read_long(&self, path: &str) -> io::Result<String> {
        self.read(path)
    }
    fn mode(&self, path: &str) -> Option<u32> {
        self.modes.lock().unwrap().get(path).copied()
    }
    fn now(&self) -> Duration {
        *self.now.lock().unwrap()
    }
    fn wait(&self, time: Duration) {
        *self.now.lock().unwrap() += time;
    }
    fn open_event(&self, event: EventId) -> io::Result<Box<dyn EventCounter>> {
        let count = self.events.lock().unwrap().get(&(event.config, event.cpu)).cloned();
        let count = count.ok_or_else(|| io::Error::from(ErrorKind::NotFound))?;
        count(self.seconds())?;
        Ok(Box::new(FakeCounter {
            now: self.seconds(),
            step: 0.0005,
            count,
        }))
    }
    fn program(&self, name: &str) -> Option<PathBuf> {
        self.programs
            .lock()
            .unwrap()
            .contains_key(name)
            .then(|| PathBuf::from(name))
    }
    fn run(&self, program: &Path, _: &[&str], _: Duration) -> io::Result<Printed> {
        let programs = self.programs.lock().unwrap();
        let prints = programs.get(program.to_str().unwrap()).cloned().unwrap();
        drop(programs);
        Ok(prints(self.seconds()))
    }
    fn nvml(&self) -> Result<Loaded, String> {
        let functions = self.nvml.lock().unwrap().ok_or("cannot open shared object file")?;
        Ok(Loaded {
            functions,
            library: None,
        })
    }
}

/// Has a clock of its own, which advances by half a millisecond with each reading.
struct FakeCounter {
    now: f64,
    step: f64,
    count: At<Result<u64, ErrorKind>>,
}

impl EventCounter for FakeCounter {
    fn read(&mut self) -> io::Result<u64> {
        self.now += self.step;
        (self.count)(self.now).map_err(io::Error::from)
    }
}
