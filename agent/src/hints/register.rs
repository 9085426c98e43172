// SPDX-License-Identifier: GPL-2.0-only
//! Gives each process that connects to a socket a page for its hints. A thread answers, since the process waits meanwhile.

use super::format::{lop_hint_page as Header, lop_hint_record as Record, LOP_HINT_MAGIC, LOP_HINT_VERSION};
use rustix::fs::{fcntl_add_seals, memfd_create, MemfdFlags, SealFlags};
use rustix::net::{sendmsg, shutdown, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, Shutdown};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::FileExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// For so many threads of a process is there room. Sparse: what no thread uses takes no memory.
const NR_RECORDS: u32 = 4095;
/// Half of the descriptors that a process may have by default.
const MOST_PAGES: usize = 512;
/// At most how long a process that was given a page takes to lock it.
const YOUNG: Duration = Duration::from_secs(10);

/// The memory of a process. Its size is sealed.
pub(super) struct Page {
    pub file: File,
    /// Whether it was said that the page is refused.
    pub told: bool,
    given: Instant,
}

impl Page {
    fn new() -> io::Result<Self> {
        let file: File = memfd_create("lop-hints", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?.into();
        let header = [LOP_HINT_MAGIC, LOP_HINT_VERSION, size_of::<Record>() as u32, NR_RECORDS];
        file.set_len((size_of::<Header>() + NR_RECORDS as usize * size_of::<Record>()) as u64)?;
        file.write_all_at(&header.map(u32::to_ne_bytes).concat(), 0)?;
        fcntl_add_seals(&file, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL)?;
        Ok(Self {
            file,
            told: false,
            given: Instant::now(),
        })
    }

    /// The process that holds the page's lock. None: whoever was given it has ended, executed another program, or is not ready.
    pub fn holder(&self) -> Option<u32> {
        let mut lock: libc::flock = unsafe { std::mem::zeroed() };
        lock.l_type = libc::F_WRLCK as libc::c_short;
        // As an open file, not as a process: in tests the library is part of this process.
        let asked = unsafe { libc::fcntl(self.file.as_raw_fd(), libc::F_OFD_GETLK, &mut lock) };
        let held = asked == 0 && lock.l_type != libc::F_UNLCK as libc::c_short;
        held.then(|| u32::try_from(lock.l_pid).ok()).flatten()
    }

    /// Whether its process may still give hints in it, or is about to.
    pub fn is_in_use(&self, pid: u32) -> bool {
        self.holder() == Some(pid) || self.given.elapsed() < YOUNG
    }
}

pub(super) type Pages = BTreeMap<u32, Page>;

/// The socket is served until this is dropped.
pub(super) struct Register {
    listener: UnixListener,
    pages: Arc<Mutex<Pages>>,
    ends: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Register {
    /// # Errors
    /// There can be no socket in this folder: its path may be too long, above about 100 bytes.
    pub fn open(folder: &Path) -> io::Result<Self> {
        let listener = UnixListener::bind(folder.join("socket"))?;
        let pages = Arc::<Mutex<Pages>>::default();
        let ends = Arc::<AtomicBool>::default();
        let (server, given, ending) = (listener.try_clone()?, pages.clone(), ends.clone());
        let thread = std::thread::Builder::new().name("hints".into());
        let thread = thread.spawn(move || serve(&server, &given, &ending))?;
        Ok(Self {
            listener,
            pages,
            ends,
            thread: Some(thread),
        })
    }

    /// By the number of their processes.
    pub fn pages(&self) -> MutexGuard<'_, Pages> {
        lock(&self.pages)
    }
}

impl Drop for Register {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Release);
        // Wakes the thread. If it fails the thread ends with the process.
        if shutdown(&self.listener, Shutdown::Both).is_ok() {
            let _ = self.thread.take().map(JoinHandle::join);
        }
    }
}

fn lock(pages: &Mutex<Pages>) -> MutexGuard<'_, Pages> {
    pages.lock().unwrap_or_else(PoisonError::into_inner)
}

fn serve(listener: &UnixListener, pages: &Mutex<Pages>, ends: &AtomicBool) {
    loop {
        let connection = listener.accept();
        if ends.load(Ordering::Acquire) {
            return;
        }
        match connection {
            // A process that gets no page gives no hints: the connection ends.
            Ok((connection, _)) => drop(register(&connection, pages, MOST_PAGES)),
            // No descriptor is free, for now.
            Err(_) => std::thread::sleep(Duration::from_millis(10)),
        }
    }
}

/// A later page of a process, which has executed another program, takes the place of the earlier.
fn register(connection: &UnixStream, pages: &Mutex<Pages>, most: usize) -> io::Result<()> {
    let pid = admitted(&peer(connection)?, rustix::process::geteuid().as_raw())?;
    send(connection, &give(&mut lock(pages), pid, most)?.file)
}

/// A page for this process. Where there are as many as may be, those make room whose processes have ended.
fn give(pages: &mut Pages, pid: u32, most: usize) -> io::Result<&Page> {
    if pages.len() >= most {
        pages.retain(|&pid, page| page.is_in_use(pid));
    }
    if pages.len() >= most && !pages.contains_key(&pid) {
        return Err(io::Error::from(io::ErrorKind::QuotaExceeded));
    }
    pages.insert(pid, Page::new()?);
    Ok(&pages[&pid])
}

/// The number of a process that may give hints: one of the same user.
fn admitted(peer: &libc::ucred, uid: u32) -> io::Result<u32> {
    match u32::try_from(peer.pid) {
        Ok(pid) if pid > 0 && peer.uid == uid => Ok(pid),
        _ => Err(io::Error::from(io::ErrorKind::PermissionDenied)),
    }
}

/// The process that connected, as the kernel says. 0: it is of another PID namespace that is not below this one.
fn peer(connection: &UnixStream) -> io::Result<libc::ucred> {
    let mut peer = libc::ucred { pid: 0, uid: 0, gid: 0 };
    let mut bytes = size_of::<libc::ucred>() as libc::socklen_t;
    let (socket, into) = (connection.as_raw_fd(), (&raw mut peer).cast());
    match unsafe { libc::getsockopt(socket, libc::SOL_SOCKET, libc::SO_PEERCRED, into, &mut bytes) } {
        0 => Ok(peer),
        _ => Err(io::Error::last_os_error()),
    }
}

/// One byte and the descriptor. A new connection has room for them, so this never waits.
fn send(connection: &UnixStream, file: &File) -> io::Result<()> {
    let files = [file.as_fd()];
    let mut room = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut passed = SendAncillaryBuffer::new(&mut room);
    passed.push(SendAncillaryMessage::ScmRights(&files));
    let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
    sendmsg(connection, &[IoSlice::new(&[0])], &mut passed, flags)?;
    Ok(())
}

/// Connects as the library does. `None`: there is no page for this process.
#[cfg(any(test, fuzzing))]
pub fn receive(connection: &UnixStream) -> Option<File> {
    use rustix::net::{recvmsg, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags};
    let mut room = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut passed = RecvAncillaryBuffer::new(&mut room);
    let mut byte = [0];
    let into = &mut [io::IoSliceMut::new(&mut byte)];
    recvmsg(connection, into, &mut passed, RecvFlags::CMSG_CLOEXEC).unwrap();
    passed.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut files) => files.next().map(File::from),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What this process gets that asks for a page.
    fn asks(pages: &Mutex<Pages>, most: usize) -> Option<File> {
        let (client, server) = UnixStream::pair().unwrap();
        let _ = register(&server, pages, most);
        drop(server);
        receive(&client)
    }

    #[test]
    fn a_process_has_one_page_of_a_fixed_size_and_dead_ones_make_room() {
        let pages = Mutex::new(Pages::new());
        let own = std::process::id();
        let page = (0..100).filter_map(|_| asks(&pages, 2)).last().unwrap();
        assert_eq!(lock(&pages).keys().copied().collect::<Vec<_>>(), [own]);
        assert_eq!(page.metadata().unwrap().len(), 4096 * 64);
        assert!(page.set_len(0).is_err() && page.set_len(1 << 30).is_err());

        lock(&pages).clear();
        for pid in [1, 2] {
            lock(&pages).insert(pid, Page::new().unwrap());
        }
        assert!(asks(&pages, 2).is_none(), "both were given just now");
        lock(&pages).get_mut(&1).unwrap().given = Instant::now().checked_sub(2 * YOUNG).unwrap();
        assert!(asks(&pages, 2).is_some());
        assert_eq!(lock(&pages).keys().copied().collect::<Vec<_>>(), [2, own]);
    }

    /// Of any number of processes, those that came first have their pages as long as they are young or live.
    #[test]
    fn there_are_never_more_pages_than_may_be() {
        let mut pages = Pages::new();
        let given = |pages: &mut Pages, pids: std::ops::Range<u32>| {
            pids.filter(|&pid| {
                let is_given = give(pages, pid, 8).is_ok() && pages.len() <= 8;
                // It stays young however long the others take.
                pages.entry(pid).and_modify(|page| page.given += 100 * YOUNG);
                is_given
            })
            .collect::<Vec<_>>()
        };
        assert_eq!(given(&mut pages, 1..1000), (1..9).collect::<Vec<_>>());
        for page in pages.values_mut() {
            page.given = Instant::now().checked_sub(2 * YOUNG).unwrap();
        }
        assert_eq!(given(&mut pages, 1000..2000), (1000..1008).collect::<Vec<_>>());
        assert_eq!(pages.into_keys().collect::<Vec<_>>(), (1000..1008).collect::<Vec<_>>());
    }

    /// Their process has one page all the same, the last one.
    #[test]
    fn clients_that_never_read_keep_nobody_waiting() {
        let folder = tempfile::tempdir().unwrap();
        let register = Register::open(folder.path()).unwrap();
        let connect = || UnixStream::connect(folder.path().join("socket")).unwrap();
        let _silent: Vec<_> = (0..200).map(|_| connect()).collect();
        let page = receive(&connect()).unwrap();
        page.write_all_at(b"mine", 100).unwrap();
        let mut read = [0; 4];
        let pages = register.pages();
        assert_eq!(pages.keys().copied().collect::<Vec<_>>(), [std::process::id()]);
        pages[&std::process::id()].file.read_exact_at(&mut read, 100).unwrap();
        assert_eq!(&read, b"mine");
    }

    /// LOP_ASKS: how often; a million in soak.
    #[test]
    fn who_asks_and_asks_has_one_page() {
        let asks = std::env::var("LOP_ASKS").map_or(1000, |asks| asks.parse().unwrap());
        let folder = tempfile::tempdir().unwrap();
        let register = Register::open(folder.path()).unwrap();
        for _ in 0..asks {
            let connection = UnixStream::connect(folder.path().join("socket")).unwrap();
            assert!(receive(&connection).is_some());
        }
        assert_eq!(
            register.pages().keys().copied().collect::<Vec<_>>(),
            [std::process::id()]
        );
    }

    #[test]
    fn only_processes_of_the_same_user_that_can_be_named_are_admitted() {
        let peer = |pid, uid| libc::ucred { pid, uid, gid: 0 };
        assert_eq!(admitted(&peer(7, 1000), 1000).unwrap(), 7);
        assert!(admitted(&peer(7, 1001), 1000).is_err());
        assert!(admitted(&peer(0, 1000), 1000).is_err());
        let (client, _server) = UnixStream::pair().unwrap();
        let who = super::peer(&client).unwrap();
        assert_eq!(
            (who.pid.unsigned_abs(), who.uid),
            (std::process::id(), rustix::process::geteuid().as_raw())
        );
    }

    /// Also while a client has connected and does not read.
    #[test]
    fn the_thread_ends_with_the_register() {
        let folder = tempfile::tempdir().unwrap();
        let register = Register::open(folder.path()).unwrap();
        let _silent = UnixStream::connect(folder.path().join("socket")).unwrap();
        let client = UnixStream::connect(folder.path().join("socket")).unwrap();
        assert!(receive(&client).is_some());
        let pages = Arc::downgrade(&register.pages);
        drop(register);
        assert_eq!(pages.strong_count(), 0, "the thread has one");
    }
}
