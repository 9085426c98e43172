//! The rules of policy/ one by one, called as an adapter calls them. Worked examples stand in comments, computed by hand.

mod auto;
mod bench;
mod config;
mod demand;
mod domains;
mod fair;
mod gather;
mod green;
mod heat;
mod hotplug;
mod intensity;
mod layout;
mod longest;
mod members;
mod overdue;
mod phase;
mod placement;
mod pull;
mod random;
mod rank;
mod reserved;
mod room;
mod sets;
mod specialise;
mod spread;
mod taken;
