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

fn page(folder: &Path, name: &str) -> String {
    let page = std::fs::read_to_string(folder.join("out/man").join(name)).unwrap();
    page.replace("\\-", "-")
}

/// The paragraph of a section.
fn section<'a>(page: &'a str, heading: &str) -> &'a str {
    let start = format!(".SH {heading}\n");
    let (_, text) = page
        .split_once(&start)
        .unwrap_or_else(|| panic!("no {heading}: {page}"));
    text.split("\n.SH ").next().unwrap_or_default()
}

#[test]
fn a_page_says_more_of_its_command_than_its_name() {
    let folder = folder();
    good(folder.path(), &["generate", "out"]);
    let start = page(folder.path(), "lop-start.1");
    assert!(section(&start, "DESCRIPTION").contains("cgroup v2"));
    assert!(section(&start, "\"EXIT STATUS\"").contains("SysRq-S"));
    assert!(section(&start, "POLICIES").contains("highlow-spare"));
    assert!(section(&start, "EXAMPLES").contains("lop start --daemon"));
    assert!(section(&start, "FILES").contains("/run/lopsided"));
    let list = page(folder.path(), "lop-machine-list.1");
    let see_also = section(&list, "\"SEE ALSO\"");
    for other in [
        "lop(1)",
        "lop-machine(1)",
        "lop-simulate(1)",
        "lopsided(7)",
        "lop-toml(5)",
    ] {
        assert!(see_also.contains(other), "{see_also}");
    }
}

/// Each page that SEE ALSO names is there, but for those of others.
#[test]
fn pages_refer_to_pages_that_exist() {
    let folder = folder();
    good(folder.path(), &["generate", "out"]);
    let names = files_in(&folder.path().join("out/man"));
    for name in &names {
        let page = page(folder.path(), name);
        for word in section(&page, "\"SEE ALSO\"")
            .split([',', '\n', ' '])
            .filter(|word| word.starts_with("lop"))
        {
            let file = word.trim_end_matches(')').replace('(', ".");
            assert!(names.contains(&file), "{name}: {word}");
        }
    }
}

#[test]
fn concepts_have_all_policies() {
    let folder = folder();
    good(folder.path(), &["generate", "out"]);
    let page = page(folder.path(), "lopsided.7");
    let policies = section(&page, "POLICIES");
    for policy in lop_policy::Named::all() {
        assert!(
            policies.contains(policy.name()) && policies.contains(policy.about()),
            "{policies}"
        );
    }
}

/// Every key that a machine, a workload or an experiment may have.
#[test]
fn the_page_on_files_names_every_key() {
    let folder = folder();
    good(folder.path(), &["generate", "out"]);
    let page = page(folder.path(), "lop-toml.5");
    let words: Vec<&str> = page.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
    let schemas = [
        include_str!("../../../machine/src/schema.rs"),
        include_str!("../../../simulator/src/workload/schema.rs"),
        include_str!("../../../simulator/src/experiment/read.rs"),
    ];
    let mut keys = 0;
    for schema in schemas {
        for structure in schema.split("#[serde(deny_unknown_fields)]").skip(1) {
            let fields = structure.lines().skip(2).take_while(|line| *line != "}");
            let fields = fields.filter_map(|line| line.trim().trim_start_matches("pub ").split_once(": "));
            // `loops` is `loop` in a file.
            for (field, _) in fields.filter(|(field, _)| !field.contains([' ', '/', '#', '(', '"'])) {
                let key = if field == "loops" { "loop" } else { field };
                assert!(words.contains(&key), "no {key}");
                keys += 1;
            }
        }
    }
    assert!(keys > 100, "{keys} keys were found in the schemas");
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
        for section in [
            "NAME",
            "SYNOPSIS",
            "DESCRIPTION",
            "OPTIONS",
            "EXAMPLES",
            "\"EXIT STATUS\"",
            "FILES",
            "\"SEE ALSO\"",
        ] {
            assert!(
                page.contains(&format!(".SH {section}\n")),
                "{}: no {section}",
                file.display()
            );
        }
        assert!(
            !page.contains("EXTRA") && !page.contains(".SH VERSION"),
            "{}",
            file.display()
        );
        let options = options(folder.path(), command);
        assert!(options.contains(&"--help".to_string()), "{command:?}: {options:?}");
        for option in options {
            assert!(page.contains(&option), "{}: no {option}", file.display());
        }
    }
    let main = page(folder.path(), "lop.1");
    assert!(main.contains("lop-start(1)"));
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
        // Commands, options, and names of a policy, a governor, a machine and a workload.
        let words = ["start", "restore", "daemon", "no-speeds", "watch"];
        let names = ["longest-first", "schedutil", "phenom-9750", "kernel-build"];
        for word in words.into_iter().chain(names) {
            assert!(text.contains(word), "{file}: no {word}");
        }
        for hidden in ["fail-after", "run-dir", "generate"] {
            assert!(!text.contains(hidden), "{file}: {hidden}");
        }
    }
}

/// What bash offers after `lop simulate --machine`: names, and files where no name begins like that.
#[test]
fn bash_completes_names_and_files() {
    let folder = folder();
    good(folder.path(), &["generate", "out"]);
    let offered = |word: &str| {
        let script = format!(
            "source out/completions/lop.bash; COMP_WORDS=(lop simulate --machine {word}); COMP_CWORD=3; _lop lop {word} --machine; echo \"${{COMPREPLY[@]}}\""
        );
        let output = std::process::Command::new("bash")
            .args(["-c", &script])
            .current_dir(folder.path())
            .output();
        String::from_utf8(output.unwrap().stdout).unwrap().trim().to_string()
    };
    assert_eq!(offered("phenom"), "phenom-9750 phenom2-940");
    assert_eq!(offered("./"), "");
    let text = |file: &str| std::fs::read_to_string(folder.path().join("out/completions").join(file)).unwrap();
    assert!(text("lop.bash").contains("-o default"), "else it offers no files");
    assert!(text("lop.bash").contains("compile-governors") && text("_lop").contains("compile-governors"));
    assert!(text("_lop").contains("laptop-three-kinds") && text("_lop").matches("_alternative").count() > 5);
    assert!(text("lop.fish").contains("-F -a \"cloud-vm"));
}
