//! What a mend that takes another boot is on the distributions that people have: a command to copy.

use super::checks::text;
use std::path::Path;

/// Whose commands install a kernel and set what it is booted with.
#[derive(Debug, PartialEq, Eq)]
pub enum Distribution {
    Debian {
        codename: String,
    },
    Ubuntu {
        version: String,
    },
    Fedora,
    Arch,
    /// Mends are left as they are.
    Other,
}

impl Distribution {
    /// As `/etc/os-release` has it (os-release(5)): by `ID`, else by the first of `ID_LIKE` that is known.
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
            "arch" => Some(Self::Arch),
            _ => None,
        };
        ids.split_whitespace().find_map(known).unwrap_or(Self::Other)
    }

    /// The command for a mend that asks for another kernel ("boot a kernel ...") or an option of the kernel ("boot with NAME=VALUE").
    pub fn command(&self, mend: &str) -> Option<String> {
        match option(mend) {
            Some(option) => self.booted_with(option),
            None if mend.contains("boot a kernel") => self.newer_kernel(),
            None => None,
        }
    }

    fn newer_kernel(&self) -> Option<String> {
        Some(match self {
            Self::Debian { codename } if !codename.is_empty() => {
                format!("sudo apt-get install -t {codename}-backports linux-image-$(dpkg --print-architecture) # https://backports.debian.org/Instructions")
            }
            Self::Ubuntu { version } if !version.is_empty() => {
                format!("sudo apt-get install linux-generic-hwe-{version}")
            }
            Self::Fedora => "sudo dnf upgrade --refresh kernel".to_string(),
            Self::Arch => "sudo pacman -Syu linux".to_string(),
            _ => return None,
        })
    }

    fn booted_with(&self, option: &str) -> Option<String> {
        Some(match self {
            Self::Debian { .. } | Self::Ubuntu { .. } => format!(
                "echo 'GRUB_CMDLINE_LINUX=\"$GRUB_CMDLINE_LINUX {option}\"' | sudo tee /etc/default/grub.d/lopsided.cfg && sudo update-grub"
            ),
            Self::Fedora => format!("sudo grubby --update-kernel=ALL --args={option}"),
            Self::Arch => format!(
                "sudo sed -i 's/^GRUB_CMDLINE_LINUX=\"/&{option} /' /etc/default/grub && sudo grub-mkconfig -o /boot/grub/grub.cfg"
            ),
            Self::Other => return None,
        })
    }
}

/// The NAME=VALUE that is to be booted with.
fn option(mend: &str) -> Option<&str> {
    let (_, after) = mend.split_once("boot with ")?;
    let word = after.split_whitespace().next()?.trim_end_matches([',', ';', ')']);
    word.contains('=').then_some(word)
}

/// A value without the quotes that it may have.
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
            ("ID=cachyos\nID_LIKE=arch\n", Distribution::Arch),
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
        let option = "on hardware boot with nmi_watchdog=0, which takes one";
        for (distribution, mend, command) in [
            (&debian, kernel, "apt-get install -t trixie-backports linux-image-"),
            (&of("ID=ubuntu\nVERSION_ID=24.04\n"), kernel, "linux-generic-hwe-24.04"),
            (&Distribution::Fedora, kernel, "dnf upgrade --refresh kernel"),
            (&Distribution::Arch, kernel, "pacman -Syu linux"),
            (
                &debian,
                option,
                "LINUX nmi_watchdog=0\"' | sudo tee /etc/default/grub.d/lopsided.cfg && sudo update-grub",
            ),
            (&Distribution::Fedora, option, "--args=nmi_watchdog=0"),
            (&Distribution::Arch, option, "/&nmi_watchdog=0 /"),
        ] {
            let said = distribution.command(mend).unwrap();
            assert!(said.contains(command), "{distribution:?}: {said}");
        }
    }

    #[test]
    fn other_mends_and_other_distributions_have_none() {
        assert_eq!(Distribution::Other.command("boot with lockdown=integrity"), None);
        for mend in ["sudo modprobe rapl", "boot without idle=poll"] {
            assert_eq!(Distribution::Fedora.command(mend), None);
        }
        // A Debian that does not say which one it is has no backports that could be named.
        assert_eq!(of("ID=debian\n").command("boot a kernel of 6.12 or later"), None);
    }
}
