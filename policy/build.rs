// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Compiles the policy natively, and writes its only description for Rust: the headers' types and the functions of
//! `CALLED`.

use bindgen::callbacks::{AttributeInfo, EnumVariantValue, ParseCallbacks, TypeKind};
use std::path::{Path, PathBuf};

/// Rules that Rust calls, without their `lop_`. They are inline, so bindgen generates a function around each.
const CALLED: &str = "
    choose set_times default_hold_ns leave_out make_ladder cost_uj cheapest
    start cpu_idle cpu_taken cpu_online cpu_offline timer is_partial rotate_heat pace_exits
    wake put enqueue wait_at_claimed dispatch goes_on anything_waits dequeue
    running started stopping stopped block forget ended spin set_hints claim_late note_caught_up must_go came_too_late is_short
    set_allowed anchor_anew set_weight group_set_weight weight_of_nice weight_of_share weight_1024 weight_of_user
    declare share_memory declare_length born median_length clamp_speedup
    undeclared target due_at_ns joiner leaver queue_waits slice_ns on_reserved_core is_usable may_go_on wakes_anew
    clock_of until_late_ns owner_says_nobody_waits
    ranks_before displaces
    note_counters declare_memory memory_class planned_mpmi measured_speedup is_planned
    spread gather predicted_edp root plan_threads must_switch has_basis demand_permille home_of
    set_domain set_domain_on wants_domain end_plans set_goal
    count_arrived is_better_place
";
/// Prefixes dropped from enum constants.
const PREFIXES: [&str; 13] = [
    "LOP_RECORD_",
    "LOP_WOKEN_",
    "LOP_STOPPED_",
    "LOP_GREEN_WORK_",
    "LOP_GOAL_",
    "LOP_DOMAINS_",
    "LOP_SIZE_",
    "LOP_RESERVE_",
    "LOP_ROLE_",
    "LOP_MEMORY_",
    "LOP_NODE_",
    "LOP_NEXT_",
    "LOP_",
];
/// Types serialised in decision logs.
const LOGGED: [&str; 8] = [
    "lop_config",
    "lop_power",
    "lop_rung",
    "lop_green_work",
    "lop_sizing",
    "lop_domains",
    "lop_reserve",
    RECORD_KIND,
];
const RECORD_KIND: &str = "lop_record_kind";
/// Enums that stay integers: bit flags, or stored in a u8.
const FLAGS: [&str; 6] = ["rules", "hint_flags", "class", "role", "woken", "how_stopped"];

/// HIGHLOW_SPARE becomes HighlowSpare.
fn camel(name: &str) -> String {
    let word = |word: &str| word[..1].to_uppercase() + &word[1..].to_lowercase();
    name.split('_').filter(|part| !part.is_empty()).map(word).collect()
}

/// Gives enum values the case that Rust uses. Types and functions keep their C names, which the generated functions
/// use, too.
#[derive(Debug)]
struct Names;

impl ParseCallbacks for Names {
    fn enum_variant_name(&self, of: Option<&str>, name: &str, _value: EnumVariantValue) -> Option<String> {
        let short = PREFIXES.iter().find_map(|prefix| name.strip_prefix(prefix))?;
        let of = of?.strip_prefix("enum lop_")?;
        Some(if FLAGS.contains(&of) {
            short.to_string()
        } else {
            camel(short)
        })
    }
    fn add_attributes(&self, about: &AttributeInfo<'_>) -> Vec<String> {
        let derive = "#[derive(serde::Serialize, serde::Deserialize)]";
        let ordered = "#[derive(PartialOrd, Ord, strum::FromRepr)]";
        let attributes: &[&str] = match (LOGGED.contains(&about.name), about.kind) {
            _ if about.name == RECORD_KIND => &[derive, ordered, "#[serde(rename_all = \"kebab-case\")]"],
            (true, TypeKind::Enum) => &[derive, "#[serde(rename_all = \"kebab-case\")]"],
            (true, _) => &[derive],
            (false, _) => &[],
        };
        attributes.iter().map(ToString::to_string).collect()
    }
    /// Rustdoc would read brackets in C comments as links.
    fn process_comment(&self, comment: &str) -> Option<String> {
        Some(comment.replace(['[', ']', '<', '>'], " "))
    }
}

fn main() {
    let folders = folders();
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo says where"));
    let called = CALLED.split_whitespace().collect::<Vec<_>>().join("|");
    bindgen::builder()
        .header("src/native.h")
        .clang_args(folders.iter().map(|folder| format!("-I{folder}")))
        .clang_args(["-std=gnu11", "-fparse-all-comments"])
        .use_core()
        .allowlist_type("lop_.*")
        .allowlist_var("LOP_.*")
        .allowlist_function(format!("lop_({called})"))
        .rustified_enum(
            "lop_(record_kind|set|sizing|goal|green_work|domains|reserve|policy|memory_class|node_state|next|found)",
        )
        .constified_enum_module(format!("lop_({})", FLAGS.join("|")))
        .wrap_static_fns(true)
        .wrap_static_fns_path(out.join("called.c"))
        .derive_default(true)
        .no_default("lop_planned")
        .derive_eq(true)
        .parse_callbacks(Box::new(Names))
        .generate()
        .expect("the headers of policy/ are C that libclang reads")
        .write_to_file(out.join("headers.rs"))
        .expect("cargo's folder can be written");
    std::fs::write(out.join("policies.rs"), policies()).expect("cargo's folder can be written");
    compile(&out, &folders);
}

/// The folders that have headers. Cargo rebuilds when they change.
fn folders() -> Vec<String> {
    let entries = std::fs::read_dir(".").expect("cargo runs this in policy/");
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let mut folders = vec![".".to_string()];
    folders.extend(names.filter(|name| Path::new(name).is_dir() && name != "tests"));
    println!("cargo:rerun-if-changed=lopsided.h");
    println!("cargo:rerun-if-changed=policies.def");
    folders[1..]
        .iter()
        .for_each(|folder| println!("cargo:rerun-if-changed={folder}"));
    folders
}

/// The table of policies.def for Rust: value, name, description.
fn policies() -> String {
    let text = std::fs::read_to_string("policies.def").expect("policies.def lies here");
    let entries = text.split("\nLOP_POLICY(").skip(1);
    let row = |entry: &str| {
        let words: Vec<&str> = entry.splitn(5, '"').collect();
        let [_, name, constant, about, _] = words[..] else {
            panic!("policies.def: expected LOP_POLICY(\"name\", CONSTANT, \"what it is\", rules), found LOP_POLICY({entry}");
        };
        let constant = camel(constant.trim_matches([',', ' ']));
        format!("    (Named::{constant}, {name:?}, {about:?}),\n")
    };
    let rows: Vec<String> = entries.map(row).collect();
    let (nr, rows) = (rows.len(), rows.concat());
    format!("/// In the order of their values.\nconst POLICIES: [(Named, &str, &str); {nr}] = [\n{rows}];\n")
}

/// Compiles with the warnings of the BPF build.
fn compile(out: &Path, folders: &[String]) {
    cc::Build::new()
        .file(out.join("called.c"))
        .includes(folders)
        .std("gnu11")
        .opt_level(3)
        .flag("-Wall")
        .flag("-Wextra")
        .flag("-Werror")
        .compile("lopsided_policy");
}
