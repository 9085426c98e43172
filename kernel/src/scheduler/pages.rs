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
use std::collections::{BTreeMap, VecDeque};
use std::fs::Permissions;
use std::io::{self, IoSlice};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// Of each user, so that one does not take the room of all others.
const MOST_OF_USER: usize = PAGES as usize / 4;
const MOST_AT_ONCE: usize = 64;
/// What epoll says of the listener and of the end; any other number is that of a process.
const CONNECTION: u64 = u64::MAX;
const END: u64 = u64::MAX - 1;

/// The pages as the BPF program knows them.
pub trait Table: Send + Sync {
    /// # Errors
    /// There is no such process, or it is not this user's.
    fn name(&self, process: u32, user: u32) -> io::Result<PageKey>;
    /// A new page, in which nobody is looked up yet, and its number.
    ///
    /// # Errors
    /// Those of the kernel.
    fn make(&self) -> io::Result<(OwnedFd, u32)>;
    /// The page of this number. `None`: nobody has it any longer.
    fn page(&self, number: u32) -> Option<OwnedFd>;
    /// Threads of this process are looked up in this page, as soon as it is said that it was given.
    ///
    /// # Errors
    /// Those of the kernel.
    fn insert(&self, key: &PageKey, page: &OwnedFd) -> io::Result<()>;
    fn tell_given(&self);
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
    fn name(&self, process: u32, user: u32) -> io::Result<PageKey> {
        let mut arguments = PageArguments {
            process: process as i32,
            user,
            ..PageArguments::default()
        };
        run_program(self.name.as_fd(), &mut arguments)?;
        Ok(arguments.key)
    }

    fn make(&self) -> io::Result<(OwnedFd, u32)> {
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
        let number = page.info().map_err(system)?.info.id;
        Ok((page.as_fd().try_clone_to_owned()?, number))
    }

    fn page(&self, number: u32) -> Option<OwnedFd> {
        MapHandle::from_map_id(number).ok()?.as_fd().try_clone_to_owned().ok()
    }

    fn insert(&self, key: &PageKey, page: &OwnedFd) -> io::Result<()> {
        let number = page.as_raw_fd().to_ne_bytes();
        self.pages.update(bytes_of(key), &number, MapFlags::ANY).map_err(system)
    }

    fn tell_given(&self) {
        // Fails only if the program has no memory to run: then threads that were looked up before say nothing yet.
        let _ = run_program(self.given.as_fd(), &mut 0u32);
    }

    fn remove(&self, key: &PageKey) {
        // Otherwise no thread has this key, and the page only takes its place until the end.
        let _ = self.pages.delete(bytes_of(key));
    }
}

/// While no program is loaded for long. A process that asks for a page gets none at once, since none would be read.
struct Away(MapHandle);

impl Table for Away {
    fn name(&self, _: u32, _: u32) -> io::Result<PageKey> {
        Err(io::ErrorKind::NotConnected.into())
    }

    fn make(&self) -> io::Result<(OwnedFd, u32)> {
        Err(io::ErrorKind::NotConnected.into())
    }

    fn page(&self, _: u32) -> Option<OwnedFd> {
        None
    }

    fn insert(&self, _: &PageKey, _: &OwnedFd) -> io::Result<()> {
        Err(io::ErrorKind::NotConnected.into())
    }

    fn tell_given(&self) {}

    fn remove(&self, key: &PageKey) {
        let _ = self.0.delete(bytes_of(key));
    }
}

/// What the thread shares with the loader, which never waits for it.
#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
    given: AtomicUsize,
}

#[derive(Default)]
struct State {
    /// `None` while a program is being loaded, for which connections wait.
    table: Option<Arc<dyn Table>>,
    ends: bool,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.lock());
        self.changed.notify_all();
    }

    /// That of the program that is loaded, or as soon as one is. `None`: it is over.
    fn table(&self) -> Option<Arc<dyn Table>> {
        let waits = |state: &mut State| state.table.is_none() && !state.ends;
        let state = self.changed.wait_while(self.lock(), waits);
        let state = state.unwrap_or_else(PoisonError::into_inner);
        state.table.clone().filter(|_| !state.ends)
    }
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
        let socket = folder.join("socket");
        let (listener, watched) = (listen(folder, &socket)?, epoll::create(epoll::CreateFlags::CLOEXEC)?);
        let (shared, wake) = (Arc::<Shared>::default(), eventfd(0, EventfdFlags::CLOEXEC)?);
        watch(&watched, listener.as_fd(), CONNECTION)?;
        watch(&watched, wake.as_fd(), END)?;
        let mut server = Server {
            listener,
            watched,
            shared: shared.clone(),
            by_process: BTreeMap::new(),
            made: Vec::new(),
            work: VecDeque::new(),
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
        self.shared.change(|state| state.table = Some(Arc::new(loaded)));
        Ok(())
    }

    /// Until another program is loaded, connections wait.
    pub fn unload(&self) {
        self.shared.change(|state| state.table = None);
    }

    /// Until another program is loaded, a process that connects gets no page. Processes that have one keep it.
    pub fn refuse(&self) {
        let map = self.map.as_ref().and_then(|map| MapHandle::try_from(map).ok());
        self.shared
            .change(|state| state.table = map.map(|map| Arc::new(Away(map)) as Arc<dyn Table>));
    }

    /// How many processes have a page.
    pub fn given(&self) -> usize {
        self.shared.given.load(Ordering::Relaxed)
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.socket);
        self.shared.change(|state| state.ends = true);
        // If this fails, the thread ends with the process.
        if rustix::io::write(&self.wake, &1u64.to_ne_bytes()).is_ok() {
            let _ = self.thread.take().map(JoinHandle::join);
        }
    }
}

/// The socket has its name only once everybody may connect: a process asks once. An earlier one is of an instance that was killed.
fn listen(folder: &Path, socket: &Path) -> io::Result<UnixListener> {
    std::fs::create_dir_all(folder)?;
    std::fs::set_permissions(folder, Permissions::from_mode(0o755))?;
    let new = folder.join("socket.new");
    let _ = std::fs::remove_file(&new);
    let listener = UnixListener::bind(&new)?;
    std::fs::set_permissions(&new, Permissions::from_mode(0o666))?;
    std::fs::rename(&new, socket)?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

fn watch(watched: &OwnedFd, file: BorrowedFd<'_>, as_number: u64) -> io::Result<()> {
    let data = epoll::EventData::new_u64(as_number);
    Ok(epoll::add(watched, file, data, epoll::EventFlags::IN)?)
}

struct Page {
    key: PageKey,
    number: u32,
    /// Readable when the process has ended.
    pidfd: OwnedFd,
    is_inserted: bool,
}

/// What takes the kernel some 10 ms each: it waits until nobody reads the map as it was. Connections go before.
enum Work {
    Insert(u32, PageKey, OwnedFd),
    Remove(PageKey),
}

struct Server {
    listener: UnixListener,
    watched: OwnedFd,
    shared: Arc<Shared>,
    /// By the process's number here.
    by_process: BTreeMap<u32, Page>,
    /// User and number of each page that somebody may still have, also of a process that has ended: whoever got the descriptor may have passed it on.
    made: Vec<(u32, u32)>,
    work: VecDeque<Work>,
}

impl Server {
    fn serve(&mut self) {
        let mut events = Vec::with_capacity(16);
        let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
        loop {
            events.clear();
            let patience = (!self.work.is_empty()).then_some(&at_once);
            match epoll::wait(&self.watched, rustix::buffer::spare_capacity(&mut events), patience) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(_) => return,
            }
            let Some(table) = self.shared.table() else { return };
            for event in &events {
                self.follow(event.data.u64(), table.as_ref());
            }
            self.do_some_work(table.as_ref());
            self.shared.given.store(self.by_process.len(), Ordering::Relaxed);
        }
    }

    fn follow(&mut self, number: u64, table: &dyn Table) {
        match u32::try_from(number) {
            Ok(process) => self.forget_if_ended(process),
            Err(_) if number == CONNECTION => self.accept(table),
            Err(_) => {}
        }
    }

    /// So many at once that clients do not wait for what takes the kernel long.
    fn accept(&mut self, table: &dyn Table) {
        for _ in 0..MOST_AT_ONCE {
            match self.listener.accept() {
                // A process that gets no page gives no hints: the connection ends.
                Ok((connection, _)) => drop(self.register(&connection, table)),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                // No descriptor is free, for now.
                Err(_) => return std::thread::sleep(Duration::from_millis(10)),
            }
        }
    }

    /// Another process may have the number by now.
    fn forget_if_ended(&mut self, process: u32) {
        if self
            .by_process
            .get(&process)
            .is_some_and(|page| is_readable(&page.pidfd))
        {
            self.forget(process);
        }
    }

    fn forget(&mut self, process: u32) {
        if let Some(page) = self.by_process.remove(&process) {
            self.work.extend(page.is_inserted.then_some(Work::Remove(page.key)));
        }
    }

    fn do_some_work(&mut self, table: &dyn Table) {
        match self.work.pop_front() {
            Some(Work::Remove(key)) => table.remove(&key),
            // If it has ended by now, or executed another program, nobody is looked up.
            Some(Work::Insert(process, key, page)) => {
                let about = self.by_process.get_mut(&process).filter(|about| about.key == key);
                let Some(about) = about else { return };
                about.is_inserted = table.insert(&key, &page).is_ok();
                // It may be another program by now, whose threads were looked up before.
                self.shared.table().iter().for_each(|table| table.tell_given());
            }
            None => {}
        }
    }

    /// A process that asks again gets the same page; one that executed another program gets another.
    fn register(&mut self, connection: &UnixStream, table: &dyn Table) -> io::Result<()> {
        // It waits no longer.
        if is_readable(connection) {
            return Err(io::ErrorKind::NotConnected.into());
        }
        let peer = getsockopt(connection, PeerCredentials)?;
        let pidfd = getsockopt(connection, PeerPidfd)?;
        // 0: it is of another PID namespace that is not below this one.
        let process = u32::try_from(peer.pid()).ok().filter(|&pid| pid > 0);
        let process = process.ok_or(io::ErrorKind::PermissionDenied)?;
        let key = table.name(process, peer.uid())?;
        // If it has not ended by now, the number was its own.
        if is_readable(&pidfd) {
            return Err(io::ErrorKind::NotFound.into());
        }
        let same = self.by_process.get(&process).filter(|page| page.key == key);
        if let Some(page) = same.and_then(|page| table.page(page.number)) {
            return send(connection, &page);
        }
        if !self.has_room(peer.uid(), table) {
            return Err(io::ErrorKind::QuotaExceeded.into());
        }
        let (page, number) = table.make()?;
        self.made.push((peer.uid(), number));
        send(connection, &page)?;
        self.forget(process);
        watch(&self.watched, pidfd.as_fd(), u64::from(process))?;
        let is_inserted = false;
        let about = Page {
            key,
            number,
            pidfd,
            is_inserted,
        };
        self.by_process.insert(process, about);
        self.work.push_back(Work::Insert(process, key, page));
        Ok(())
    }

    /// Pages count as long as somebody has them.
    fn has_room(&mut self, user: u32, table: &dyn Table) -> bool {
        let is_full = |made: &[(u32, u32)]| {
            let of_user = made.iter().filter(|(whose, _)| *whose == user).count();
            made.len() >= PAGES as usize || of_user >= MOST_OF_USER
        };
        if is_full(&self.made) {
            self.made.retain(|&(_, number)| table.page(number).is_some());
        }
        !is_full(&self.made)
    }
}

/// A process has ended, or a client has closed its connection: none sends anything.
fn is_readable(file: &impl AsFd) -> bool {
    let mut asked = [PollFd::new(file, PollFlags::IN)];
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
