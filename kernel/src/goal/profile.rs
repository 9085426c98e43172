// SPDX-License-Identifier: GPL-2.0-only
//! The profile that the user chose in power-profiles-daemon, or in what stands in for it, over D-Bus. Neither is started by asking.

use super::Aim;
use crate::options::Goal;
use rustix::event::{eventfd, EventfdFlags};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;
use zbus::blocking::{connection, fdo::DBusProxy, Connection, MessageIterator};
use zbus::message::Type;
use zbus::zvariant::OwnedValue;
use zbus::MatchRule;

/// Names on the bus, which are those of the interface too, and the object's path. The first that is there counts.
const SERVICES: [(&str, &str); 2] = [
    (
        "org.freedesktop.UPower.PowerProfiles",
        "/org/freedesktop/UPower/PowerProfiles",
    ),
    ("net.hadess.PowerProfiles", "/net/hadess/PowerProfiles"),
];
const BUS: &str = "org.freedesktop.DBus";
const PROPERTIES: &str = "org.freedesktop.DBus.Properties";
const PROPERTY: &str = "ActiveProfile";

/// The system's bus, below the root of the machine.
const SOCKET: &str = "run/dbus/system_bus_socket";

/// A bus or a service that does not answer must not keep the scheduler from starting.
const PATIENCE: Duration = Duration::from_secs(2);

type Shared = Arc<Mutex<Option<Aim>>>;

/// Follows the profile in a thread of its own, which sleeps until there is a signal.
pub struct Profiles {
    aim: Shared,
    bell: Arc<OwnedFd>,
    connection: Connection,
}

impl Profiles {
    /// `None` if this machine has no bus.
    pub fn follow(root: &Path) -> Option<Self> {
        let socket = root.join(SOCKET);
        if !socket.exists() {
            return None;
        }
        let (connection, signals) = connect(&socket).ok()?;
        let bell = Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).ok()?);
        let aim = Shared::default();
        set(&aim, read(&connection));
        let (asks, shared, rings) = (connection.clone(), Arc::clone(&aim), Arc::clone(&bell));
        let follow = move || {
            let told = |found: Option<Aim>| {
                if set(&shared, found) {
                    // This only fails if the counter is full, and then the bell rings already.
                    let _ = rustix::io::write(&*rings, &1_u64.to_ne_bytes());
                }
            };
            let signals = signals.map_while(Result::ok);
            for _ in signals.filter(|message| message.message_type() == Type::Signal) {
                told(read(&asks));
            }
            told(None);
        };
        thread::Builder::new().name("profile".into()).spawn(follow).ok()?;
        Some(Self { aim, bell, connection })
    }

    /// `None`: no such service runs, or its profile is none of the three.
    pub fn aim(&self) -> Option<Aim> {
        self.aim.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Readable when the profile has changed.
    pub fn bell(&self) -> BorrowedFd<'_> {
        self.bell.as_fd()
    }

    pub fn quiet(&self) {
        // This fails if the bell did not ring.
        let _ = rustix::io::read(&*self.bell, &mut [0_u8; 8]);
    }
}

impl Drop for Profiles {
    /// Ends the thread.
    fn drop(&mut self) {
        let _ = self.connection.clone().close();
    }
}

/// Whether it differs from before.
fn set(aim: &Shared, found: Option<Aim>) -> bool {
    let mut aim = aim.lock().unwrap_or_else(PoisonError::into_inner);
    let differs = *aim != found;
    *aim = found;
    differs
}

/// The bus, and from now on its signals: a service came or went, or changed a property.
fn connect(socket: &Path) -> zbus::Result<(Connection, MessageIterator)> {
    let address = format!("unix:path={}", socket.display());
    let connection = connection::Builder::address(address.as_str())?
        .method_timeout(PATIENCE)
        .build()?;
    let signals = MessageIterator::from(&connection);
    let bus = DBusProxy::new(&connection)?;
    let signal = || MatchRule::builder().msg_type(Type::Signal);
    for (name, path) in SERVICES {
        let changes = signal()
            .path(path)?
            .interface(PROPERTIES)?
            .member("PropertiesChanged")?;
        bus.add_match_rule(changes.build())?;
        let comes = signal().sender(BUS)?.member("NameOwnerChanged")?.arg(0, name)?;
        bus.add_match_rule(comes.build())?;
    }
    Ok((connection, signals))
}

fn read(connection: &Connection) -> Option<Aim> {
    let bus = DBusProxy::new(connection).ok()?;
    let here = |name: &str| {
        name.try_into()
            .is_ok_and(|name| bus.name_has_owner(name).unwrap_or(false))
    };
    let (name, path) = SERVICES.into_iter().find(|(name, _)| here(name))?;
    let reply = connection
        .call_method(Some(name), path, Some(PROPERTIES), "Get", &(name, PROPERTY))
        .ok()?;
    let value: OwnedValue = reply.body().deserialize().ok()?;
    let profile = String::try_from(value).ok()?;
    let goal = match profile.as_str() {
        "power-saver" => Goal::Energy,
        "balanced" => Goal::Balanced,
        "performance" => Goal::Speed,
        _ => return None,
    };
    let why = format!("profile {profile}");
    Some(Aim { goal, why })
}
