//! The rules of policy/ one by one, called as an adapter calls them. Worked examples stand in comments, computed by hand.

mod bench;
mod config;
mod demand;
mod fair;
mod green;
mod heat;
mod hotplug;
mod layout;
mod members;
mod placement;
mod random;
mod reserved;
mod sets;
mod taken;
