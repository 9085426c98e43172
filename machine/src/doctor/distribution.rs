// SPDX-License-Identifier: MIT OR Apache-2.0
//! The command, on common distributions, for a fix that needs a reboot.

use super::checks::text;
use std::path::Path;

/// The distribution, which decides the commands that install a kernel and set its boot options.
#[derive(Debug, PartialEq, Eq)]
pub enum Distribution {
    Debian {
        codename: String,
    },
    Ubuntu {
        version: String,
    },
    Fedora,
    Arch(Loader),
    /// No commands are known.
    Other,
}

/// Where kernel options are kept, on a distribution that leaves the boot loader to its user.
#[derive(Debug, PartialEq, Eq)]
pub enum Loader {
    Grub,
    /// The file from which a unified kernel image takes its options.
    CommandLine,
    /// systemd-boot, with one file for each kernel.
    Entries,
}

/// Debian 12 and 13, and the backports for 12, build their kernels without sched_ext. The backports for 13 have it, and install on 12 as well:
/// 7.3.4 attached a scheduler (vm/kernels.tsv). apt takes nothing from backports unless asked, so adding the suite changes no other package.
const SUITE: &str = "trixie-backports";

impl Distribution {
    /// From `/etc/os-release` (os-release(5)): by `ID`, else by the first known name in `ID_LIKE`.
    pub fn of(root: &Path) -> Self {
        let release = ["etc/os-release", "usr/lib/os-release"]
            .iter()
            .find_map(|path| text(root, path))
            .unwrap_or_default();
        let value = |key: &str| {
            let of = |line: &str| line.strip_prefix(key)?.strip_prefix('=').map(unquoted);
            release.lines().find_map(of).unwrap_or_default()
        };
        let ids = format!("{} {}", value("ID"), value("ID_LIKE"));
        let known = |id: &str| match id {
            "debian" => Some(Self::Debian {
                codename: value("VERSION_CODENAME"),
            }),
            "ubuntu" => Some(Self::Ubuntu {
                version: value("VERSION_ID"),
            }),
            "fedora" => Some(Self::Fedora),
            "arch" => Some(Self::Arch(Loader::of(root))),
            _ => None,
        };
        ids.split_whitespace().find_map(known).unwrap_or(Self::Other)
    }

    /// The command for a fix that needs another kernel ("boot a kernel ..."), a kernel option ("boot with NAME=VALUE"), or the removal of one
    /// ("boot without NAME=VALUE").
    pub fn command(&self, mend: &str) -> Option<String> {
        let word = |before: &str| mend.split_once(before).and_then(|(_, after)| option(after));
        match (word("boot with "), word("boot without ")) {
            (Some(option), _) => self.booted_with(option),
            (_, Some(option)) => self.booted_without(option),
            _ if mend.contains("boot a kernel") => self.newer_kernel(),
            _ => None,
        }
    }

    fn newer_kernel(&self) -> Option<String> {
        let of_debian = "sudo apt-get install linux-image-$(dpkg --print-architecture)";
        Some(match self {
            Self::Debian { codename } => match codename.as_str() {
                "bookworm" | "trixie" => format!(
                    "echo 'deb http://deb.debian.org/debian {SUITE} main' | sudo tee /etc/apt/sources.list.d/{SUITE}.list && \
                     sudo apt-get update && {of_debian}/{SUITE}"
                ),
                "forky" | "sid" => of_debian.to_string(),
                _ => return None,
            },
            // Earlier releases have no kernel with sched_ext; later ones have it in their default kernel.
            Self::Ubuntu { version } if version == "24.04" => {
                format!("sudo apt-get install linux-generic-hwe-{version}")
            }
            Self::Fedora => "sudo dnf upgrade --refresh kernel".to_string(),
            Self::Arch(_) => "sudo pacman -Syu linux".to_string(),
            _ => return None,
        })
    }

    fn booted_with(&self, option: &str) -> Option<String> {
        Some(match self {
            Self::Debian { .. } | Self::Ubuntu { .. } => format!(
                "sudo mkdir -p /etc/default/grub.d && echo 'GRUB_CMDLINE_LINUX=\"$GRUB_CMDLINE_LINUX {option}\"' | \
                 sudo tee -a /etc/default/grub.d/lopsided.cfg && sudo update-grub"
            ),
            Self::Fedora => format!("sudo grubby --update-kernel=ALL --args={option}"),
            Self::Arch(loader) => loader.changed(match loader {
                Loader::Grub => format!("s/^GRUB_CMDLINE_LINUX=\"/&{option} /"),
                Loader::CommandLine => format!("s/$/ {option}/"),
                Loader::Entries => format!("s/^options .*/& {option}/"),
            }),
            Self::Other => return None,
        })
    }

    fn booted_without(&self, option: &str) -> Option<String> {
        let removed = format!("s/\\b{option}\\b//");
        Some(match self {
            Self::Debian { .. } | Self::Ubuntu { .. } => format!(
                "sudo sed -i '{removed}' $(grep -ls {option} /etc/default/grub /etc/default/grub.d/*) && sudo update-grub"
            ),
            Self::Fedora => format!("sudo grubby --update-kernel=ALL --remove-args={option}"),
            Self::Arch(loader) => loader.changed(removed),
            Self::Other => return None,
        })
    }
}

impl Loader {
    fn of(root: &Path) -> Self {
        let is_there = |path: &str| root.join(path).exists();
        match (is_there("etc/default/grub"), is_there("etc/kernel/cmdline")) {
            (true, _) => Self::Grub,
            (false, true) => Self::CommandLine,
            (false, false) => Self::Entries,
        }
    }

    /// The command that applies `edit` so that it takes effect at the next boot.
    fn changed(&self, edit: String) -> String {
        match self {
            Self::Grub => {
                format!("sudo sed -i '{edit}' /etc/default/grub && sudo grub-mkconfig -o /boot/grub/grub.cfg")
            }
            Self::CommandLine => format!("sudo sed -i '{edit}' /etc/kernel/cmdline && sudo mkinitcpio -P"),
            Self::Entries => format!("sudo sed -i '{edit}' /boot/loader/entries/*.conf"),
        }
    }
}

/// The NAME=VALUE that a text begins with; `None` if a shell would not read it as one plain word.
fn option(text: &str) -> Option<&str> {
    let word = text.split_whitespace().next()?.trim_end_matches([',', ';', ')']);
    let plain = word
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || b"._-=".contains(&byte));
    (plain && word.contains('=')).then_some(word)
}

/// A value without its optional quotes.
fn unquoted(value: &str) -> String {
    value.trim().trim_matches(['"', '\'']).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(release: &str) -> Distribution {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir(root.path().join("etc")).unwrap();
        std::fs::write(root.path().join("etc/os-release"), release).unwrap();
        Distribution::of(root.path())
    }

    #[test]
    fn a_distribution_is_known_by_its_name_or_by_what_it_is_like() {
        let debian = Distribution::Debian {
            codename: "trixie".into(),
        };
        let ubuntu = Distribution::Ubuntu {
            version: "24.04".into(),
        };
        for (release, expected) in [
            ("PRETTY_NAME=\"Debian\"\nVERSION_CODENAME=trixie\nID=debian\n", debian),
            ("ID=ubuntu\nID_LIKE=debian\nVERSION_ID=\"24.04\"\n", ubuntu),
            ("ID=nobara\nID_LIKE=\"rhel centos fedora\"\n", Distribution::Fedora),
            ("ID=cachyos\nID_LIKE=arch\n", Distribution::Arch(Loader::Entries)),
            ("ID=opensuse-tumbleweed\nID_LIKE=\"suse\"\n", Distribution::Other),
            ("", Distribution::Other),
        ] {
            assert_eq!(of(release), expected, "{release}");
        }
        assert_eq!(Distribution::of(Path::new("/nowhere")), Distribution::Other);
    }

    #[test]
    fn what_takes_a_boot_has_a_command() {
        let debian = of("ID=debian\nVERSION_CODENAME=trixie\n");
        let kernel = "boot a kernel with CONFIG_SCHED_CLASS_EXT=y";
        let (with, without) = ("on hardware boot with a.b=1, which takes one", "boot without a.b=1");
        for (distribution, mend, command) in [
            (
                &of("ID=debian\nVERSION_CODENAME=bookworm\n"),
                kernel,
                "linux-image-$(dpkg --print-architecture)/trixie-backports",
            ),
            (&debian, kernel, "debian trixie-backports main' | sudo tee"),
            (
                &of("ID=debian\nVERSION_CODENAME=forky\n"),
                kernel,
                "sudo apt-get install linux-image-$(dpkg",
            ),
            (&of("ID=ubuntu\nVERSION_ID=24.04\n"), kernel, "linux-generic-hwe-24.04"),
            (&Distribution::Fedora, kernel, "dnf upgrade --refresh kernel"),
            (&Distribution::Arch(Loader::Grub), kernel, "pacman -Syu linux"),
            (
                &debian,
                with,
                "LINUX a.b=1\"' | sudo tee -a /etc/default/grub.d/lopsided.cfg && sudo update-grub",
            ),
            (
                &debian,
                without,
                "sudo sed -i 's/\\ba.b=1\\b//' $(grep -ls a.b=1 /etc/default/grub",
            ),
            (&Distribution::Fedora, with, "--args=a.b=1"),
            (&Distribution::Fedora, without, "--remove-args=a.b=1"),
            (
                &Distribution::Arch(Loader::Grub),
                with,
                "/&a.b=1 /' /etc/default/grub && sudo grub-mkconfig",
            ),
            (
                &Distribution::Arch(Loader::CommandLine),
                with,
                "'s/$/ a.b=1/' /etc/kernel/cmdline && sudo mkinitcpio",
            ),
            (
                &Distribution::Arch(Loader::Entries),
                with,
                "'s/^options .*/& a.b=1/' /boot/loader/entries/*.conf",
            ),
            (
                &Distribution::Arch(Loader::Entries),
                without,
                "'s/\\ba.b=1\\b//' /boot/loader/entries/*.conf",
            ),
        ] {
            let said = distribution.command(mend).unwrap();
            assert!(said.contains(command), "{distribution:?}: {said}");
        }
    }

    #[test]
    fn where_arch_keeps_options_is_looked_up() {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(root.path().join("etc/kernel")).unwrap();
        assert_eq!(Loader::of(root.path()), Loader::Entries);
        std::fs::write(root.path().join("etc/kernel/cmdline"), "quiet").unwrap();
        assert_eq!(Loader::of(root.path()), Loader::CommandLine);
        std::fs::create_dir(root.path().join("etc/default")).unwrap();
        std::fs::write(root.path().join("etc/default/grub"), "").unwrap();
        assert_eq!(Loader::of(root.path()), Loader::Grub);
    }

    #[test]
    fn other_mends_and_other_distributions_have_none() {
        assert_eq!(Distribution::Other.command("boot with lockdown=integrity"), None);
        for mend in ["sudo modprobe rapl", "boot without quiet", "boot without a=$(reboot)"] {
            assert_eq!(Distribution::Fedora.command(mend), None);
        }
        // These have no known package of a kernel with sched_ext.
        for release in [
            "ID=debian\n",
            "ID=debian\nVERSION_CODENAME=bullseye\n",
            "ID=ubuntu\nVERSION_ID=22.04\n",
        ] {
            assert_eq!(of(release).command("boot a kernel of 6.12 or later"), None);
        }
    }
}
