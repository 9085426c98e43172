// SPDX-License-Identifier: GPL-2.0-only
//! Makes the types of records from the header that the BPF program includes.

use bindgen::callbacks::{AttributeInfo, EnumVariantValue, ParseCallbacks};
use std::path::PathBuf;

const HEADER: &str = "../src/bpf/intf.h";
const KINDS: &str = "lop_record_kind";

#[derive(Debug)]
struct Kinds;

impl ParseCallbacks for Kinds {
    /// LOP_RECORD_GIVEN_UP becomes GivenUp.
    fn enum_variant_name(&self, _enum: Option<&str>, name: &str, _value: EnumVariantValue) -> Option<String> {
        let words = name.strip_prefix("LOP_RECORD_")?.split('_');
        Some(
            words
                .map(|word| word[..1].to_string() + &word[1..].to_lowercase())
                .collect(),
        )
    }
    fn add_attributes(&self, about: &AttributeInfo<'_>) -> Vec<String> {
        let derives = "#[derive(PartialOrd, Ord, serde::Serialize, serde::Deserialize, strum::FromRepr)]";
        let attributes: &[&str] = match about.name {
            KINDS => &[derives, "#[serde(rename_all = \"kebab-case\")]"],
            _ => &[],
        };
        attributes.iter().map(ToString::to_string).collect()
    }
}

fn main() {
    println!("cargo:rerun-if-changed={HEADER}");
    println!("cargo:rerun-if-changed=../../hints/record.h");
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo says where"));
    bindgen::builder()
        .header(HEADER)
        .use_core()
        .allowlist_type("lop_record(_of_cpus)?")
        .allowlist_type(KINDS)
        .allowlist_type("lop_hint_(record|page)")
        .allowlist_type("lop_page_(key|args)")
        .allowlist_type("lop_(woken|how_stopped)")
        .allowlist_var("LOP_(HINT_.*|PAGES|PAGE_.*)")
        .prepend_enum_name(false)
        .derive_default(true)
        .derive_eq(true)
        .rustified_enum(KINDS)
        .parse_callbacks(Box::new(Kinds))
        .generate()
        .expect("intf.h is C that libclang reads")
        .write_to_file(out.join("records.rs"))
        .expect("cargo's folder can be written");
}
