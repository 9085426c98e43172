// SPDX-License-Identifier: GPL-2.0-only
//! Any text as the files of a live machine: refused with a name, or a machine whose numbers are below their counts, and whose watts, if any are known,
//! can be told to the policy.
#![no_main]
use libfuzzer_sys::fuzz_target;
use lop_machine::costs::{points, power, traits, unmeasured};
use lop_machine::live::{read_tree, TextTree};

fuzz_target!(|text: &str| match TextTree::parse("fuzz.sysfs", text) {
    Ok(tree) => match read_tree(&tree) {
        Ok(machine) => {
            assert!((1..=lop_machine::MAX_CPUS).contains(&machine.cpus.len()));
            for cpu in &machine.cpus {
                assert!(cpu.tier < machine.nr_tiers && (1..=1024).contains(&cpu.capacity));
                assert!(cpu.core < machine.nr_cores && cpu.memory_domain < machine.nr_memory_domains);
                assert!(cpu.clock_domain < machine.nr_clock_domains && cpu.node < machine.nr_nodes);
                assert!(cpu.voltage_domain < machine.nr_voltage_domains && cpu.socket < machine.nr_sockets);
            }
            assert!(!lop_machine::draw_live(&machine).is_empty());
            if let Some(known) = unmeasured(&tree, &machine).machine {
                assert!(known
                    .kinds
                    .iter()
                    .all(|kind| kind.opps.is_sorted_by(|a, b| a.khz < b.khz)));
                assert!(traits(&known).machine_mw > 0 && power(&known).core_mw > 0 && !points(&known).is_empty());
            }
        }
        Err(error) => assert!(error.file.starts_with("fuzz.sysfs: sys/devices/")),
    },
    Err(error) => assert!(error.to_string().starts_with("fuzz.sysfs")),
});
