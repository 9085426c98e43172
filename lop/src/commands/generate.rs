// SPDX-License-Identifier: GPL-2.0-only
//! `lop generate`: man pages and shell completions from the definition of the command line, for packages.

use crate::failure::{Failure, FAILED};
use clap::{Arg, Args, Command};
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

fn generate(folder: &Path, mut command: Command) -> io::Result<()> {
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
    command = without_help_commands(command);
    command.build();
    clap_mangen::generate_to(with_synopsis(command), &man)
}

/// What clap_mangen makes of a command that is built, but with the values that options take.
fn with_synopsis(command: Command) -> Command {
    let name = command.get_bin_name().unwrap_or_else(|| command.get_name());
    let mut words = vec![name.to_string()];
    let shown = || command.get_arguments().filter(|argument| !argument.is_hide_set());
    words.extend(shown().filter(|argument| !argument.is_positional()).map(option));
    words.extend(shown().filter(|argument| argument.is_positional()).map(positional));
    if command.has_subcommands() {
        let required = command.is_subcommand_required_set();
        words.push(if required { "<COMMAND>" } else { "[COMMAND]" }.to_string());
    }
    let usage = words.join(" ");
    command.override_usage(usage).mut_subcommands(with_synopsis)
}

/// `[NAME]`, and `-- <CMD>...` where it takes the rest of the line.
fn positional(argument: &Arg) -> String {
    let before = if argument.is_last_set() { "-- " } else { "" };
    format!("{before}{argument}")
}

/// `[-p|--policy <POLICY>]`
fn option(option: &Arg) -> String {
    let short = option.get_short().filter(|_| option.get_long().is_some());
    let text = short.map_or_else(String::new, |letter| format!("-{letter}|")) + &option.to_string();
    if option.is_required_set() {
        text
    } else {
        format!("[{text}]")
    }
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
