// SPDX-License-Identifier: GPL-2.0-only
//! The status socket: each client that connects gets one status as JSON, then the connection is closed.
//!
//! One thread serves all clients. It reads nothing and never waits for a client: what does not fit the socket's buffer at once
//! (about 200 kB; 512 CPUs take 50) is not sent. Clients may connect as often as they like: the scheduler is asked at most ten times a second, and
//! all waiting clients share the answer.
//!
//! A second socket, for root alone, takes a goal as a word before it answers the same way. It has a thread of its own, since a goal may need a program that is
//! loaded again. One client after the other is served there: each has a second to send its word, and then waits until the goal is in force.

use crate::adapter::KernelError;
use crate::hinted::Hinted;
use crate::instance::{refused, RunDir};
use crate::options::GoalChoice;
use crate::requests::{Changed, Requests};
use crate::status::Status;
use rustix::event::{poll, PollFd, PollFlags};
use rustix::fs::{fchmod, Mode};
use rustix::net::{bind as bind_to, listen, socket_with, AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
use std::fs::Permissions;
use std::io::{self, ErrorKind, Read, Write};
use std::net::Shutdown;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How long the scheduler's thread may take to answer; in tests, longer than any machine needs.
const PATIENCE: Duration = Duration::from_secs(if cfg!(test) { 600 } else { 2 });
/// How long a client waits: longer, so that it learns that the scheduler did not answer.
const CLIENT_PATIENCE: Duration = Duration::from_secs(if cfg!(test) { 1200 } else { 4 });

/// How long a client waits until its goal is in force: longer than a program takes to load, even where the machine is emulated. A scheduler that does not answer
/// is reported sooner.
const GOAL_PATIENCE: Duration = Duration::from_secs(if cfg!(test) { 1800 } else { 600 });

/// The answer while the program is being loaded, instead of a status.
const STARTING: &[u8] = b"starting";

/// How long root's client may take in all to name its goal, and how much is read of it.
const READ_PATIENCE: Duration = Duration::from_secs(if cfg!(test) { 600 } else { 1 });
const LONGEST_GOAL: usize = 16;

/// Serves until dropped.
pub struct StatusServer {
    sockets: [PathBuf; 2],
    /// Closed to end the threads.
    end: Option<UnixStream>,
    threads: Vec<JoinHandle<()>>,
}

impl StatusServer {
    /// Binds the sockets of `dir`: that of the status for all users, that of the goal for the present one. The caller holds the instance lock of `dir`.
    ///
    /// # Errors
    /// A socket cannot be created.
    pub fn start(dir: &RunDir, requests: Requests) -> Result<Self, KernelError> {
        let sockets = [dir.socket(), dir.goal_socket()];
        let failed = |socket: &Path, error: io::Error| refused(socket, "cannot be served", &error);
        let status = bind(&sockets[0]).map_err(|error| failed(&sockets[0], error))?;
        let goal = bind_for_owner(&sockets[1]).map_err(|error| failed(&sockets[1], error))?;
        let (end, ended) = UnixStream::pair().map_err(|error| failed(&sockets[0], error))?;
        let mut server = Self {
            sockets,
            end: Some(end),
            threads: Vec::new(),
        };
        let spawned = server
            .spawn("status", status, &ended, &requests, |listener, _| clients(listener))
            .and_then(|()| {
                server.spawn("goal", goal, &ended, &requests, |listener, requests| {
                    change_goal(listener, requests).into_iter().collect()
                })
            });
        spawned.map_err(|error| failed(&server.sockets[0], error))?;
        Ok(server)
    }

    /// Serves a socket in a thread. `take`: returns the clients that get a status now.
    fn spawn(
        &mut self,
        name: &str,
        listener: UnixListener,
        ended: &UnixStream,
        requests: &Requests,
        take: fn(&UnixListener, &Requests) -> Vec<UnixStream>,
    ) -> io::Result<()> {
        let (ended, requests) = (ended.try_clone()?, requests.clone());
        let serve = move || serve(&listener, &ended, &requests, take);
        self.threads
            .push(std::thread::Builder::new().name(name.to_string()).spawn(serve)?);
        Ok(())
    }
}

impl Drop for StatusServer {
    fn drop(&mut self) {
        for socket in &self.sockets {
            let _ = std::fs::remove_file(socket);
        }
        self.end = None;
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

/// Removes what a dead instance left.
fn make_room(socket: &Path) -> io::Result<()> {
    match std::fs::remove_file(socket) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn bind(socket: &Path) -> io::Result<UnixListener> {
    make_room(socket)?;
    let listener = UnixListener::bind(socket)?;
    std::fs::set_permissions(socket, Permissions::from_mode(0o666))?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

/// The mode is set before the socket has a name: with that of the umask others might connect meanwhile.
fn bind_for_owner(socket: &Path) -> io::Result<UnixListener> {
    const BACKLOG: i32 = 16;
    make_room(socket)?;
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let listener = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    fchmod(&listener, Mode::RUSR | Mode::WUSR)?;
    bind_to(&listener, &SocketAddrUnix::new(socket)?)?;
    listen(&listener, BACKLOG)?;
    Ok(listener.into())
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

fn serve(
    listener: &UnixListener,
    ended: &UnixStream,
    requests: &Requests,
    take: fn(&UnixListener, &Requests) -> Vec<UnixStream>,
) {
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
        answer(take(listener, requests), requests, &mut counted);
    }
}

fn clients(listener: &UnixListener) -> Vec<UnixStream> {
    (0..MOST_AT_ONCE)
        .map_while(|_| Some(listener.accept().ok()?.0))
        .collect()
}

/// The client whose goal is in force now, if there is one.
fn change_goal(listener: &UnixListener, requests: &Requests) -> Option<UnixStream> {
    let (client, _) = listener.accept().ok()?;
    let choice = read_word(&client, Instant::now() + READ_PATIENCE)?.parse().ok()?;
    match requests.set_goal(choice, PATIENCE) {
        Changed::InForce => return Some(client),
        Changed::TooLate => send(client, unanswered(requests)),
        Changed::Ended => {}
    }
    None
}

/// The word that a client sends; `None` if it is no text, or has no end by then, however often a byte of it arrives.
fn read_word(mut client: &UnixStream, deadline: Instant) -> Option<String> {
    let (mut word, mut length) = ([0; LONGEST_GOAL], 0);
    while length < LONGEST_GOAL {
        let left = deadline.saturating_duration_since(Instant::now());
        // Fails for a time of zero.
        client.set_read_timeout(Some(left)).ok()?;
        match client.read(&mut word[length..]) {
            Ok(0) => break,
            Ok(read) => length += read,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(_) => return None,
        }
    }
    String::from_utf8(word[..length].to_vec()).ok()
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

fn answer(clients: Vec<UnixStream>, requests: &Requests, counted: &mut Counted) {
    if clients.is_empty() {
        return;
    }
    let answered = requests.ask(PATIENCE).map(|mut status| {
        status.hints = counted.of(&status);
        serde_json::to_vec(&status).unwrap_or_default()
    });
    let text = answered.unwrap_or_else(|| unanswered(requests).to_vec());
    clients.into_iter().for_each(|client| send(client, &text));
}

/// An empty answer means that the scheduler did not answer in time.
fn unanswered(requests: &Requests) -> &'static [u8] {
    if requests.loading() {
        STARTING
    } else {
        b""
    }
}

fn send(mut client: UnixStream, text: &[u8]) {
    // A client that has gone is not an error.
    let _ = client.set_nonblocking(true).and_then(|()| client.write_all(text));
}

/// The status of the running instance; `None` if none runs.
///
/// # Errors
/// An instance runs but does not answer.
pub fn fetch(dir: &RunDir) -> Result<Option<Status>, KernelError> {
    let socket = dir.socket();
    match UnixStream::connect(&socket) {
        Ok(stream) => read_status(stream, &socket, CLIENT_PATIENCE).map(Some),
        Err(error) if is_nobody(&error) => Ok(None),
        Err(error) => Err(refused(&socket, "cannot be reached", &error)),
    }
}

/// Changes the goal of the running instance, and returns its status after that; `None` if none runs.
///
/// # Errors
/// The instance belongs to another user, or does not answer.
pub fn set_goal(dir: &RunDir, choice: GoalChoice) -> Result<Option<Status>, KernelError> {
    let socket = dir.goal_socket();
    let mut stream = match UnixStream::connect(&socket) {
        Ok(stream) => stream,
        Err(error) if is_nobody(&error) => return Ok(None),
        Err(error) => return Err(refused(&socket, "cannot be reached", &error)),
    };
    write!(stream, "{choice}")
        .and_then(|()| stream.shutdown(Shutdown::Write))
        .map_err(|error| refused(&socket, "does not listen", &error))?;
    read_status(stream, &socket, GOAL_PATIENCE).map(Some)
}

/// A socket that is not there, or that a dead instance left.
fn is_nobody(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::ConnectionRefused)
}

fn read_status(mut stream: UnixStream, socket: &Path, patience: Duration) -> Result<Status, KernelError> {
    let mut text = Vec::new();
    stream
        .set_read_timeout(Some(patience))
        .and_then(|()| stream.read_to_end(&mut text))
        .map_err(|error| refused(socket, "does not answer", &error))?;
    if text == STARTING {
        return Err(KernelError::new("Lopsided is just starting").mend("try again in a moment"));
    }
    if text.is_empty() {
        return Err(KernelError::new("Lopsided is there but did not answer in time").mend("try again in a moment"));
    }
    serde_json::from_slice(&text)
        .map_err(|error| KernelError::new(format!("{}: the answer is no status: {error}", socket.display())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::Options;
    use crate::requests::{requests, GoalRequest, Inbox};
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
        assert!(!dir.socket().exists() && !dir.goal_socket().exists());
        assert_eq!(fetch(&dir), Ok(None));
        assert_eq!(set_goal(&dir, GoalChoice(None)), Ok(None));
        (asked, tested)
    }

    /// Returns how often it was asked.
    fn answer_until_stopped(inbox: &Inbox) -> u32 {
        let (mut asked, mut status) = (0, on_many_cpus());
        while !inbox.stop_wanted() {
            inbox.wait().unwrap();
            inbox.answer(|| {
                asked += 1;
                status.clone()
            });
            for goal in inbox.goals() {
                status.goal = Some(goal.choice.to_string());
                goal.done();
            }
        }
        asked
    }

    #[test]
    fn a_goal_is_in_force_in_the_status_that_answers_it() {
        served(|dir| {
            let mode = std::fs::metadata(dir.goal_socket()).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600, "for root alone");
            for word in ["energy", "auto", "speed"] {
                let status = set_goal(dir, word.parse().unwrap()).unwrap().unwrap();
                assert_eq!(status.goal.as_deref(), Some(word));
                assert_eq!(fetch(dir).unwrap().unwrap().goal, status.goal);
            }
            for word in ["", "faster", &"energy".repeat(100)] {
                let mut client = UnixStream::connect(dir.goal_socket()).unwrap();
                // The server may have closed it before it has taken all.
                let _ = client.write_all(word.as_bytes());
                let _ = client.shutdown(Shutdown::Write);
                let mut answer = Vec::new();
                let _ = client.read_to_end(&mut answer);
                assert_eq!(answer, b"", "{word}");
            }
            assert_eq!(fetch(dir).unwrap().unwrap().goal.as_deref(), Some("speed"));
        });
    }

    /// The goal needs a program that is loaded again: its client has no answer before that is in charge, and the others get a status meanwhile.
    #[test]
    fn a_goal_that_takes_long_keeps_its_own_client_alone_waiting() {
        let folder = tempfile::tempdir().unwrap();
        let dir = RunDir::new(folder.path());
        let (requests, inbox) = requests().unwrap();
        let _server = StatusServer::start(&dir, requests).unwrap();
        std::thread::scope(|scope| {
            let client = scope.spawn(|| set_goal(&dir, "energy".parse().unwrap()));
            let mut waiting = inbox.goals();
            while waiting.is_empty() {
                inbox.wait().unwrap();
                inbox.answer(Status::default);
                waiting = inbox.goals();
            }
            let other = scope.spawn(|| fetch(&dir));
            while !other.is_finished() {
                inbox.wait_for(Duration::from_millis(10)).unwrap();
                inbox.answer(Status::default);
            }
            assert_eq!(other.join().unwrap().unwrap().unwrap().goal, None);
            assert!(!client.is_finished(), "the goal is not in force yet");
            waiting.into_iter().for_each(GoalRequest::done);
            while !client.is_finished() {
                inbox.wait_for(Duration::from_millis(10)).unwrap();
                inbox.answer(|| Status {
                    goal: Some("energy".to_string()),
                    ..Status::default()
                });
            }
            let answered = client.join().unwrap().unwrap().unwrap();
            assert_eq!(answered.goal.as_deref(), Some("energy"));
        });
    }

    /// Four bytes at most come by the deadline, and each of them long before it.
    #[test]
    fn a_word_that_never_ends_is_given_up_in_time() {
        let (client, mut sender) = UnixStream::pair().unwrap();
        let deadline = Instant::now() + Duration::from_millis(400);
        let drips = std::thread::spawn(move || loop {
            std::thread::sleep(Duration::from_millis(100));
            if sender.write_all(b"e").is_err() {
                break;
            }
        });
        assert_eq!(read_word(&client, deadline), None);
        drop(client);
        drips.join().unwrap();
    }

    #[test]
    fn a_word_is_read_to_its_end_or_to_its_greatest_length() {
        let read = |bytes: &[u8]| {
            let (client, mut sender) = UnixStream::pair().unwrap();
            sender.write_all(bytes).unwrap();
            drop(sender);
            read_word(&client, Instant::now() + READ_PATIENCE)
        };
        assert_eq!(read(b"energy").as_deref(), Some("energy"));
        assert_eq!(read(&[b'e'; 100]), Some("e".repeat(LONGEST_GOAL)));
        assert_eq!(read(&[0xff]), None);
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
