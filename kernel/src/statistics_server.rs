// SPDX-License-Identifier: GPL-2.0-only
//! Serves statistics in the protocol of `scx_stats`, for the tools of sched_ext.
//!
//! The server of `scx_stats` starts a thread for each client and reads lines of any length, without bounds, so only root may connect. It gets its
//! data from the status socket, which asks the scheduler at most ten times a second, however many clients there are.

use crate::adapter::KernelError;
use crate::statistics::Statistics;
use crate::status::Status;
use anyhow::Context;
use scx_stats::{Meta, StatsOpener, StatsOps, StatsReader, StatsServer, StatsServerData, ToJson};
use std::fs::Permissions;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Serves until dropped.
pub struct StatisticsServer {
    socket: PathBuf,
    /// The socket that this server created; another may be in its place by now.
    made: Option<File>,
    server: Option<StatsServer<(), ()>>,
}

/// Device and inode number.
type File = (u64, u64);

impl StatisticsServer {
    /// Binds the socket for root only, replacing one that a dead scheduler left. Each client gets what happened since its last request, according
    /// to `status`.
    ///
    /// # Errors
    /// The socket cannot be created, or another scheduler serves there.
    pub fn start(
        socket: &Path,
        status: impl Fn() -> Result<Status, KernelError> + Send + Sync + 'static,
    ) -> Result<Self, KernelError> {
        let lost = |reason: String| {
            let socket = socket.display();
            KernelError::new(format!("no statistics for the tools of sched_ext: {socket}: {reason}"))
        };
        // scx_stats would take the socket away from the present server.
        if UnixStream::connect(socket).is_ok() {
            return Err(lost("another scheduler serves there".to_string()));
        }
        let server = launch(socket, Arc::new(status)).map_err(|error| lost(format!("{error:#}")))?;
        Ok(Self {
            socket: socket.to_path_buf(),
            made: file(socket),
            server: Some(server),
        })
    }
}

impl Drop for StatisticsServer {
    fn drop(&mut self) {
        // The server first: its listener is woken by a connection, which needs the socket.
        self.server = None;
        if self.made.is_some() && file(&self.socket) == self.made {
            let _ = std::fs::remove_file(&self.socket);
        }
    }
}

fn file(path: &Path) -> Option<File> {
    let found = std::fs::symlink_metadata(path).ok()?;
    Some((found.dev(), found.ino()))
}

type Source = dyn Fn() -> Result<Status, KernelError> + Send + Sync;

/// The folder is closed to others meanwhile, because a new socket is open to everyone whom the umask admits until its own permissions are set.
fn launch(socket: &Path, status: Arc<Source>) -> anyhow::Result<StatsServer<(), ()>> {
    let folder = socket.parent().context("it is in no folder")?;
    std::fs::create_dir_all(folder)?;
    let open = folder.metadata()?.permissions();
    std::fs::set_permissions(folder, Permissions::from_mode(0o700))?;
    let launched = StatsServer::new(answers(status)).set_path(socket).launch();
    let closed = launched.and_then(|server| {
        std::fs::set_permissions(socket, Permissions::from_mode(0o600))?;
        Ok(server)
    });
    std::fs::set_permissions(folder, open)?;
    closed
}

/// The served data: the description of the statistics, and for each client its own intervals, which begin at its first request.
fn answers(status: Arc<Source>) -> StatsServerData<(), ()> {
    let open: Box<dyn StatsOpener<(), ()>> = Box::new(move |_| {
        let status = status.clone();
        let mut before = status()?;
        let read: Box<dyn StatsReader<(), ()>> = Box::new(move |_, _| {
            let now = status()?;
            let statistics = Statistics::between(&before, &now);
            before = now;
            statistics.to_json()
        });
        Ok(read)
    });
    StatsServerData::new()
        .add_meta(Statistics::meta())
        .add_ops("top", StatsOps { open, close: None })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::status::Placements;
    use scx_stats::{StatsClient, StatsMeta};
    use std::collections::BTreeMap;
    use std::os::unix::net::UnixListener;
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::time::Duration;

    fn socket_in(folder: &Path) -> PathBuf {
        folder.join("scx/root/stats")
    }

    /// A scheduler that places ten tasks between any two questions.
    fn placing() -> impl Fn() -> Result<Status, KernelError> + Send + Sync {
        let questions = AtomicU64::new(0);
        move || {
            let placements = Placements {
                claimed: 10 * questions.fetch_add(1, Ordering::SeqCst),
                ..Placements::default()
            };
            Ok(Status {
                active: 3,
                placements,
                ..Status::default()
            })
        }
    }

    fn client(socket: &Path) -> StatsClient {
        StatsClient::new().set_path(socket).connect(None).unwrap()
    }

    fn mode(path: &Path) -> u32 {
        path.metadata().unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn each_client_hears_what_happened_since_its_last_question() {
        let folder = tempfile::tempdir().unwrap();
        let socket = socket_in(folder.path());
        let _server = StatisticsServer::start(&socket, placing()).unwrap();
        let claimed = |client: &mut StatsClient| {
            let heard: Statistics = client.request("stats", vec![]).unwrap();
            assert_eq!(heard.active, 3);
            heard.claimed
        };
        // Requests at 0 and 10; at 20 and 30; and at 40, which is 30 after the first client's last one.
        let (mut first, mut second) = (client(&socket), client(&socket));
        assert_eq!(claimed(&mut first), 10);
        assert_eq!(claimed(&mut second), 10);
        assert_eq!(claimed(&mut first), 30);
    }

    /// The first requests of a tool that knows no scheduler's struct.
    #[test]
    fn the_statistics_are_described_and_other_requests_refused() {
        let folder = tempfile::tempdir().unwrap();
        let socket = socket_in(folder.path());
        let _server = StatisticsServer::start(&socket, placing()).unwrap();
        let mut client = client(&socket);
        let meta: BTreeMap<String, StatsMeta> = client.request("stats_meta", vec![]).unwrap();
        assert_eq!(meta.keys().collect::<Vec<_>>(), ["Statistics"]);
        assert!(meta["Statistics"].fields.contains_key("claimed"));
        let target = vec![("target".to_string(), "other".to_string())];
        assert!(client.request::<Statistics>("stats", target).is_err());
        assert_eq!(client.request::<Statistics>("stats", vec![]).unwrap().claimed, 10);
    }

    #[test]
    fn a_scheduler_that_does_not_answer_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let socket = socket_in(folder.path());
        let _server = StatisticsServer::start(&socket, || Err(KernelError::new("just starting"))).unwrap();
        let error = client(&socket).request::<Statistics>("stats", vec![]).unwrap_err();
        assert!(format!("{error:#}").contains("just starting"), "{error:#}");
    }

    #[test]
    fn the_socket_is_its_owners_alone_and_goes_with_the_server() {
        let folder = tempfile::tempdir().unwrap();
        let socket = socket_in(folder.path());
        std::fs::create_dir_all(socket.parent().unwrap()).unwrap();
        std::fs::set_permissions(socket.parent().unwrap(), Permissions::from_mode(0o755)).unwrap();
        let server = StatisticsServer::start(&socket, placing()).unwrap();
        assert_eq!((mode(&socket), mode(socket.parent().unwrap())), (0o600, 0o755));
        drop(server);
        assert!(!socket.exists());
    }

    #[test]
    fn whose_socket_it_is_keeps_it() {
        let folder = tempfile::tempdir().unwrap();
        let socket = socket_in(folder.path());
        let first = StatisticsServer::start(&socket, placing()).unwrap();
        let error = StatisticsServer::start(&socket, placing()).err().unwrap().to_string();
        assert!(error.contains("another scheduler serves there"), "{error}");
        client(&socket);

        // As a scheduler does that replaces the socket.
        std::fs::remove_file(&socket).unwrap();
        let others = UnixListener::bind(&socket).unwrap();
        drop(first);
        assert!(socket.exists());
        drop(others);
    }

    #[test]
    fn what_a_dead_scheduler_left_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let socket = socket_in(folder.path());
        std::fs::create_dir_all(socket.parent().unwrap()).unwrap();
        drop(UnixListener::bind(&socket).unwrap());
        // A child that another test is just starting has the socket open too, until its exec.
        let replaces = |_| {
            std::thread::sleep(Duration::from_millis(10));
            StatisticsServer::start(&socket, placing()).ok()
        };
        let _server = (0..6000).find_map(replaces).unwrap();
        assert_eq!(
            client(&socket).request::<Statistics>("stats", vec![]).unwrap().active,
            3
        );
    }

    #[test]
    fn where_no_socket_can_be_made_one_line_says_so() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("scx"), "").unwrap();
        let error = StatisticsServer::start(&socket_in(folder.path()), placing())
            .err()
            .unwrap();
        let line = error.to_string();
        assert!(
            line.starts_with("no statistics for the tools of sched_ext: ") && line.contains("scx/root/stats: "),
            "{line}"
        );
        assert_eq!(line.lines().count(), 1);
    }
}
