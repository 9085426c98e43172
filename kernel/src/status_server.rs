// SPDX-License-Identifier: GPL-2.0-only
//! The status socket: each client that connects gets one status as JSON, then the connection is closed.
//!
//! One thread serves all clients. It reads nothing and never waits for a client: what does not fit the socket's buffer at once
//! (about 200 kB; 512 CPUs take 50) is not sent. Clients may connect as often as they like: the scheduler is asked at most ten times a second, and
//! all waiting clients share the answer.

use crate::adapter::KernelError;
use crate::hinted::Hinted;
use crate::instance::{refused, RunDir};
use crate::requests::Requests;
use crate::status::Status;
use rustix::event::{poll, PollFd, PollFlags};
use std::fs::Permissions;
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How long the scheduler's thread may take to answer; in tests, longer than any machine needs.
const PATIENCE: Duration = Duration::from_secs(if cfg!(test) { 600 } else { 2 });
/// How long a client waits: longer, so that it learns that the scheduler did not answer.
const CLIENT_PATIENCE: Duration = Duration::from_secs(if cfg!(test) { 1200 } else { 4 });

/// The answer while the program is being loaded, instead of a status.
const STARTING: &[u8] = b"starting";

/// Serves until dropped.
pub struct StatusServer {
    socket: PathBuf,
    /// Closed to end the thread.
    end: Option<UnixStream>,
    thread: Option<JoinHandle<()>>,
}

impl StatusServer {
    /// Binds the socket of `dir` for all users. The caller holds the instance lock of `dir`.
    ///
    /// # Errors
    /// The socket cannot be created.
    pub fn start(dir: &RunDir, requests: Requests) -> Result<Self, KernelError> {
        let socket = dir.socket();
        let bound = bind(&socket).and_then(|listener| {
            let (end, ended) = UnixStream::pair()?;
            let thread = std::thread::Builder::new()
                .name("status".to_string())
                .spawn(move || serve(&listener, &ended, &requests))?;
            Ok((end, thread))
        });
        let (end, thread) = bound.map_err(|error| refused(&socket, "cannot be served", &error))?;
        Ok(Self {
            socket,
            end: Some(end),
            thread: Some(thread),
        })
    }
}

impl Drop for StatusServer {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.socket);
        self.end = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn bind(socket: &PathBuf) -> io::Result<UnixListener> {
    match std::fs::remove_file(socket) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let listener = UnixListener::bind(socket)?;
    std::fs::set_permissions(socket, Permissions::from_mode(0o666))?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

/// Hints are counted here and not in the scheduler's thread, which has speeds to set meanwhile; and not more often than this, however many
/// clients there are.
const COUNTED_AGAIN: Duration = Duration::from_millis(500);

/// The last count of hints, and its time.
#[derive(Default)]
struct Counted(Option<(Instant, Option<Hinted>)>);

impl Counted {
    fn of(&mut self, status: &Status) -> Option<Hinted> {
        if !status.hinted {
            return None;
        }
        match self.0 {
            Some((at, hints)) if at.elapsed() < COUNTED_AGAIN => hints,
            _ => {
                let hints = Hinted::now(Path::new("/")).ok();
                self.0 = Some((Instant::now(), hints));
                hints
            }
        }
    }
}

/// Shortest time between two requests to the scheduler's thread, which runs above all others.
const BETWEEN_QUESTIONS: Duration = Duration::from_millis(100);
/// Most clients that share an answer; further ones wait for the next.
const MOST_AT_ONCE: usize = 128;

fn serve(listener: &UnixListener, ended: &UnixStream, requests: &Requests) {
    let mut counted = Counted::default();
    let mut asked: Option<Instant> = None;
    while ready(Some(listener), ended, None) {
        let pause = asked.map_or(Duration::ZERO, |asked| {
            BETWEEN_QUESTIONS.saturating_sub(asked.elapsed())
        });
        if !pause.is_zero() && !ready(None, ended, Some(pause)) {
            return;
        }
        asked = Some(Instant::now());
        let clients: Vec<UnixStream> = (0..MOST_AT_ONCE)
            .map_while(|_| Some(listener.accept().ok()?.0))
            .collect();
        answer(clients, requests, &mut counted);
    }
}

/// Waits for a client or for that long; false if it should end.
fn ready(listener: Option<&UnixListener>, ended: &UnixStream, time: Option<Duration>) -> bool {
    let time = time.and_then(|time| time.try_into().ok());
    let mut fds = vec![PollFd::new(ended, PollFlags::IN | PollFlags::HUP)];
    fds.extend(listener.map(|listener| PollFd::new(listener, PollFlags::IN)));
    loop {
        match poll(&mut fds, time.as_ref()) {
            Err(rustix::io::Errno::INTR) => {}
            Err(_) => return false,
            Ok(_) => return fds[0].revents().is_empty(),
        }
    }
}

/// An empty answer means that the scheduler did not answer in time.
fn answer(clients: Vec<UnixStream>, requests: &Requests, counted: &mut Counted) {
    let text = match requests.ask(PATIENCE) {
        Some(mut status) => {
            status.hints = counted.of(&status);
            serde_json::to_vec(&status).unwrap_or_default()
        }
        None if requests.loading() => STARTING.to_vec(),
        None => Vec::new(),
    };
    for mut client in clients {
        // A client that has gone is not an error.
        let _ = client.set_nonblocking(true).and_then(|()| client.write_all(&text));
    }
}

/// The status of the running instance; `None` if none runs.
///
/// # Errors
/// An instance runs but does not answer.
pub fn fetch(dir: &RunDir) -> Result<Option<Status>, KernelError> {
    let socket = dir.socket();
    let mut stream = match UnixStream::connect(&socket) {
        Ok(stream) => stream,
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::ConnectionRefused) => return Ok(None),
        Err(error) => return Err(refused(&socket, "cannot be reached", &error)),
    };
    let mut text = Vec::new();
    stream
        .set_read_timeout(Some(CLIENT_PATIENCE))
        .and_then(|()| stream.read_to_end(&mut text))
        .map_err(|error| refused(&socket, "does not answer", &error))?;
    if text == STARTING {
        return Err(KernelError::new("Lopsided is just starting").mend("try again in a moment"));
    }
    if text.is_empty() {
        return Err(KernelError::new("Lopsided is there but did not answer in time").mend("try again in a moment"));
    }
    serde_json::from_slice(&text)
        .map(Some)
        .map_err(|error| KernelError::new(format!("{}: the answer is no status: {error}", socket.display())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::Options;
    use crate::requests::{requests, Inbox};
    use crate::status::{Asked, Member, Reason};

    fn on_many_cpus() -> Status {
        let mut status = Status::begin(&Options::default());
        status.sets.high = (0..512)
            .map(|cpu| Member {
                cpu,
                reason: Reason::Pinned { tasks: 1000 },
                khz: Some(5_000_000),
                asked: Asked::Lowest,
            })
            .collect();
        status
    }

    /// Runs a test with a served folder and a thread that answers in the scheduler's place. Returns how often that answered, and the test's result.
    fn served<T>(test: impl FnOnce(&RunDir) -> T) -> (u32, T) {
        let folder = tempfile::tempdir().unwrap();
        let dir = RunDir::new(folder.path());
        let (requests, inbox) = requests().unwrap();
        let server = StatusServer::start(&dir, requests.clone()).unwrap();
        let scheduler = std::thread::spawn(move || answer_until_stopped(&inbox));
        let tested = test(&dir);
        requests.stop();
        let asked = scheduler.join().unwrap();
        drop(server);
        assert!(!dir.socket().exists(), "the socket goes with its server");
        assert_eq!(fetch(&dir), Ok(None));
        (asked, tested)
    }

    /// Returns how often it was asked.
    fn answer_until_stopped(inbox: &Inbox) -> u32 {
        let mut asked = 0;
        while !inbox.stop_wanted() {
            inbox.wait().unwrap();
            inbox.answer(|| {
                asked += 1;
                on_many_cpus()
            });
        }
        asked
    }

    #[test]
    fn whoever_connects_gets_the_status_even_of_512_cpus() {
        served(|dir| {
            let status = fetch(dir).unwrap().unwrap();
            assert_eq!(status.sets.high.len(), 512);
            assert_eq!(
                std::fs::metadata(dir.socket()).unwrap().permissions().mode() & 0o777,
                0o666
            );
        });
    }

    /// In an earlier version, each client made the scheduler's thread look at all of its state.
    #[test]
    fn clients_that_come_in_a_storm_share_answers() {
        let questions = served(|dir| {
            let began = Instant::now();
            std::thread::scope(|scope| {
                for _ in 0..8 {
                    scope.spawn(|| (0..5).for_each(|_| assert!(fetch(dir).unwrap().is_some())));
                }
            });
            began.elapsed().as_nanos() / BETWEEN_QUESTIONS.as_nanos() + 1
        });
        let (asked, most) = questions;
        assert!(
            u128::from(asked) <= most,
            "{asked} questions, at most {most} in that time"
        );
    }

    #[test]
    fn silent_and_vanished_clients_hold_nobody_up() {
        served(|dir| {
            let silent: Vec<UnixStream> = (0..20).map(|_| UnixStream::connect(dir.socket()).unwrap()).collect();
            (0..20).for_each(|_| drop(UnixStream::connect(dir.socket()).unwrap()));
            assert!(fetch(dir).unwrap().is_some());
            drop(silent);
        });
    }

    #[test]
    fn a_socket_without_a_server_is_nobody() {
        let folder = tempfile::tempdir().unwrap();
        let dir = RunDir::new(folder.path());
        assert_eq!(fetch(&dir), Ok(None));
        drop(UnixListener::bind(dir.socket()).unwrap());
        // A child that another test is just starting has the socket open too, until its exec.
        let is_nobody = |_| {
            std::thread::sleep(Duration::from_millis(10));
            fetch(&dir) == Ok(None)
        };
        assert!((0..6000).any(is_nobody), "left behind by a dead instance");
    }

    #[test]
    fn a_scheduler_that_does_not_answer_is_told_from_none() {
        let folder = tempfile::tempdir().unwrap();
        let dir = RunDir::new(folder.path());
        let (requests, inbox) = requests().unwrap();
        let _server = StatusServer::start(&dir, requests).unwrap();
        drop(inbox);
        assert!(fetch(&dir).unwrap_err().message.contains("did not answer"));
    }

    #[test]
    fn a_scheduler_that_is_being_loaded_says_that_it_starts() {
        let folder = tempfile::tempdir().unwrap();
        let dir = RunDir::new(folder.path());
        let (requests, inbox) = requests().unwrap();
        let _server = StatusServer::start(&dir, requests).unwrap();
        inbox.set_loading(true);
        drop(inbox);
        assert!(fetch(&dir).unwrap_err().message.contains("just starting"));
    }
}
