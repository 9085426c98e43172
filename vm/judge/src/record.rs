// SPDX-License-Identifier: GPL-2.0-only
//! Records in a separate tracefs instance. The raw ring buffers are read after the command has ended, so that reading causes no
//! wakeups while it runs. Lost events are an error.

use crate::decode::{merge, Decoded, Decoder, Tracepoint};
use crate::format::Format;
use crate::ring::PageLayout;
use crate::snapshot;
use crate::trace::{Cpu, Event, Header, TaskInfo, Trace};
use anyhow::{anyhow, bail, Context, Result};
use nix::mount::{mount, MsFlags};
use nix::time::{clock_gettime, ClockId};
use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

const TRACEFS: &str = "/sys/kernel/tracing";
const CPU_TREE: &str = "/sys/devices/system/cpu";
/// Larger than any tracefs file that is read with one call.
const WHOLE_FILE_BYTES: usize = 65_536;
/// Lines of per_cpu/cpu*/stats that count lost events.
const LOSSES: [&str; 3] = ["overrun", "commit overrun", "dropped events"];

/// Present time on CLOCK_MONOTONIC, the clock of recordings, ns.
///
/// # Errors
/// Cannot fail on Linux.
pub fn now_ns() -> Result<u64> {
    let now = clock_gettime(ClockId::CLOCK_MONOTONIC)?;
    Ok(now.tv_sec() as u64 * 1_000_000_000 + now.tv_nsec() as u64)
}

/// A running recording; its instance is removed when it is dropped.
pub struct Recorder {
    instance: Instance,
    tracepoints: Vec<Tracepoint>,
    tasks: Vec<TaskInfo>,
    header: Header,
}

impl Recorder {
    /// Starts to record `tracepoints` into `buffer_kb` of memory per CPU.
    ///
    /// # Errors
    /// Not root, or a kernel without tracefs.
    pub fn start(tracepoints: &[Tracepoint], buffer_kb: u64) -> Result<Self> {
        let instance = Instance::new(&tracefs()?)?;
        instance.write("trace_clock", "mono")?;
        instance.write("options/overwrite", "0")?;
        instance.write("buffer_size_kb", &buffer_kb.to_string())?;
        for point in tracepoints {
            instance.write(&format!("events/{}/enable", point.folder()), "1")?;
        }
        instance.write("tracing_on", "1")?;
        let cpus = snapshot::cpu_speeds(Path::new(CPU_TREE))?;
        let tasks = snapshot::tasks()?.into_values().collect();
        let header = Header {
            start_ns: now_ns()?,
            cpus,
            ..Header::default()
        };
        Ok(Recorder {
            instance,
            tracepoints: tracepoints.to_vec(),
            tasks,
            header,
        })
    }

    /// Ends the recording and reads it.
    ///
    /// # Errors
    /// Events were lost, or the kernel's records cannot be read.
    pub fn stop(mut self) -> Result<Trace> {
        self.header.end_ns = now_ns()?;
        self.instance.write("tracing_on", "0")?;
        self.instance.refuse_losses()?;
        let mut tasks = snapshot::tasks()?;
        tasks.extend(self.tasks.drain(..).map(|task| (task.pid, task)));
        self.header.tasks = tasks.into_values().collect();
        let mut events = self.instance.events(&self.tracepoints)?;
        events.retain(|event| event.at_ns <= self.header.end_ns);
        Ok(Trace {
            header: self.header,
            events,
        })
    }
}

/// The path of tracefs, which is mounted if necessary.
fn tracefs() -> Result<PathBuf> {
    let root = PathBuf::from(TRACEFS);
    if !root.join("instances").exists() {
        mount(Some("tracefs"), &root, Some("tracefs"), MsFlags::empty(), None::<&str>)
            .with_context(|| format!("mount tracefs on {TRACEFS}: needs root and a kernel with CONFIG_TRACING"))?;
    }
    Ok(root)
}

struct Instance(PathBuf);

impl Instance {
    fn new(tracefs: &Path) -> Result<Self> {
        let folder = tracefs.join(format!("instances/lop-judge-{}", std::process::id()));
        fs::create_dir(&folder).with_context(|| format!("create {}", folder.display()))?;
        Ok(Instance(folder))
    }

    fn write(&self, file: &str, value: &str) -> Result<()> {
        let path = self.0.join(file);
        fs::write(&path, value).with_context(|| format!("write `{value}` to {}", path.display()))
    }

    fn read(&self, file: &str) -> Result<String> {
        let path = self.0.join(file);
        fs::read_to_string(&path).with_context(|| format!("read {}", path.display()))
    }

    /// CPUs with a buffer, in order.
    fn cpus(&self) -> Result<Vec<Cpu>> {
        let entries = fs::read_dir(self.0.join("per_cpu")).context("list per_cpu")?.flatten();
        let number = |entry: fs::DirEntry| entry.file_name().to_str()?.strip_prefix("cpu")?.parse().ok();
        let mut cpus: Vec<Cpu> = entries.filter_map(number).collect();
        cpus.sort_unstable();
        Ok(cpus)
    }

    fn refuse_losses(&self) -> Result<()> {
        for cpu in self.cpus()? {
            let lost = lost_events(&self.read(&format!("per_cpu/cpu{cpu}/stats"))?);
            if lost > 0 {
                bail!("CPU {cpu} lost {lost} events, its buffer was full: record shorter or with a larger --buffer-kb");
            }
        }
        Ok(())
    }

    fn events(&self, tracepoints: &[Tracepoint]) -> Result<Vec<Event>> {
        let layout = PageLayout::new(&Format::parse(&self.tracefs_file("events/header_page")?)?)?;
        let format = |point: &Tracepoint| {
            let text = self.read(&format!("events/{}/format", point.folder()))?;
            Ok((*point, Format::parse(&text)?))
        };
        let decoder = Decoder::new(tracepoints.iter().map(format).collect::<Result<_>>()?);
        let mut records = Vec::new();
        for cpu in self.cpus()? {
            self.records(cpu, &layout, &decoder, &mut records)
                .with_context(|| format!("buffer of CPU {cpu}"))?;
        }
        Ok(merge(records))
    }

    fn tracefs_file(&self, file: &str) -> Result<String> {
        let root = self
            .0
            .ancestors()
            .nth(2)
            .ok_or_else(|| anyhow!("{} is no instance", self.0.display()))?;
        read_at_once(&root.join(file)).with_context(|| format!("read {file} of tracefs"))
    }

    fn records(&self, cpu: Cpu, layout: &PageLayout, decoder: &Decoder, to: &mut Vec<Decoded>) -> Result<()> {
        let mut pipe = self.open_raw(cpu)?;
        let mut page = vec![0; layout.page_size()];
        loop {
            match pipe.read(&mut page) {
                Ok(0) => return Ok(()),
                Ok(length) => layout.records(&page[..length], |at_ns, record| {
                    to.push(decoder.decode(at_ns, cpu, record)?);
                    Ok(())
                })?,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn open_raw(&self, cpu: Cpu) -> Result<File> {
        let path = self.0.join(format!("per_cpu/cpu{cpu}/trace_pipe_raw"));
        let mut options = OpenOptions::new();
        options.read(true).custom_flags(libc::O_NONBLOCK);
        options.open(&path).with_context(|| format!("open {}", path.display()))
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir(&self.0) {
            eprintln!("lop-judge: {} stays: {error}; remove it with rmdir", self.0.display());
        }
    }
}

/// Reads a small file with one call, since `header_page` is truncated if read in pieces.
fn read_at_once(file: &Path) -> Result<String> {
    let mut buffer = vec![0; WHOLE_FILE_BYTES];
    let length = File::open(file)?.read(&mut buffer)?;
    buffer.truncate(length);
    Ok(String::from_utf8(buffer)?)
}

/// Sum of the lost events in a per_cpu/cpu*/stats file.
fn lost_events(stats: &str) -> u64 {
    let fields = stats.lines().filter_map(|line| line.split_once(": "));
    fields
        .filter(|(name, _)| LOSSES.contains(name))
        .filter_map(|(_, value)| value.trim().parse::<u64>().ok())
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_are_summed() {
        let stats = "entries: 9\noverrun: 2\ncommit overrun: 3\nbytes: 99\ndropped events: 4\nread events: 5\n";
        assert_eq!(lost_events(stats), 9);
        assert_eq!(lost_events("entries: 9\noverrun: 0\n"), 0);
    }
}
