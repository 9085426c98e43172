//! `lop restore`: puts speeds back after a scheduler was killed in a way that left it no time for it.

use super::kernel::Place;
use crate::failure::{Failure, FAILED};
use crate::terminal;
use clap::Args;
use lop_kernel::adapter::KernelError;
use lop_kernel::instance;
use lop_machine::speed::{restore_from_journal, Restored};

pub const EXAMPLES: &str = "\
Example:
  lop restore

The next 'lop start' does the same first.";

#[derive(Args)]
pub struct Arguments {
    #[command(flatten)]
    place: Place,
}

pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let dir = arguments.place.run_dir();
    if instance::running(&dir)?.is_some() {
        let running = KernelError::new("Lopsided is running and needs the speeds as they are");
        return Err(running.mend("'lop stop' ends it and puts them back").into());
    }
    let journal = dir.speed_journal();
    if !journal.exists() {
        return terminal::print("nothing to restore: no journal of changed speeds\n");
    }
    let restored = restore_from_journal(&arguments.place.root, &journal)?;
    terminal::print(&told(&restored))?;
    match restored.skipped.iter().filter(|skipped| skipped.kept).count() {
        0 => Ok(()),
        kept => Err(Failure::new(FAILED, format!("{kept} files could not be put back yet"))
            .hint("'lop restore' tries again, as does the next 'lop start'")),
    }
}

fn told(restored: &Restored) -> String {
    let mut text = match restored.files.len() {
        0 => "nothing had to be put back\n".to_string(),
        1 => "put back 1 file:\n".to_string(),
        count => format!("put back {count} files:\n"),
    };
    for file in &restored.files {
        text += &format!("  {}\n", file.display());
    }
    for skipped in &restored.skipped {
        text += &format!("left {}: {}\n", skipped.file.display(), skipped.reason);
    }
    text
}
