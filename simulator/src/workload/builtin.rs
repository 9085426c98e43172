// SPDX-License-Identifier: MIT OR Apache-2.0
//! The workloads of data/workloads, built in, so that they are there wherever the program is installed.

/// Name and text, in the order in which they are listed.
const BUILTIN: [(&str, &str); 36] = [
    (
        "recorded-build",
        include_str!("../../../data/workloads/recorded-build.toml"),
    ),
    (
        "kernel-build",
        include_str!("../../../data/workloads/kernel-build.toml"),
    ),
    (
        "kernel-build-graph",
        include_str!("../../../data/workloads/kernel-build-graph.toml"),
    ),
    ("bursts", include_str!("../../../data/workloads/bursts.toml")),
    ("periodic", include_str!("../../../data/workloads/periodic.toml")),
    ("matmul", include_str!("../../../data/workloads/matmul.toml")),
    (
        "parallel-for",
        include_str!("../../../data/workloads/parallel-for.toml"),
    ),
    ("global-sum", include_str!("../../../data/workloads/global-sum.toml")),
    ("barriers", include_str!("../../../data/workloads/barriers.toml")),
    ("pipeline", include_str!("../../../data/workloads/pipeline.toml")),
    ("arrivals", include_str!("../../../data/workloads/arrivals.toml")),
    ("coupled", include_str!("../../../data/workloads/coupled.toml")),
    (
        "registration",
        include_str!("../../../data/workloads/registration.toml"),
    ),
    (
        "half-sequential",
        include_str!("../../../data/workloads/half-sequential.toml"),
    ),
    (
        "one-and-many",
        include_str!("../../../data/workloads/one-and-many.toml"),
    ),
    ("browser", include_str!("../../../data/workloads/browser.toml")),
    (
        "browser-and-build",
        include_str!("../../../data/workloads/browser-and-build.toml"),
    ),
    (
        "video-playback",
        include_str!("../../../data/workloads/video-playback.toml"),
    ),
    ("video-call", include_str!("../../../data/workloads/video-call.toml")),
    ("frame-loop", include_str!("../../../data/workloads/frame-loop.toml")),
    ("web-server", include_str!("../../../data/workloads/web-server.toml")),
    (
        "idle-desktop",
        include_str!("../../../data/workloads/idle-desktop.toml"),
    ),
    (
        "batch-and-interactive",
        include_str!("../../../data/workloads/batch-and-interactive.toml"),
    ),
    (
        "parsec-like-join",
        include_str!("../../../data/workloads/parsec-like-join.toml"),
    ),
    (
        "parsec-like-frames",
        include_str!("../../../data/workloads/parsec-like-frames.toml"),
    ),
    (
        "parsec-like-pipeline",
        include_str!("../../../data/workloads/parsec-like-pipeline.toml"),
    ),
    (
        "parsec-like-barriers",
        include_str!("../../../data/workloads/parsec-like-barriers.toml"),
    ),
    ("mix-1", include_str!("../../../data/workloads/mix-1.toml")),
    ("mix-2", include_str!("../../../data/workloads/mix-2.toml")),
    ("mix-3", include_str!("../../../data/workloads/mix-3.toml")),
    ("mix-4", include_str!("../../../data/workloads/mix-4.toml")),
    ("mix-5", include_str!("../../../data/workloads/mix-5.toml")),
    ("mix-6", include_str!("../../../data/workloads/mix-6.toml")),
    ("mix-7", include_str!("../../../data/workloads/mix-7.toml")),
    ("mix-8", include_str!("../../../data/workloads/mix-8.toml")),
    (
        "eight-applications",
        include_str!("../../../data/workloads/eight-applications.toml"),
    ),
];

/// Names that [`super::load`] knows without a file.
pub fn builtin_names() -> Vec<&'static str> {
    BUILTIN.iter().map(|(name, _)| *name).collect()
}

/// TOML text of a built-in workload.
pub fn builtin_text(name: &str) -> Option<&'static str> {
    BUILTIN.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}
