// SPDX-License-Identifier: GPL-2.0-only
//! Man pages and completions, against the help that people see.

use super::*;

/// The options that `--help` of this command lists, as `--name`.
fn options(folder: &Path, command: &[&str]) -> Vec<String> {
    let help = good(folder, &[command, &["--help"]].concat()).stdout;
    let is_option = |word: &&str| word.starts_with("--") && word.len() > 2;
    let lines = help.lines().map(str::trim_start).filter(|line| line.starts_with('-'));
    let names = lines.filter_map(|line| line.split([' ', '=', '.', ',']).find(is_option));
    names.map(str::to_string).collect()
}

#[test]
fn every_command_has_a_page_that_names_its_options() {
    let folder = folder();
    good(folder.path(), &["generate", "out"]);
    for command in [
        &["doctor"][..],
        &["start"],
        &["stop"],
        &["status"],
        &["top"],
        &["restore"],
        &["hint"],
        &["run"],
        &["compare"],
        &["simulate"],
        &["reproduce"],
        &["machine"],
        &["machine", "list"],
        &["machine", "show"],
        &["machine", "capture"],
        &["machine", "fit"],
        &["workload"],
        &["workload", "record"],
    ] {
        let file = folder.path().join(format!("out/man/lop-{}.1", command.join("-")));
        let page = std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        let page = page.replace("\\-", "-");
        let options = options(folder.path(), command);
        assert!(options.contains(&"--help".to_string()), "{command:?}: {options:?}");
        for option in options {
            assert!(page.contains(&option), "{}: no {option}", file.display());
        }
        assert!(page.contains("Example"), "{}: no example", file.display());
    }
    let main = std::fs::read_to_string(folder.path().join("out/man/lop.1")).unwrap();
    assert!(main.replace("\\-", "-").contains("lop-start(1)"));
    assert!(!main.contains("generate"), "hidden from people");
}

#[test]
fn a_synopsis_shows_the_values_that_options_take() {
    let folder = folder();
    good(folder.path(), &["generate", "out"]);
    let page = std::fs::read_to_string(folder.path().join("out/man/lop-run.1")).unwrap();
    let page = page.replace("\\-", "-");
    let synopsis = page.lines().skip_while(|line| *line != ".SH SYNOPSIS").nth(1).unwrap();
    assert!(synopsis.contains("[--hold <TIME>]"), "{synopsis}");
    assert!(synopsis.ends_with(" <CMD>..."), "{synopsis}");
}

#[test]
fn completions_know_commands_options_and_names() {
    let folder = folder();
    good(folder.path(), &["generate", "out"]);
    for file in ["lop.bash", "_lop", "lop.fish"] {
        let text = std::fs::read_to_string(folder.path().join("out/completions").join(file)).unwrap();
        // Commands, options, and names of a policy and a governor; where a file may stand, files are offered.
        let words = ["start", "restore", "daemon", "no-speeds", "watch"];
        let names = ["longest-first", "schedutil"];
        for word in words.into_iter().chain(names) {
            assert!(text.contains(word), "{file}: no {word}");
        }
        for hidden in ["fail-after", "run-dir", "generate"] {
            assert!(!text.contains(hidden), "{file}: {hidden}");
        }
    }
}
