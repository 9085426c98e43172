// SPDX-License-Identifier: GPL-2.0-only
use super::*;
use rustix::fs::{memfd_create, MemfdFlags};
use std::collections::BTreeSet;
use std::sync::mpsc::{channel, Receiver, Sender};

/// Pages are files, which nobody else has once their number is in `gone`. Tells what is done.
struct Fake {
    tell: Sender<String>,
    pages: Mutex<Vec<OwnedFd>>,
    gone: Mutex<BTreeSet<u32>>,
}

fn fake() -> (Arc<Fake>, Receiver<String>) {
    let (tell, done) = channel();
    let (pages, gone) = Default::default();
    (Arc::new(Fake { tell, pages, gone }), done)
}

impl Table for Fake {
    fn name(&self, process: u32, _user: u32) -> io::Result<PageKey> {
        Ok(PageKey {
            process: process as i32,
            ..PageKey::default()
        })
    }

    fn make(&self) -> io::Result<(OwnedFd, u32)> {
        let page = memfd_create("page", MemfdFlags::CLOEXEC)?;
        let mut pages = self.pages.lock().unwrap();
        pages.push(page.try_clone()?);
        Ok((page, pages.len() as u32 - 1))
    }

    fn page(&self, number: u32) -> Option<OwnedFd> {
        let is_gone = self.gone.lock().unwrap().contains(&number);
        let pages = self.pages.lock().unwrap();
        let page = pages.get(number as usize).filter(|_| !is_gone)?;
        page.try_clone().ok()
    }

    fn insert(&self, key: &PageKey, _page: &OwnedFd) -> io::Result<()> {
        let _ = self.tell.send(format!("+{}", key.process));
        Ok(())
    }

    fn tell_given(&self) {
        let _ = self.tell.send("given".into());
    }

    fn remove(&self, key: &PageKey) {
        let _ = self.tell.send(format!("-{}", key.process));
    }
}

struct Served {
    pages: Pages,
    table: Arc<Fake>,
    done: Receiver<String>,
    folder: tempfile::TempDir,
}

fn serve() -> Served {
    let folder = tempfile::tempdir().unwrap();
    let pages = Pages::open(&folder.path().join("hints")).unwrap();
    let (table, done) = fake();
    pages.shared.change(|state| state.table = Some(table.clone()));
    Served {
        pages,
        table,
        done,
        folder,
    }
}

impl Served {
    fn connect(&self) -> UnixStream {
        UnixStream::connect(self.folder.path().join("hints/socket")).unwrap()
    }

    /// A process that connects, and stays until it is killed.
    fn process(&self) -> std::process::Child {
        let ask = "import socket,sys\n\
             s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); sys.stdin.read()";
        let mut python = std::process::Command::new("python3");
        python.args(["-c", ask]).arg(self.folder.path().join("hints/socket"));
        python.stdin(std::process::Stdio::piped()).spawn().unwrap()
    }
}

/// How many descriptors the server sent before it closed the connection.
fn received(connection: &UnixStream) -> usize {
    use rustix::net::{recvmsg, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags};
    let mut room = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut passed = RecvAncillaryBuffer::new(&mut room);
    let mut byte = [0];
    let into = &mut [io::IoSliceMut::new(&mut byte)];
    recvmsg(connection, into, &mut passed, RecvFlags::CMSG_CLOEXEC).unwrap();
    let files = passed.drain().map(|message| match message {
        RecvAncillaryMessage::ScmRights(files) => files.count(),
        _ => 0,
    });
    files.sum()
}

#[test]
fn a_process_that_asks_again_gets_the_page_that_it_has() {
    let served = serve();
    for _ in 0..100 {
        assert_eq!(received(&served.connect()), 1);
    }
    let done: Vec<String> = served.done.iter().take(2).collect();
    assert_eq!(done, [format!("+{}", std::process::id()), "given".into()]);
    assert!(served.done.try_recv().is_err());
    assert_eq!(served.table.pages.lock().unwrap().len(), 1);
}

#[test]
fn a_page_goes_with_its_process() {
    let served = serve();
    let mut killed = served.process();
    let page = killed.id();
    let done: Vec<String> = served.done.iter().take(2).collect();
    assert_eq!(done, [format!("+{page}"), "given".into()]);
    killed.kill().unwrap();
    assert_eq!(served.done.recv().unwrap(), format!("-{page}"));
    killed.wait().unwrap();
}

#[test]
fn while_a_program_is_loaded_connections_wait() {
    let served = serve();
    served.pages.unload();
    let waiting = served.connect();
    let (table, done) = fake();
    served.pages.shared.change(|state| state.table = Some(table));
    assert_eq!(received(&waiting), 1);
    assert_eq!(done.recv().unwrap(), format!("+{}", std::process::id()));
    assert!(served.done.try_recv().is_err(), "of the program before");
}

/// Also while a program is being loaded, with a client that waits.
#[test]
fn the_thread_and_the_socket_end_with_the_pages() {
    for loads in [false, true] {
        let served = serve();
        if loads {
            served.pages.unload();
        }
        let _silent = served.connect();
        let shared = Arc::downgrade(&served.pages.shared);
        drop(served.pages);
        assert_eq!(shared.strong_count(), 0, "the thread has one");
        assert!(!served.folder.path().join("hints/socket").exists());
    }
}

#[test]
fn clients_that_never_read_keep_nobody_waiting() {
    let served = serve();
    let _silent: Vec<UnixStream> = (0..100).map(|_| served.connect()).collect();
    assert_eq!(received(&served.connect()), 1);
}

fn server() -> (Server, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let server = Server {
        listener: UnixListener::bind(folder.path().join("socket")).unwrap(),
        watched: epoll::create(epoll::CreateFlags::CLOEXEC).unwrap(),
        shared: Arc::default(),
        by_process: BTreeMap::new(),
        made: Vec::new(),
        work: VecDeque::new(),
    };
    (server, folder)
}

/// Whatever became of their processes.
#[test]
fn pages_count_as_long_as_somebody_has_them() {
    let (mut server, _folder) = server();
    let (table, _done) = fake();
    let make = |server: &mut Server, user| {
        let has_room = server.has_room(user, table.as_ref());
        if has_room {
            server.made.push((user, table.make().unwrap().1));
        }
        has_room
    };
    let of_one = (0..1000).filter(|_| make(&mut server, 1000)).count();
    assert_eq!(of_one, MOST_OF_USER);
    table.gone.lock().unwrap().insert(7);
    assert!(make(&mut server, 1000) && !make(&mut server, 1000));
    let of_others = (0..1000).filter(|n| make(&mut server, 2000 + n)).count();
    assert_eq!(of_one + of_others, PAGES as usize);
}

fn page_of(key: PageKey) -> Page {
    Page {
        key,
        number: 0,
        pidfd: eventfd(0, EventfdFlags::CLOEXEC).unwrap(),
        is_inserted: false,
    }
}

/// Its number may belong to another process by the time that its end is heard of.
#[test]
fn a_living_process_is_not_forgotten() {
    let (mut server, _folder) = server();
    server.by_process.insert(7, page_of(PageKey::default()));
    server.forget_if_ended(7);
    assert_eq!(server.by_process.len(), 1);
    rustix::io::write(&server.by_process[&7].pidfd, &1u64.to_ne_bytes()).unwrap();
    server.forget_if_ended(7);
    assert!(
        server.by_process.is_empty() && server.work.is_empty(),
        "it was not inserted yet"
    );
}

/// A page is inserted for the program that asked, and neither for one that was executed since nor after the end.
#[test]
fn a_page_is_inserted_only_for_whom_it_was_made() {
    let (mut server, _folder) = server();
    let (table, done) = fake();
    server.shared.change(|state| state.table = Some(table.clone()));
    let key = |executed| PageKey {
        executed,
        process: 7,
        ..PageKey::default()
    };
    let asks = |server: &mut Server, process, executed| {
        let page = table.make().unwrap().0;
        server.by_process.insert(process, page_of(key(executed)));
        server.work.push_back(Work::Insert(process, key(executed), page));
    };
    asks(&mut server, 7, 1);
    asks(&mut server, 7, 2);
    asks(&mut server, 8, 1);
    server.forget(8);
    (0..3).for_each(|_| server.do_some_work(table.as_ref()));
    assert!(server.by_process[&7].is_inserted);
    server.forget(7);
    server.do_some_work(table.as_ref());
    assert_eq!(done.try_iter().collect::<Vec<_>>(), ["+7", "given", "-7"]);
}
