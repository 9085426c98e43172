//! The rules of policy/ one by one, called as an adapter calls them. Worked examples stand in comments, computed by hand.

mod bench;
mod config;
mod demand;
mod fair;
mod green;
mod heat;
mod hotplug;
mod layout;
mod longest;
mod members;
mod overdue;
mod phase;
mod placement;
mod pull;
mod random;
mod rank;
mod sets;
mod taken;
