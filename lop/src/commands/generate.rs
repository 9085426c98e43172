// SPDX-License-Identifier: GPL-2.0-only
//! `lop generate`: man pages and shell completions from the definition of the command line, for packages.

mod man;

use crate::failure::{Failure, FAILED};
use crate::suggested::OR_FILES;
use clap::{Args, Command};
use clap_complete::Shell;
use std::io;
use std::path::{Path, PathBuf};

pub const EXAMPLES: &str = "Example:\n  lop generate target/generated";

#[derive(Args)]
pub struct Arguments {
    /// Folder for man/ and completions/
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

pub fn run(arguments: &Arguments, command: Command) -> Result<(), Failure> {
    generate(&arguments.folder, command)
        .map_err(|error| Failure::new(FAILED, format!("{}: {error}", arguments.folder.display())))
}

fn generate(folder: &Path, mut command: Command) -> io::Result<()> {
    let (pages, completions) = (folder.join("man"), folder.join("completions"));
    std::fs::create_dir_all(&pages)?;
    std::fs::create_dir_all(&completions)?;
    for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
        let mut visible = visible(&command).version("").propagate_version(true);
        let file = clap_complete::generate_to(shell, &mut visible, "lop", &completions)?;
        let text = std::fs::read_to_string(&file)?;
        std::fs::write(&file, with_files(shell, text))?;
    }
    command = without_help_commands(command);
    command.build();
    man::write(&pages, &man::with_synopsis(command))
}

/// Shells offer files beside names where either may stand. bash does by itself what clap_complete keeps the others from.
fn with_files(shell: Shell, mut text: String) -> String {
    for names in OR_FILES.map(|names| names()) {
        let (found, both) = match shell {
            Shell::Zsh => {
                let names = names.join(" ");
                let both = format!(":{{_alternative \"names:name:({names})\" \"files:file:_files\"}}");
                (format!(":({names})"), both)
            }
            Shell::Fish => {
                let names = names
                    .iter()
                    .map(|name| format!("{name}\\t''"))
                    .collect::<Vec<_>>()
                    .join("\n");
                (format!("-f -a \"{names}\""), format!("-F -a \"{names}\""))
            }
            _ => continue,
        };
        text = text.replace(&found, &both);
    }
    text
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
