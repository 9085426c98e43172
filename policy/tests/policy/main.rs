// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The rules of policy/ one by one, called as an adapter calls them. Worked examples are computed by hand and stand in
//! comments.

mod asserted;
mod auto;
mod bench;
mod budget;
mod cap;
mod config;
mod demand;
mod domains;
mod fair;
mod gather;
mod green;
mod heat;
mod hotplug;
mod intensity;
mod isolated;
mod list;
mod longest;
mod members;
mod overdue;
mod pace;
mod phase;
mod placement;
mod pull;
mod random;
mod rank;
mod reserved;
mod room;
mod rt_pressure;
mod sets;
mod smt_spread;
mod specialise;
mod spread;
mod turn;
mod uclamp;
