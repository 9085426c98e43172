// SPDX-License-Identifier: MIT OR Apache-2.0
//! Speeds on folders that look like sysfs, behind a kernel that rounds and refuses as the real one does.

mod apply;
mod fake;
mod high;
mod interrupts;
mod journal;
mod killed;
mod limit;
mod meanwhile;
mod mechanisms;
mod property;
mod restore;
mod trial;
