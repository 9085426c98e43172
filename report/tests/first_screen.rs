// SPDX-License-Identifier: MIT OR Apache-2.0
//! What comes first on the page: the verdict, time against energy, sorted bars.

mod common;

use common::{report, sweep, timeline};
use lop_report::{html, table, PointValue, Report, ReportError, Room, RunResult};

/// Text of the first paragraph of this class.
fn verdict(report: Report) -> Result<String, ReportError> {
    let page = html(&[report], &[])?;
    let found = page
        .split_once("<p class=\"verdict\">")
        .and_then(|(_, rest)| rest.split_once("</p>"));
    Ok(found.map_or(String::new(), |(text, _)| text.to_string()))
}

fn with(results: Vec<RunResult>) -> Report {
    Report { results, ..report() }
}

#[test]
fn verdict_charts_table_timelines_in_that_order() -> Result<(), ReportError> {
    let mut timeline = timeline();
    timeline.study = report().title;
    let page = html(&[report()], &[timeline])?;
    let parts = [
        "<h1>Lopsided: two-policies</h1>",
        "<p class=\"verdict\">",
        "<b>time and energy</b>",
        "<b>EDP</b>",
        "<table>",
        "<details class=\"timelines\">",
        "<a href=\"#timeline-1\">",
        "<canvas",
        "</section>\n</main>",
    ];
    let places: Vec<Option<usize>> = parts.iter().map(|part| page.find(part)).collect();
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{places:?}");
    assert_eq!(page.matches("href=\"#").count(), 1, "no link stands above the verdict");
    Ok(())
}

/// Both have the same: what the text says first.
#[test]
fn the_verdict_is_that_of_the_text() -> Result<(), ReportError> {
    for report in [report(), sweep()] {
        let text = table(&report, Room::UNLIMITED);
        let said = verdict(report)?;
        assert!(!said.is_empty());
        assert!(text.replace('\n', " ").contains(&said), "{said}\n{text}");
    }
    let only = with(report().results[..1].to_vec());
    assert_eq!(verdict(only)?, "");
    Ok(())
}

#[test]
fn equal_policies_share_a_row_under_all_their_names() -> Result<(), ReportError> {
    let mut results = report().results;
    results.push(RunResult {
        policy: "phase".into(),
        ..results[1].clone()
    });
    let page = html(&[with(results)], &[])?;
    assert_eq!(page.matches("<th scope=\"row\">highlow, phase</th>").count(), 1);
    assert_eq!(
        page.matches(" height=\"13\" fill=").count(),
        3 * 2,
        "two bars in each figure"
    );
    assert_eq!(page.matches(">highlow, phase</text>").count(), 3);
    let labels = page.split_once("<b>EDP</b>").map_or("", |(scatter, _)| scatter);
    assert!(labels.contains(">highlow</text>") && labels.contains(">phase</text>"));
    assert_eq!(labels.matches("class=\"leader\"").count(), 2);
    Ok(())
}

/// By hand: times of 1 and 1.1 make an axis from 0.95 to 1.15 over 215 units from 40, so 1 is at 93.75 and 1.1 at 201.25; energies of 0.88 and 1
/// make one from 0.85 to 1.05 over 215 units from 8 downwards, so 1 is at 61.75 and 0.88 at 190.75.
#[test]
fn the_scatter_is_to_scale() -> Result<(), ReportError> {
    let page = html(&[report()], &[])?;
    let leaders = page.split("<path class=\"leader\" d=\"M").skip(1);
    let places: Vec<(f64, f64)> = leaders
        .filter_map(|rest| {
            let (x, y) = rest.split_once('L')?.0.split_once(' ')?;
            Some((x.parse().ok()?, y.parse().ok()?))
        })
        .collect();
    let expected = [(93.75, 61.75), (201.25, 190.75)];
    assert_eq!(places.len(), 2);
    for (place, expected) in places.iter().zip(expected) {
        assert!(
            (place.0 - expected.0).abs() < 0.06 && (place.1 - expected.1).abs() < 0.06,
            "{places:?}"
        );
    }
    Ok(())
}

/// EDP: 484 kJ s of highlow before 500; time: 100 s of linux:performance before 110 s.
#[test]
fn bars_are_sorted() -> Result<(), ReportError> {
    let page = html(&[report()], &[])?;
    let of = |figure: &str| -> Vec<&str> {
        let drawn = page
            .split_once(figure)
            .and_then(|(_, rest)| rest.split_once("</svg>"))
            .map_or("", |(svg, _)| svg);
        let bars = drawn.split("<g><title>").skip(1);
        bars.filter_map(|bar| bar.split(": ").next()).collect()
    };
    assert_eq!(of("<b>EDP</b>"), ["highlow", "linux:performance"]);
    assert_eq!(of("<b>time</b>"), ["linux:performance", "highlow"]);
    Ok(())
}

#[test]
fn no_line_joins_categories() -> Result<(), ReportError> {
    let mut swept = sweep();
    for result in &mut swept.results {
        let text = format!("{:?}", result.point["jobs"]);
        result.point.insert("jobs".to_string(), PointValue::Text(text));
    }
    let page = html(&[swept], &[])?;
    assert!(!page.contains("<path class=\"line\""));
    assert_eq!(
        page.matches("<path class=\"whisker\"").count(),
        2 * 3,
        "the points are there, and those of means have intervals"
    );
    Ok(())
}

/// Where the clock sets the end, the delay is the mean response: 30 ms over 20 ms is 1.5, times 0.88 of the energy is 1.32.
#[test]
fn clock_bound_work_shows_energy_and_lateness() -> Result<(), ReportError> {
    let mut results = report().results;
    for (result, response_s) in results.iter_mut().zip([0.02, 0.03]) {
        result.counters.insert("mean_response_s".into(), response_s.into());
        (result.time_s, result.relative.time) = (60.0, 1.0);
    }
    let page = html(&[with(results)], &[])?;
    assert!(page.contains("highlow: 50 % longer mean response, 12 % less energy"));
    for part in [
        "<b>mean response and energy</b>",
        "<b>mean response</b> (ms)",
        "highlow: 30.00 ms",
        "The clock sets when this work ends",
    ] {
        assert!(page.contains(part), "no {part}");
    }
    assert!(!page.contains("<b>time</b>"), "the time says nothing");
    Ok(())
}
