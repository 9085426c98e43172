// SPDX-License-Identifier: GPL-2.0-only
use super::*;
use rustix::fs::{memfd_create, MemfdFlags};
use std::sync::mpsc::{channel, Receiver, Sender};

/// Pages are files; tells what is done.
struct Fake(Sender<String>);

impl Table for Fake {
    fn name(&self, process: u32) -> io::Result<PageKey> {
        Ok(PageKey {
            process: process as i32,
            ..PageKey::default()
        })
    }

    fn insert(&self, key: &PageKey) -> io::Result<OwnedFd> {
        let _ = self.0.send(format!("+{}", key.process));
        Ok(memfd_create("page", MemfdFlags::CLOEXEC)?)
    }

    fn remove(&self, key: &PageKey) {
        let _ = self.0.send(format!("-{}", key.process));
    }
}

struct Served {
    pages: Pages,
    done: Receiver<String>,
    folder: tempfile::TempDir,
}

fn serve() -> Served {
    let folder = tempfile::tempdir().unwrap();
    let pages = Pages::open(&folder.path().join("hints")).unwrap();
    let (tell, done) = channel();
    pages.set(Some(Box::new(Fake(tell))));
    Served { pages, done, folder }
}

impl Served {
    fn connect(&self) -> UnixStream {
        UnixStream::connect(self.folder.path().join("hints/socket")).unwrap()
    }

    /// A process that connects, says what it got as its code, and stays until it is killed if it is to.
    fn process(&self, stays: bool) -> std::process::Child {
        let ask = "import socket,sys\n\
             s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1])\n\
             got = len(socket.recv_fds(s, 1, 1)[1])\n\
             sys.argv[2] == 'stays' and sys.stdin.read()\n\
             sys.exit(got)";
        let mut python = std::process::Command::new("python3");
        python.args(["-c", ask]).arg(self.folder.path().join("hints/socket"));
        python.arg(if stays { "stays" } else { "goes" });
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
fn a_process_has_one_page_and_the_last_one_counts() {
    let served = serve();
    let own = std::process::id();
    for _ in 0..3 {
        assert_eq!(received(&served.connect()), 1);
    }
    let done: Vec<String> = served.done.iter().take(5).collect();
    let (given, taken) = (format!("+{own}"), format!("-{own}"));
    assert_eq!(done, [&given, &taken, &given, &taken, &given].map(Clone::clone));
}

#[test]
fn a_page_goes_with_its_process_however_that_ends() {
    let served = serve();
    let mut ends = served.process(false);
    let page = ends.id();
    assert_eq!(ends.wait().unwrap().code(), Some(1));
    let done: Vec<String> = served.done.iter().take(2).collect();
    assert_eq!(done, [format!("+{page}"), format!("-{page}")]);

    let mut killed = served.process(true);
    let page = killed.id();
    assert_eq!(served.done.recv().unwrap(), format!("+{page}"));
    killed.kill().unwrap();
    assert_eq!(served.done.recv().unwrap(), format!("-{page}"));
    killed.wait().unwrap();
}

#[test]
fn while_a_program_is_loaded_connections_wait() {
    let served = serve();
    served.pages.unload();
    let waiting = served.connect();
    let (tell, done) = channel();
    served.pages.set(Some(Box::new(Fake(tell))));
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

fn server(pages: impl IntoIterator<Item = (u32, u32)>) -> (Server, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let pidfd = || eventfd(0, EventfdFlags::CLOEXEC).unwrap();
    let page = |user| Page {
        key: PageKey::default(),
        user,
        pidfd: pidfd(),
    };
    let server = Server {
        listener: UnixListener::bind(folder.path().join("socket")).unwrap(),
        watched: epoll::create(epoll::CreateFlags::CLOEXEC).unwrap(),
        shared: Arc::default(),
        by_process: pages.into_iter().map(|(process, user)| (process, page(user))).collect(),
    };
    (server, folder)
}

#[test]
fn no_user_takes_the_room_of_others_and_there_is_an_end() {
    let most = MOST_OF_USER as u32;
    let (server, _folder) = server((1..=most).map(|process| (process, 1000)));
    assert!(!server.has_room(1000));
    assert!(server.has_room(1001));
    let (server, _folder) = self::server((0..4 * most).map(|process| (process, 1000 + process % 4)));
    assert_eq!(server.by_process.len(), PAGES as usize);
    assert!(!server.has_room(2000));
}

/// Its number may belong to another process by the time that its end is heard of.
#[test]
fn a_living_process_is_not_forgotten() {
    let (mut server, _folder) = server([(7, 1000)]);
    let (tell, done) = channel();
    let table = Fake(tell);
    server.follow(7, &table);
    assert_eq!(server.by_process.len(), 1);
    rustix::io::write(&server.by_process[&7].pidfd, &1u64.to_ne_bytes()).unwrap();
    server.follow(7, &table);
    assert_eq!((server.by_process.len(), done.recv().unwrap()), (0, "-0".into()));
}
