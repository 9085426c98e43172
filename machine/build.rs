// SPDX-License-Identifier: MIT OR Apache-2.0
//! Lists the machines and fits of `data/` for embedding, so that an installed `lop` needs no data directory.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let machines = Path::new(&env::var("CARGO_MANIFEST_DIR")?).join("../data/machines");
    let mut code = table("MACHINES", &machines)?;
    code += &table("FITS", &machines.join("fits"))?;
    fs::write(Path::new(&env::var("OUT_DIR")?).join("builtin.rs"), code)?;
    println!("cargo::rerun-if-changed=build.rs");
    Ok(())
}

/// A static of (name, text) pairs, one for each TOML file of `folder`, in order of name.
fn table(name: &str, folder: &Path) -> Result<String, Box<dyn std::error::Error>> {
    let folder = folder.canonicalize()?;
    println!("cargo::rerun-if-changed={}", folder.display());
    let mut code = format!("static {name}: &[(&str, &str)] = &[\n");
    for file in toml_files(&folder)? {
        let stem = file
            .file_stem()
            .and_then(|s| s.to_str())
            .ok_or("file name is not UTF-8")?;
        let path = file.to_str().ok_or("path is not UTF-8")?;
        writeln!(code, "    ({stem:?}, include_str!({path:?})),")?;
    }
    code += "];\n";
    Ok(code)
}

fn toml_files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|e| e == "toml") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}
