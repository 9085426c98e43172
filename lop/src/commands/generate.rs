//! `lop generate`: man pages and shell completions from the definition of the command line, for packages.

use crate::failure::{Failure, FAILED};
use clap::{Args, Command};
use clap_complete::Shell;
use std::io;
use std::path::{Path, PathBuf};

pub const EXAMPLES: &str = "Example:\n  lop generate target/generated";

#[derive(Args)]
pub struct Arguments {
    /// Folder to write man/ and completions/ in
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

pub fn run(arguments: &Arguments, command: Command) -> Result<(), Failure> {
    generate(&arguments.folder, command)
        .map_err(|error| Failure::new(FAILED, format!("{}: {error}", arguments.folder.display())))
}

fn generate(folder: &Path, command: Command) -> io::Result<()> {
    let (man, completions) = (folder.join("man"), folder.join("completions"));
    std::fs::create_dir_all(&man)?;
    std::fs::create_dir_all(&completions)?;
    for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
        clap_complete::generate_to(
            shell,
            &mut visible(&command).version("").propagate_version(true),
            "lop",
            &completions,
        )?;
    }
    clap_mangen::generate_to(without_help_commands(command), &man)
}

/// `lop help start` says what lop-start(1) says: no page of its own.
fn without_help_commands(command: Command) -> Command {
    command
        .disable_help_subcommand(true)
        .mut_subcommands(without_help_commands)
}

/// The command without what is hidden: completions would offer it.
fn visible(command: &Command) -> Command {
    let about = command.get_about().cloned().unwrap_or_default();
    Command::new(command.get_name().to_string())
        .about(about)
        .args(command.get_arguments().filter(|option| !option.is_hide_set()))
        .subcommands(
            command
                .get_subcommands()
                .filter(|command| !command.is_hide_set())
                .map(visible),
        )
}
