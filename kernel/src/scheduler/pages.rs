// SPDX-License-Identifier: GPL-2.0-only
//! Memory for the hints of programs: gives each process that connects to a socket a page of its own (`hints.bpf.h`), which is out of the scheduler's
//! reach again once the process has ended. A thread answers, as an ordinary task of the policy: connections are work that any user can cause.

use crate::hints::run_program;
use libbpf_rs::{libbpf_sys, MapCore, MapFlags, MapHandle, MapType};
use lop_records::{bytes_of, HintPage, HintRecord, PageArguments, PageKey};
use lop_records::{HINT_MAGIC, HINT_VERSION, PAGES, PAGE_PROBES, PAGE_RECORDS};
use nix::sys::socket::sockopt::{PeerCredentials, PeerPidfd};
use nix::sys::socket::{getsockopt, sendmsg, ControlMessage, MsgFlags};
use rustix::event::{epoll, eventfd, poll, EventfdFlags, PollFd, PollFlags, Timespec};
use std::collections::BTreeMap;
use std::fs::Permissions;
use std::io::{self, IoSlice};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// Of each user, so that four can give hints whatever the others do.
const MOST_OF_USER: usize = PAGES as usize / 4;
/// What epoll says of the listener and of the end; any other number is that of a process.
const CONNECTION: u64 = u64::MAX;
const END: u64 = u64::MAX - 1;

/// The pages as the BPF program knows them.
pub trait Table: Send {
    /// # Errors
    /// There is no such process.
    fn name(&self, process: u32) -> io::Result<PageKey>;
    /// Makes a page, which threads of this process are looked up in from now on.
    ///
    /// # Errors
    /// Those of the kernel.
    fn insert(&self, key: &PageKey) -> io::Result<OwnedFd>;
    fn remove(&self, key: &PageKey);
}

/// Of the program that is loaded now.
pub struct Loaded {
    pub pages: MapHandle,
    /// `lop_page_name()` and `lop_page_given()`.
    pub name: OwnedFd,
    pub given: OwnedFd,
}

fn system(error: libbpf_rs::Error) -> io::Error {
    io::Error::other(error)
}

impl Table for Loaded {
    fn name(&self, process: u32) -> io::Result<PageKey> {
        let mut arguments = PageArguments {
            process: process as i32,
            ..PageArguments::default()
        };
        run_program(self.name.as_fd(), &mut arguments)?;
        Ok(arguments.key)
    }

    fn insert(&self, key: &PageKey) -> io::Result<OwnedFd> {
        let options = libbpf_sys::bpf_map_create_opts {
            sz: size_of::<libbpf_sys::bpf_map_create_opts>() as _,
            map_flags: libbpf_sys::BPF_F_MMAPABLE,
            ..Default::default()
        };
        let (record, nr) = (size_of::<HintRecord>() as u32, PAGE_RECORDS + 1);
        let page = MapHandle::create(MapType::Array, Some("lop_page"), 4, record, nr, &options).map_err(system)?;
        let header = HintPage {
            magic: HINT_MAGIC,
            version: HINT_VERSION,
            record_bytes: record,
            nr_records: PAGE_RECORDS,
            probes: PAGE_PROBES,
            ..HintPage::default()
        };
        page.update(&0u32.to_ne_bytes(), bytes_of(&header), MapFlags::ANY)
            .map_err(system)?;
        let number = page.as_fd().as_raw_fd().to_ne_bytes();
        self.pages
            .update(bytes_of(key), &number, MapFlags::ANY)
            .map_err(system)?;
        run_program(self.given.as_fd(), &mut 0u32)?;
        page.as_fd().try_clone_to_owned()
    }

    fn remove(&self, key: &PageKey) {
        // Otherwise no thread has this key, and the page only takes its place until the end.
        let _ = self.pages.delete(bytes_of(key));
    }
}

/// Whom the thread asks; `None` while a program is being loaded, for which connections wait.
#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    table: Option<Box<dyn Table>>,
    ends: bool,
    given: usize,
}

/// Served until this is dropped.
pub struct Pages {
    shared: Arc<Shared>,
    /// The map of all pages, which outlives each program.
    map: Option<MapHandle>,
    socket: PathBuf,
    wake: OwnedFd,
    thread: Option<JoinHandle<()>>,
}

impl Pages {
    /// The socket is in this folder, which is made. Processes of all users may connect.
    ///
    /// # Errors
    /// There can be no socket.
    pub fn open(folder: &Path) -> io::Result<Self> {
        std::fs::create_dir_all(folder)?;
        std::fs::set_permissions(folder, Permissions::from_mode(0o755))?;
        let socket = folder.join("socket");
        // Of an instance that was killed.
        let _ = std::fs::remove_file(&socket);
        let listener = UnixListener::bind(&socket)?;
        std::fs::set_permissions(&socket, Permissions::from_mode(0o666))?;
        listener.set_nonblocking(true)?;
        let wake = eventfd(0, EventfdFlags::CLOEXEC)?;
        let (shared, watched) = (Arc::<Shared>::default(), epoll::create(epoll::CreateFlags::CLOEXEC)?);
        watch(&watched, listener.as_fd(), CONNECTION)?;
        watch(&watched, wake.as_fd(), END)?;
        let mut server = Server {
            listener,
            watched,
            shared: shared.clone(),
            by_process: BTreeMap::new(),
        };
        let thread = std::thread::Builder::new().name("hints".into());
        Ok(Self {
            shared,
            map: None,
            socket,
            wake,
            thread: Some(thread.spawn(move || server.serve())?),
        })
    }

    /// The map that the next program has to use; `None`: its own.
    pub fn map(&self) -> Option<BorrowedFd<'_>> {
        self.map.as_ref().map(AsFd::as_fd)
    }

    /// From now on this program has the pages.
    ///
    /// # Errors
    /// No descriptor is free.
    pub fn load(&mut self, loaded: Loaded) -> io::Result<()> {
        self.map = Some(MapHandle::try_from(&loaded.pages).map_err(system)?);
        self.set(Some(Box::new(loaded)));
        Ok(())
    }

    /// Until another program is loaded, connections wait.
    pub fn unload(&self) {
        self.set(None);
    }

    fn set(&self, table: Option<Box<dyn Table>>) {
        self.shared.state.lock().unwrap_or_else(PoisonError::into_inner).table = table;
        self.shared.changed.notify_all();
    }

    /// How many processes have a page.
    pub fn given(&self) -> usize {
        self.shared.state.lock().unwrap_or_else(PoisonError::into_inner).given
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.socket);
        self.shared.state.lock().unwrap_or_else(PoisonError::into_inner).ends = true;
        self.shared.changed.notify_all();
        // If this fails, the thread ends with the process.
        if rustix::io::write(&self.wake, &1u64.to_ne_bytes()).is_ok() {
            let _ = self.thread.take().map(JoinHandle::join);
        }
    }
}

fn watch(watched: &OwnedFd, file: BorrowedFd<'_>, as_number: u64) -> io::Result<()> {
    let data = epoll::EventData::new_u64(as_number);
    Ok(epoll::add(watched, file, data, epoll::EventFlags::IN)?)
}

struct Page {
    key: PageKey,
    user: u32,
    /// Readable when the process has ended.
    pidfd: OwnedFd,
}

struct Server {
    listener: UnixListener,
    watched: OwnedFd,
    shared: Arc<Shared>,
    /// By the process's number here.
    by_process: BTreeMap<u32, Page>,
}

impl Server {
    fn serve(&mut self) {
        let mut events = Vec::with_capacity(16);
        loop {
            events.clear();
            match epoll::wait(&self.watched, rustix::buffer::spare_capacity(&mut events), None) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(_) => return,
            }
            let shared = self.shared.clone();
            let state = shared.state.lock().unwrap_or_else(PoisonError::into_inner);
            let waits = |state: &mut State| state.table.is_none() && !state.ends;
            let state = shared.changed.wait_while(state, waits);
            let mut state = state.unwrap_or_else(PoisonError::into_inner);
            let Some(table) = state.table.take().filter(|_| !state.ends) else {
                return;
            };
            events
                .iter()
                .for_each(|event| self.follow(event.data.u64(), table.as_ref()));
            state.given = self.by_process.len();
            state.table = Some(table);
        }
    }

    fn follow(&mut self, number: u64, table: &dyn Table) {
        match u32::try_from(number) {
            Ok(process) => self.forget_if_ended(process, table),
            Err(_) if number == CONNECTION => match self.listener.accept() {
                // A process that gets no page gives no hints: the connection ends.
                Ok((connection, _)) => drop(self.register(&connection, table)),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                // No descriptor is free, for now.
                Err(_) => std::thread::sleep(Duration::from_millis(10)),
            },
            Err(_) => {}
        }
    }

    /// Another process may have the number by now.
    fn forget_if_ended(&mut self, process: u32, table: &dyn Table) {
        if self.by_process.get(&process).is_some_and(|page| has_ended(&page.pidfd)) {
            self.forget(process, table);
        }
    }

    fn forget(&mut self, process: u32, table: &dyn Table) {
        if let Some(page) = self.by_process.remove(&process) {
            table.remove(&page.key);
        }
    }

    /// A process that executed another program gets another page.
    fn register(&mut self, connection: &UnixStream, table: &dyn Table) -> io::Result<()> {
        let peer = getsockopt(connection, PeerCredentials)?;
        let pidfd = getsockopt(connection, PeerPidfd)?;
        // 0: it is of another PID namespace that is not below this one.
        let process = u32::try_from(peer.pid()).ok().filter(|&pid| pid > 0);
        let process = process.ok_or(io::ErrorKind::PermissionDenied)?;
        self.forget(process, table);
        if !self.has_room(peer.uid()) {
            return Err(io::ErrorKind::QuotaExceeded.into());
        }
        let key = table.name(process)?;
        // If it has not ended by now, the number was its own.
        if has_ended(&pidfd) {
            return Err(io::ErrorKind::NotFound.into());
        }
        let user = peer.uid();
        watch(&self.watched, pidfd.as_fd(), u64::from(process))?;
        let page = table.insert(&key)?;
        self.by_process.insert(process, Page { key, user, pidfd });
        send(connection, &page).inspect_err(|_| self.forget(process, table))
    }

    fn has_room(&self, user: u32) -> bool {
        let of_user = self.by_process.values().filter(|page| page.user == user).count();
        self.by_process.len() < PAGES as usize && of_user < MOST_OF_USER
    }
}

fn has_ended(pidfd: &OwnedFd) -> bool {
    let mut asked = [PollFd::new(pidfd, PollFlags::IN)];
    let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut asked, Some(&at_once)).is_ok_and(|ready| ready > 0)
}

/// One byte and the descriptor. A new connection has room for them, so this never waits.
fn send(connection: &UnixStream, page: &OwnedFd) -> io::Result<()> {
    let passed = [page.as_raw_fd()];
    let flags = MsgFlags::MSG_DONTWAIT | MsgFlags::MSG_NOSIGNAL;
    let message = [ControlMessage::ScmRights(&passed)];
    sendmsg::<()>(connection.as_raw_fd(), &[IoSlice::new(&[0])], &message, flags, None)?;
    Ok(())
}

#[cfg(test)]
mod tests;
