//! The Rust mirrors of the policy's types lie in memory as the C types do.

use lop_simulator::policy::{app_sizes, config_sizes, group_sizes, plan, task_sizes, traits_sizes};

#[test]
fn mirrors_have_the_size_of_what_they_mirror() {
    let sizes = [
        ("task", task_sizes()),
        ("config", config_sizes()),
        ("app", app_sizes()),
        ("group", group_sizes()),
        ("traits", traits_sizes()),
    ];
    for (what, (in_c, mirror)) in sizes {
        assert_eq!(in_c, mirror, "struct lop_{what}");
    }
    for (what, in_c, mirror) in plan::sizes() {
        assert_eq!(in_c, mirror, "struct lop_{what}");
    }
}

/// Each field written in Rust is read by C where it is expected: one whose place is wrong shows as a wrong decision.
#[test]
fn the_last_field_of_the_configuration_is_where_c_reads_it() {
    let mut bench = crate::bench::Bench::new(
        2,
        lop_simulator::policy::Config {
            hot_mc: 70_000,
            ..crate::bench::config()
        },
        crate::bench::flat,
    );
    bench.world.temperature_mc.insert(1, 70_001);
    let now_ns = bench.now();
    bench.policy.rotate_heat(&mut bench.world, now_ns);
    assert_eq!(bench.policy.inside().hot.cpus(), [1]);
}
