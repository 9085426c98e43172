// SPDX-License-Identifier: GPL-2.0-only
use super::*;
use crate::status::Status;
use crate::status_server;
use std::path::Path;
use tempfile::TempDir;

fn write(root: &Path, path: &str, text: &str) {
    let path = root.join(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

/// A machine with everything that is needed.
fn machine() -> (TempDir, Options) {
    let root = tempfile::tempdir().unwrap();
    write(root.path(), "proc/sys/kernel/osrelease", "6.18.15\n");
    write(root.path(), "proc/self/status", "CapEff:\t000001ffffffffff\n");
    write(root.path(), "sys/kernel/btf/vmlinux", "");
    write(root.path(), "sys/kernel/sched_ext/state", "disabled\n");
    let options = Options {
        root: root.path().to_path_buf(),
        ..Options::default()
    };
    (root, options)
}

fn run_dir(root: &TempDir) -> RunDir {
    RunDir::new(root.path().join("run/lopsided"))
}

/// Calls a function when the scheduler is attached.
struct When<F: FnMut() -> Result<(), KernelError>>(F);

impl<F: FnMut() -> Result<(), KernelError>> Observer for When<F> {
    fn attached(&mut self, _: &Status) -> Result<(), KernelError> {
        (self.0)()
    }

    fn note(&mut self, _: &str) {}
}

/// A scheduler without a kernel: attaches, answers, and ends when asked.
fn obedient(options: &Options, inbox: &Inbox, observer: &mut dyn Observer) -> Result<Exit, KernelError> {
    let status = Status::begin(options);
    observer.attached(&status)?;
    while !inbox.stop_wanted() {
        inbox.wait().map_err(|error| KernelError::new(error.to_string()))?;
        inbox.answer(|| status.clone());
    }
    Ok(Exit {
        last: status,
        was_in_charge: true,
        ..Exit::default()
    })
}

#[test]
fn a_machine_that_lacks_nothing_may_start() {
    let (root, options) = machine();
    assert_eq!(check(&options, &run_dir(&root)), Ok(()));
    assert!(!run_dir(&root).path().exists(), "looking changes nothing");
}

#[test]
fn everything_missing_is_named_in_one_line() {
    let (root, options) = machine();
    std::fs::remove_dir_all(root.path().join("sys/kernel/sched_ext")).unwrap();
    write(root.path(), "proc/self/status", "CapEff:\t0\n");
    let line = check(&options, &run_dir(&root)).unwrap_err().to_string();
    for part in ["sched_ext", "CONFIG_SCHED_CLASS_EXT=y", "root's rights", "sudo"] {
        assert!(line.contains(part), "no '{part}' in: {line}");
    }
    assert_eq!(line.lines().count(), 1);
}

#[test]
fn who_is_in_charge_already_is_named() {
    let (root, options) = machine();
    write(root.path(), "sys/kernel/sched_ext/state", "enabled\n");
    write(root.path(), "sys/kernel/sched_ext/root/ops", "scx_lavd\n");
    let line = check(&options, &run_dir(&root)).unwrap_err().to_string();
    assert_eq!(line, "scx_lavd is attached: stop it first");

    let _service = Service::open(&run_dir(&root)).unwrap();
    let line = check(&options, &run_dir(&root)).unwrap_err().to_string();
    assert!(line.contains("running already (pid "), "{line}");
}

#[test]
fn a_run_serves_its_status_and_ends_when_asked() {
    let (root, options) = machine();
    let dir = run_dir(&root);
    let service = Service::open(&dir).unwrap();
    let requests = service.requests();
    let client = dir.clone();
    let mut asking = None;
    let mut observer = When(|| {
        let (requests, client) = (requests.clone(), client.clone());
        asking = Some(std::thread::spawn(move || {
            let status = status_server::fetch(&client);
            requests.stop();
            status
        }));
        Ok(())
    });
    let exit = service.run(&options, &mut obedient, &mut observer).unwrap();
    let status = asking.unwrap().join().unwrap().unwrap().unwrap();
    assert_eq!(status.pid, std::process::id());
    assert_eq!(status, exit.last);
    assert_eq!(instance::running(&dir), Ok(None));
    assert_eq!(status_server::fetch(&dir), Ok(None));
}

/// Through the socket of the sched_ext tools, in their protocol.
#[test]
fn a_run_serves_its_statistics() {
    use crate::statistics::Statistics;
    use scx_stats::StatsClient;
    let (root, options) = machine();
    let dir = run_dir(&root);
    let service = Service::open(&dir).unwrap();
    let (requests, socket) = (service.requests(), dir.statistics());
    let mut asking = None;
    let mut observer = When(|| {
        let (requests, socket) = (requests.clone(), socket.clone());
        asking = Some(std::thread::spawn(move || {
            let client = StatsClient::new().set_path(socket).connect(None);
            let heard = client.and_then(|mut client| client.request::<Statistics>("stats", vec![]));
            requests.stop();
            heard
        }));
        Ok(())
    });
    service.run(&options, &mut obedient, &mut observer).unwrap();
    assert_eq!(asking.unwrap().join().unwrap().unwrap(), Statistics::default());
    assert!(!socket.exists());
}

/// Collects notes, and ends the run once it is in charge.
struct Listens(Vec<String>, Requests);

impl Observer for Listens {
    fn attached(&mut self, _: &Status) -> Result<(), KernelError> {
        self.1.stop();
        Ok(())
    }

    fn note(&mut self, line: &str) {
        self.0.push(line.to_string());
    }
}

#[test]
fn without_statistics_it_runs_and_says_so() {
    let (root, options) = machine();
    let dir = run_dir(&root);
    let socket = dir.statistics();
    std::fs::create_dir_all(socket.parent().unwrap()).unwrap();
    let _others = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    let service = Service::open(&dir).unwrap();
    let mut observer = Listens(Vec::new(), service.requests());
    assert!(
        service
            .run(&options, &mut obedient, &mut observer)
            .unwrap()
            .was_in_charge
    );
    assert_eq!(observer.0.len(), 1, "{:?}", observer.0);
    assert!(
        observer.0[0].contains("another scheduler serves there"),
        "{:?}",
        observer.0
    );
    assert!(socket.exists());
}

/// Restores when dropped, as speeds do.
struct Restores<'a>(&'a std::cell::Cell<bool>);

impl Drop for Restores<'_> {
    fn drop(&mut self) {
        self.0.set(true);
    }
}

#[test]
fn a_panic_restores_and_gives_lock_and_socket_back() {
    let (root, options) = machine();
    let dir = run_dir(&root);
    let restored = std::cell::Cell::new(false);
    let mut panicking = |_: &Options, _: &Inbox, _: &mut dyn Observer| -> Result<Exit, KernelError> {
        let _speeds = Restores(&restored);
        panic!("a defect of {}", "ours");
    };
    let service = Service::open(&dir).unwrap();
    let error = service.run(&options, &mut panicking, &mut When(|| Ok(()))).unwrap_err();
    assert_eq!(error.message, "internal error: a defect of ours");
    assert!(restored.get());
    assert_eq!(instance::running(&dir), Ok(None));
    assert!(!dir.socket().exists() && !dir.statistics().exists());
}

#[test]
fn an_observer_that_cannot_go_on_ends_the_run() {
    let (root, options) = machine();
    let service = Service::open(&run_dir(&root)).unwrap();
    let mut observer = When(|| Err(KernelError::new("cannot go into the background")));
    let error = service.run(&options, &mut obedient, &mut observer).unwrap_err();
    assert_eq!(error.message, "cannot go into the background");
}

#[test]
fn every_signal_that_can_be_taken_ends_a_run() {
    use crate::signals::{on_signals, ENDING};
    let (root, options) = machine();
    for signal in ENDING {
        let service = Service::open(&run_dir(&root)).unwrap();
        let requests = service.requests();
        let _guard = on_signals(&ENDING, move |_| requests.stop()).unwrap();
        let mut observer = When(|| {
            // SAFETY: a signal to this process, which handles it.
            assert_eq!(unsafe { libc::kill(libc::getpid(), signal) }, 0);
            Ok(())
        });
        service.run(&options, &mut obedient, &mut observer).unwrap();
    }
}
