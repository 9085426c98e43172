// SPDX-License-Identifier: MIT OR Apache-2.0
//! The page: self-contained, nothing in a name becomes markup, the data in it is the data that came in.

mod common;

use base64::{prelude::BASE64_STANDARD, Engine};
use common::{report, sweep, timeline};
use lop_report::{
    html, published, Energy, PointValue, PowerChange, RelativeRange, Replayed, Report, ReportError, RunSpan, Timeline,
    Wakeup,
};
use serde_json::Value;

/// A data island, unpacked and parsed.
fn island(page: &str, id: &str) -> Value {
    let start = format!("<script type=\"application/gzip\" id=\"{id}\">");
    let found = page
        .split_once(&start)
        .and_then(|(_, rest)| rest.split_once("</script>"));
    let packed = BASE64_STANDARD.decode(found.map_or("", |(text, _)| text));
    let packed = packed.expect("base64");
    serde_json::from_reader(flate2::read::GzDecoder::new(packed.as_slice())).unwrap_or(Value::Null)
}

/// Times from the differences between them.
fn sums(differences: &Value) -> Vec<u64> {
    let mut time = 0;
    let add = |difference| {
        time += difference;
        time
    };
    numbers(differences).into_iter().map(add).collect()
}

fn numbers(value: &Value) -> Vec<u64> {
    value
        .as_array()
        .map(|items| items.iter().filter_map(Value::as_u64).collect())
        .unwrap_or_default()
}

#[test]
fn nothing_is_fetched() -> Result<(), ReportError> {
    let page = html(&[report(), sweep()], &[timeline()])?.replace("url(#clip-", "");
    for forbidden in [
        "http:", "https:", "@import", "url(", "src=", "<link", "fetch(", "import(",
    ] {
        assert!(!page.contains(forbidden), "the page contains {forbidden}");
    }
    assert!(
        page.contains("default-src 'none'"),
        "and the browser is told to fetch nothing"
    );
    Ok(())
}

#[test]
fn a_replay_says_what_it_cannot_know() -> Result<(), ReportError> {
    let replay = Report {
        trace: Some(Replayed {
            file: "a<b>.trace".into(),
            recorded_s: 4.5,
            cpu_s: 8.25,
            others_s: 0.0,
            cpus: 2,
            tasks: 31,
            wakers_known: false,
            unknown: vec!["who woke whom".into(), "what ran < 1 us".into()],
        }),
        ..report()
    };
    let page = html(&[replay], &[])?;
    assert!(page.contains("Recorded: 4.500 s on 2 CPUs, 8.250 s of CPU time, 31 tasks (a&lt;b&gt;.trace)."));
    assert!(page.contains("<li>who woke whom</li>\n<li>what ran &lt; 1 us</li>"));
    assert!(!html(&[report()], &[])?.contains("cannot know"));
    Ok(())
}

#[test]
fn islands_equal_the_input() -> Result<(), ReportError> {
    let (report, timeline) = (sweep(), timeline());
    let page = html(std::slice::from_ref(&report), std::slice::from_ref(&timeline))?;
    let results = &island(&page, "report-1-data")["results"];
    for (index, result) in report.results.iter().enumerate() {
        assert_eq!(results[index]["time_s"].as_f64(), Some(result.time_s));
        assert_eq!(
            results[index]["edp_js"].as_f64(),
            result.energy.map(|energy| energy.edp_js)
        );
    }
    let data = island(&page, "timeline-1-data");
    assert_eq!(data["end_ns"].as_u64(), Some(timeline.end_ns));
    let instants = sums(&data["after_ns"]);
    assert!(
        instants.windows(2).all(|pair| pair[0] < pair[1]),
        "each instant is there once"
    );
    let times = |places: &[u64]| -> Vec<u64> { places.iter().map(|&at| instants[at as usize]).collect() };
    let starts = sums(&data["runs"]["at"]);
    let ends: Vec<u64> = starts
        .iter()
        .zip(numbers(&data["runs"]["instants"]))
        .map(|(at, later)| at + later)
        .collect();
    assert_eq!(
        times(&starts),
        timeline.runs.iter().map(|r| r.start_ns).collect::<Vec<_>>()
    );
    assert_eq!(times(&ends), timeline.runs.iter().map(|r| r.end_ns).collect::<Vec<_>>());
    assert_eq!(sums(&data["runs"]["task"]), [0, 1, 1]);
    assert_eq!(
        numbers(&data["speeds"]["khz"]),
        timeline.speeds.iter().map(|s| s.khz).collect::<Vec<_>>()
    );
    assert_eq!(times(&sums(&data["wakeups"]["at"])), [1_000]);
    assert_eq!(numbers(&data["wakeups"]["latency_ns"]), [234]);
    assert_eq!(data["sets"]["set"], serde_json::json!(["high", "low", "high"]));
    assert_eq!(times(&sums(&data["power"]["at"])), [0, 1_000]);
    assert_eq!(numbers(&data["power"]["millionths"]), [12_500_000, 20_000_000]);
    assert_eq!(data["cpu_kinds"], serde_json::json!(["big", "little"]));
    Ok(())
}

/// A run with its wakeup and two changes of power takes some 60 bytes of JSON; its duration alone is 20 bits of chance, which are 3.3 bytes of base64.
#[test]
fn a_run_takes_ten_bytes_of_the_page() -> Result<(), ReportError> {
    const RUNS: usize = 10_000;
    let (mut draw, mut now) = (7u64, 0);
    let mut long = timeline();
    (long.runs, long.wakeups, long.power) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..RUNS {
        draw = draw
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let (start_ns, end_ns) = (now + 50_000, now + 50_000 + (draw >> 44));
        let (cpu, task) = ((draw >> 43 & 1) as u32, 0);
        long.wakeups.push(Wakeup {
            at_ns: start_ns,
            task,
            cpu,
            latency_ns: 2_000,
        });
        long.power.push(PowerChange {
            at_ns: start_ns,
            millionths: 20_000_000,
        });
        long.power.push(PowerChange {
            at_ns: end_ns,
            millionths: 10_000_000,
        });
        long.runs.push(RunSpan {
            start_ns,
            end_ns,
            cpu,
            task,
        });
        now = end_ns;
    }
    let added = html(&[], &[long])?.len() - html(&[], &[timeline()])?.len();
    assert!(added < 10 * RUNS, "{added} bytes");
    Ok(())
}

#[test]
fn equal_runs_are_one_timeline_under_all_names() -> Result<(), ReportError> {
    let named = |policy: &str| Timeline {
        policy: policy.into(),
        ..timeline()
    };
    let mut other = named("auto");
    other.runs[0].task = 1;
    let page = html(&[], &[named("highlow"), other, named("phase")])?;
    assert!(page.contains("<h3>highlow, phase</h3>") && page.contains("<h3>auto</h3>"));
    assert_eq!(page.matches("<canvas").count(), 2);
    assert!(page.contains("2 CPUs (1 big, 1 little)"));
    Ok(())
}

#[test]
fn names_stay_text() -> Result<(), ReportError> {
    let nasty = "</script><b>\"&'{{css}}<!--<script>".to_string();
    let (mut report, mut timeline) = (sweep(), timeline());
    for field in [
        &mut report.title,
        &mut report.description,
        &mut report.machine,
        &mut report.workload,
    ] {
        field.clone_from(&nasty);
    }
    report.energy_source.clone_from(&nasty);
    for result in &mut report.results {
        result.policy += &nasty;
        result.counters.insert(nasty.clone(), nasty.clone().into());
        result.point.insert(nasty.clone(), PointValue::Text(nasty.clone()));
    }
    report.results[3]
        .point
        .insert(nasty.clone(), PointValue::Text("other".to_string()));
    timeline.policy.clone_from(&nasty);
    timeline.task_names[0].clone_from(&nasty);
    let page = html(&[report], &[timeline])?;
    assert!(!page.contains("<b>\""), "markup from a name");
    assert!(!page.contains("<!--"), "a comment from a name");
    // Two islands and the script of the page, each opened and closed once.
    assert_eq!(
        (page.matches("<script").count(), page.matches("</script>").count()),
        (3, 3)
    );
    assert_eq!(
        island(&page, "timeline-1-data")["task_names"][0].as_str(),
        Some(nasty.as_str())
    );
    assert_eq!(island(&page, "report-1-data")["title"].as_str(), Some(nasty.as_str()));
    assert!(page.contains("{{css}}"), "a name is not a place of the template");
    Ok(())
}

/// By hand: the axis is 380 wide and ends at 150 s, so 110 s are 278.7 and the bound of 80 s stands at 6 + 380 * 80 / 150 =
/// 208.7; the bound of EDP is 80 s * 4000 J = 320 kJ s on an axis to 500, at 6 + 380 * 320 / 500 = 249.2.
#[test]
fn bars_and_bounds_are_to_scale() -> Result<(), ReportError> {
    let page = html(&[report()], &[])?;
    assert!(page.contains("width=\"278.7\" height=\"13\""));
    assert_eq!(
        page.matches("<line class=\"bound\" x1=\"208.7\" x2=\"208.7\"").count(),
        2
    );
    assert_eq!(
        page.matches("<line class=\"bound\" x1=\"249.2\" x2=\"249.2\"").count(),
        2
    );
    assert!(page.contains("highlow: 110.0 s, 37.5 % over the lower bound of 80.0"));
    Ok(())
}

#[test]
fn axes_have_units_and_energies_a_source() -> Result<(), ReportError> {
    let page = html(&[report(), sweep()], &[])?;
    for caption in [
        "<b>time</b> (s)",
        "<b>energy</b> (kJ, modelled)",
        "<b>EDP</b> (kJ s, modelled)",
        "<b>relative time</b> (1 = linux:performance)",
        "<b>relative energy</b> (1 = linux:performance, modelled)",
    ] {
        assert!(page.contains(caption), "no caption {caption}");
    }
    Ok(())
}

/// Whiskers, of which a path holds those of a policy: three strokes each.
fn whiskers(page: &str) -> usize {
    let paths = page.split("<path class=\"whisker\"").skip(1);
    let strokes = paths.map(|path| path.split("/>").next().map_or(0, |path| path.matches('M').count()));
    strokes.sum::<usize>() / 3
}

/// A line and a path of whiskers for each policy and panel (six panels); each whisker starts with its upper end.
#[test]
fn sweeps_have_a_line_a_policy_and_whiskers() -> Result<(), ReportError> {
    let mut sweep = sweep();
    for result in &mut sweep.results {
        let around = |ratio: f64| [ratio / 1.01, ratio * 1.01];
        result.relative_ci95 = Some(RelativeRange {
            time: around(result.relative.time),
            system_energy: around(result.relative.system_energy),
            edp: around(result.relative.edp),
            response: None,
        });
    }
    let page = html(&[sweep], &[])?;
    assert_eq!(page.matches("<path class=\"line\"").count(), 2 * 6);
    assert_eq!(whiskers(&page), 4 * 6);
    Ok(())
}

/// Sweeps at their edges: the same value everywhere, or zero.
#[test]
fn flat_sweeps_are_drawn() -> Result<(), ReportError> {
    for value in [0.0, 5.0] {
        let mut report = sweep();
        for result in &mut report.results {
            result.time_s = value;
            result.energy = Some(Energy {
                cpu_energy_j: value,
                system_energy_j: value,
                system_power_w: value,
                edp_js: value,
            });
            (result.relative.time, result.relative.system_energy, result.relative.edp) = (1.0, 1.0, 1.0);
            (result.bounds.time_s, result.bounds.system_energy_j) = (0.0, None);
            result.ci95 = None;
        }
        let page = html(&[report], &[])?;
        assert_eq!(page.matches("<path class=\"line\"").count(), 2 * 6);
        let drawn = &page[..page.find("<script").unwrap_or(page.len())];
        assert!(
            !drawn.contains("NaN") && !drawn.contains("inf"),
            "a coordinate is not a number"
        );
    }
    Ok(())
}

#[test]
fn what_cannot_be_drawn_is_refused() {
    let mut report = report();
    report.results[0].time_s = f64::INFINITY;
    assert!(matches!(html(&[report], &[]), Err(ReportError::NotFinite { .. })));
    let mut timeline = timeline();
    timeline.runs[0].task = 5;
    assert!(matches!(html(&[], &[timeline]), Err(ReportError::Timeline { .. })));
}

/// By hand: 120 s on an axis to 200 s, 1 Wh, 30 W, 20 % more than the first policy's, and a bound of 200 s. Power has a plot only where it was published.
#[test]
fn published_numbers_are_crosses_beside_their_results() -> Result<(), ReportError> {
    let text = r#"
[[source]]
id = "s"
title = "A <b> (2009)"
[[table]]
source = "s"
study = "two-policies"
all = { policy = "highlow" }
rows = [
  { what = "time", value = 120, measure = "time", cause = "x < y" },
  { what = "energy", value = 1, unit = "Wh", measure = "energy" },
  { what = "power", value = 30, measure = "power" },
  { what = "slowdown", value = 20, measure = "time", over = { policy = "linux:performance" }, change = "more" },
  { what = "bound", at_most = 200, measure = "time" },
]"#;
    let tables = published::read("p.toml", text).expect("it is read");
    let with = |report: Report| -> Result<String, ReportError> {
        let published = vec![published::compare(&tables[0], &report)?];
        html(&[Report { published, ..report }], &[])
    };
    let bars = with(report())?;
    for part in [
        "highlow: 120.0 s published (prediction)",
        "highlow: at most 200.0 s published (prediction)",
        "<b>power</b>",
        "<h4>Published, and what comes out here (A &lt;b&gt; (2009))</h4>",
        "<li>x &lt; y.</li>",
        "<th scope=\"row\">bound</th>",
    ] {
        assert!(bars.contains(part), "no {part}");
    }
    // 6 + (400 - 6 - 14) * 120 / 200 - 4.5 = 229.5; the second row's bar has its middle at 38 + 18 + 6.5, less 4.5 is 58.
    assert!(bars.contains("d=\"M229.5 58.0l9 9"), "to scale");
    assert_eq!(bars.matches("class=\"published\"").count(), 4, "ratios are not bars");

    let mut swept = sweep();
    let is_first = |point: &PointValue| *point == PointValue::Number(1.0);
    (swept.results).retain(|result| result.policy != "highlow" || is_first(&result.point["jobs"]));
    let curves = with(swept)?;
    let curves = curves.split("<details>").next().unwrap_or_default();
    assert!(curves.contains("highlow: 1.200 published (prediction)"), "{curves}");
    assert_eq!(curves.matches("class=\"published\"").count(), 5);
    let without = html(&[report()], &[])?;
    assert!(!without.contains("</svg>published") && !without.contains("<b>power</b>"));
    Ok(())
}
