// SPDX-License-Identifier: GPL-2.0-only
//! A fake cgroup filesystem that answers as the kernel's does.

use super::*;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

pub(crate) const OFFLINE: &str = "No cpu available";

#[derive(Default)]
struct State {
    files: BTreeMap<String, String>,
    /// Every write and change, in order.
    log: Vec<String>,
    /// CPUs that another cgroup has claimed.
    claimed: Cpus,
    /// The online CPUs, if a test sets them.
    online: Option<Cpus>,
    /// Called once, when a partition without an online CPU is requested.
    when_offline: Option<Box<dyn FnOnce() + Send>>,
    /// The file that fails from now on, and how.
    refuses: Option<(String, io::ErrorKind)>,
}

#[derive(Clone, Default)]
pub(crate) struct Fake(Arc<Mutex<State>>);

impl Fake {
    pub fn new(controllers: &str, controlled: &str) -> Self {
        let fake = Self::default();
        fake.put(CONTROLLERS, controllers);
        fake.put(CONTROLLED, controlled);
        fake
    }
    pub fn put(&self, file: &str, text: &str) {
        self.0.lock().unwrap().files.insert(file.into(), text.into());
    }
    pub fn get(&self, file: &str) -> Option<String> {
        self.0.lock().unwrap().files.get(file).cloned()
    }
    pub fn log(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap().log)
    }
    pub fn refuse(&self, file: &str, kind: io::ErrorKind) {
        self.0.lock().unwrap().refuses = Some((file.into(), kind));
    }
    pub fn claim(&self, cpus: Cpus) {
        self.0.lock().unwrap().claimed = cpus;
    }
    /// CPUs go and come: the kernel checks every partition again.
    pub fn online(&self, cpus: Cpus) {
        let mut state = self.0.lock().unwrap();
        state.online = Some(cpus);
        if state.files.contains_key(PARTITION) {
            let answer = state.partition();
            state.files.insert(PARTITION.into(), answer);
        }
    }
    pub fn when_offline(&self, then: impl FnOnce() + Send + 'static) {
        self.0.lock().unwrap().when_offline = Some(Box::new(then));
    }
    pub fn open(&self, folder: &tempfile::TempDir) -> Result<Partition, String> {
        Partition::open(Box::new(self.clone()), &journal(folder.path()))
    }
}

impl State {
    fn refused(&self, file: &str) -> io::Result<()> {
        match &self.refuses {
            Some((refused, kind)) if refused == file => Err((*kind).into()),
            _ => Ok(()),
        }
    }
    fn control(&mut self, text: &str) {
        let now: Vec<String> = self.files[CONTROLLED].split_whitespace().map(str::to_string).collect();
        let (sign, name) = text.split_at(1);
        let mut now: Vec<String> = now.into_iter().filter(|other| other != name).collect();
        if sign == "+" {
            now.push(name.to_string());
        }
        self.files.insert(CONTROLLED.into(), now.join(" "));
    }
    /// As in cpuset: invalid without CPUs, with CPUs that others claim, without an online CPU, or with all online CPUs.
    fn partition(&self) -> String {
        let cpus = Cpus::parse(&self.files[CPUS]).unwrap();
        match cpus {
            _ if self.files[PARTITION].starts_with(MEMBER) => MEMBER.into(),
            cpus if cpus.is_empty() => "isolated invalid (Cpu list in cpuset.cpus is empty)".into(),
            cpus if !cpus.and(&self.claimed).is_empty() => {
                "isolated invalid (Cpu list in cpuset.cpus not exclusive)".into()
            }
            cpus if self.online.is_some_and(|online| online.and(&cpus).is_empty()) => {
                format!("isolated invalid ({OFFLINE} due to hotplug)")
            }
            cpus if self.online.is_some_and(|online| online.without(&cpus).is_empty()) => {
                "isolated invalid (Parent unable to distribute cpu downstream)".into()
            }
            _ => ISOLATED.into(),
        }
    }
}

impl Groups for Fake {
    fn read(&self, file: &str) -> io::Result<String> {
        self.0.lock().unwrap().refused(file)?;
        self.get(file).ok_or(io::ErrorKind::NotFound.into())
    }
    fn write(&self, file: &str, text: &str) -> io::Result<()> {
        let mut state = self.0.lock().unwrap();
        state.refused(file)?;
        if !state.files.contains_key(file) {
            return Err(io::ErrorKind::NotFound.into());
        }
        state.log.push(format!("{file}={text}"));
        match file {
            CONTROLLED => state.control(text),
            _ => {
                state.files.insert(file.into(), text.into());
                let answer = state.partition();
                if answer.contains(OFFLINE) {
                    if let Some(then) = state.when_offline.take() {
                        then();
                    }
                }
                state.files.insert(PARTITION.into(), answer);
            }
        }
        Ok(())
    }
    fn make(&self, group: &str) -> io::Result<()> {
        let mut state = self.0.lock().unwrap();
        state.refused(group)?;
        state.log.push(format!("mkdir {group}"));
        let enabled = state.files[CONTROLLED].contains("cpuset");
        state.files.insert(PROCESSES.into(), String::new());
        if enabled {
            state.files.insert(CPUS.into(), String::new());
            state.files.insert(PARTITION.into(), MEMBER.into());
        }
        Ok(())
    }
    fn remove(&self, group: &str) -> io::Result<()> {
        let mut state = self.0.lock().unwrap();
        state.log.push(format!("rmdir {group}"));
        state.files.retain(|name, _| !name.starts_with(group));
        Ok(())
    }
    fn exists(&self, group: &str) -> bool {
        self.0
            .lock()
            .unwrap()
            .files
            .contains_key(&format!("{group}/cgroup.procs"))
    }
    fn shown(&self, name: &str) -> String {
        format!("/cg/{name}")
    }
}
