// SPDX-License-Identifier: GPL-2.0-only
//! Man pages: one for each command, from its definition and the text behind its help, and those on concepts and files.

use clap::{Arg, Command};
use clap_mangen::Man;
use lop_policy::Named;
use roff::{bold, roman, Roff};
use std::io;
use std::path::Path;

/// Written by hand, but for the policies.
const CONCEPTS: &str = include_str!("../../../../packaging/man/lopsided.7");
const FORMATS: &str = include_str!("../../../../packaging/man/lop-toml.5");
/// The line of a page by hand that the table of policies stands for.
const POLICIES: &str = ".\\\" POLICIES";

const PROGRAM: &str = "lop";

/// Codes that every command may end with.
const EXIT_STATUS: [(&str, &str); 4] = [
    ("0", "Success."),
    (
        "1",
        "Failure: a deadlock, a file that cannot be written, a kernel without sched_ext.",
    ),
    ("2", "Wrong usage or input. Nothing was run or written."),
    ("130", "Interrupted."),
];

/// Commands that belong together, and the files that they read or write.
struct Group {
    commands: &'static [&'static str],
    files: &'static [(&'static str, &'static str)],
}

const GROUPS: [Group; 3] = [
    Group {
        commands: &["doctor", "start", "stop", "status", "goal", "top", "run", "restore", "hint", "amp"],
        files: &[
            (
                "/run/lopsided",
                "Lock, socket, log and the journals of changed speeds of the scheduler that runs. LOP_RUN_DIR names another folder.",
            ),
            (
                "/etc/lopsided.toml",
                "Options that this machine keeps for 'lop start', by their long names: policy, goal, spare, max-high, hold, reserve, high-speed, no-speeds, \
                 ignore-cpu-max. The command line goes before it.",
            ),
            (
                "/etc/default/lopsided",
                "Options of the systemd service, as LOP_OPTIONS=\"--policy highlow-spare\".",
            ),
            (
                "/etc/lopsided/machine.toml",
                "What 'lop machine measure' measured of this machine, for auto and --high-speed efficient; see lop-toml(5).",
            ),
        ],
    },
    Group {
        commands: &["compare", "record"],
        files: &[
            (
                "$XDG_STATE_HOME/lopsided, ~/.local/state/lopsided",
                "Journals of comparisons: every run is written there at once. A journal is removed when its comparison succeeds.",
            ),
            ("NAME.trace, NAME.toml", "What 'lop record' writes, NAME being that of the command."),
        ],
    },
    Group {
        commands: &["simulate", "reproduce", "machine", "workload"],
        files: &[
            (
                "FILE.toml",
                "Machines, workloads and experiments of your own; those that are built in need no file. See lop-toml(5).",
            ),
            ("lop-reproduce.html", "The report that 'lop reproduce all' writes where --html names no other file."),
        ],
    },
];

/// Writes every page into `folder`; `command` is the whole program, built.
///
/// # Errors
/// The system's own.
pub fn write(folder: &Path, command: &Command) -> io::Result<()> {
    for name in command.get_subcommands().filter(|command| !command.is_hide_set()) {
        write(folder, name)?;
    }
    let man = Man::new(command.clone())
        .manual("Lopsided")
        .source(concat!("lopsided ", env!("CARGO_PKG_VERSION")));
    let file = folder.join(man.get_filename());
    std::fs::write(file, page(&man, command)?)?;
    if command.get_name() == PROGRAM {
        std::fs::write(
            folder.join("lopsided.7"),
            CONCEPTS.replace(POLICIES, policies().trim_end()),
        )?;
        std::fs::write(folder.join("lop-toml.5"), FORMATS)?;
    }
    Ok(())
}

fn page(man: &Man, command: &Command) -> io::Result<Vec<u8>> {
    let text = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let said = Said::read(&text);
    let mut page = Vec::new();
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    let mut roff = Roff::default();
    roff.control("SH", ["DESCRIPTION"]);
    let about = command.get_about().map(ToString::to_string).unwrap_or_default();
    roff.text([roman(format!("{}.", about.trim_end_matches('.')))]);
    paragraphs(&mut roff, &said.prose);
    roff.to_writer(&mut page)?;
    if command.get_arguments().any(|argument| !argument.is_hide_set()) {
        man.render_options_section(&mut page)?;
    }
    if command.has_subcommands() {
        man.render_subcommands_section(&mut page)?;
    }
    let mut roff = Roff::default();
    literal(&mut roff, "POLICIES", &said.policies);
    literal(&mut roff, "EXAMPLES", &said.examples);
    let name = man.get_filename().replace(".1", "");
    roff.control("SH", ["EXIT STATUS"]);
    // The program's own help has the codes of all commands.
    if name != PROGRAM {
        definitions(&mut roff, &EXIT_STATUS);
    }
    paragraphs(&mut roff, &said.exit);
    let group = group_of(&name);
    let files: Vec<_> = group.iter().flat_map(|group| group.files).copied().collect();
    if !files.is_empty() {
        roff.control("SH", ["FILES"]);
        definitions(&mut roff, &files);
    }
    roff.control("SH", ["SEE ALSO"]);
    roff.text([roman(see_also(&name, group).join(", "))]);
    roff.to_writer(&mut page)?;
    Ok(page)
}

/// `name`: `lop-machine-list`. `None`: the program itself.
fn group_of(name: &str) -> Option<&'static Group> {
    let first = name.split('-').nth(1)?;
    GROUPS.iter().find(|group| group.commands.contains(&first))
}

/// The commands above, those of its group, and the pages on concepts and files.
fn see_also(name: &str, group: Option<&Group>) -> Vec<String> {
    let above = name.match_indices('-').map(|(at, _)| name[..at].to_string());
    let beside = group
        .iter()
        .flat_map(|group| group.commands)
        .map(|command| format!("lop-{command}"));
    let mut pages: Vec<String> = Vec::new();
    for page in above.chain(beside).filter(|page| page != name) {
        if !pages.contains(&page) {
            pages.push(page);
        }
    }
    let pages = pages.into_iter().map(|page| format!("{page}(1)"));
    pages
        .chain(["lopsided(7)", "lop-toml(5)"].map(str::to_string))
        .collect()
}

/// The text after the options in the help of a command, by subject.
#[derive(Default)]
struct Said {
    prose: Vec<String>,
    exit: Vec<String>,
    examples: Vec<String>,
    policies: Vec<String>,
}

impl Said {
    /// Indented lines belong to the heading before them; what follows is prose, a paragraph to the next empty line.
    fn read(text: &str) -> Self {
        let mut said = Self::default();
        let mut heading = "";
        let mut paragraph = String::new();
        for line in text.lines().chain([""]) {
            let literal = match heading {
                "Example:" | "Examples:" => Some(&mut said.examples),
                "Policies:" => Some(&mut said.policies),
                _ => None,
            };
            match (line, literal) {
                ("Example:" | "Examples:" | "Policies:", _) => heading = line,
                (line, Some(lines)) if line.starts_with("  ") || line.is_empty() => {
                    lines.push(line.strip_prefix("  ").unwrap_or_default().to_string());
                }
                ("", None) if paragraph.is_empty() => {}
                ("", None) => {
                    let whole = std::mem::take(&mut paragraph);
                    let list = match whole.starts_with("Exit code") {
                        true => &mut said.exit,
                        false => &mut said.prose,
                    };
                    list.push(whole);
                }
                (line, _) => {
                    heading = "";
                    paragraph += if paragraph.is_empty() { "" } else { " " };
                    paragraph += line;
                }
            }
        }
        for lines in [&mut said.examples, &mut said.policies] {
            while lines.last().is_some_and(String::is_empty) {
                lines.pop();
            }
        }
        said
    }
}

fn paragraphs(roff: &mut Roff, paragraphs: &[String]) {
    for paragraph in paragraphs {
        roff.control("PP", []);
        roff.text([roman(paragraph)]);
    }
}

/// Lines as they are.
fn literal(roff: &mut Roff, heading: &str, lines: &[String]) {
    if lines.is_empty() {
        return;
    }
    roff.control("SH", [heading]);
    roff.control("nf", []);
    lines.iter().for_each(|line| _ = roff.text([roman(line)]));
    roff.control("fi", []);
}

fn definitions(roff: &mut Roff, rows: &[(&str, &str)]) {
    for (term, text) in rows {
        roff.control("TP", []);
        roff.text([bold(*term)]);
        roff.text([roman(*text)]);
    }
}

/// The table of policy/policies.def.
fn policies() -> String {
    let rows: Vec<(&str, &str)> = Named::all().map(|policy| (policy.name(), policy.about())).collect();
    let mut roff = Roff::default();
    definitions(&mut roff, &rows);
    roff.to_roff()
}

/// What clap_mangen makes of a command that is built, but with the values that options take.
pub fn with_synopsis(command: Command) -> Command {
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
