use lop_simulator::experiment::{self, RunControl};
use std::sync::atomic::AtomicBool;
fn main() {
    let mut e = experiment::load(&std::env::args().nth(1).unwrap_or("everything".into())).unwrap();
    if let Some(r) = std::env::args().nth(2) {
        e.runs = r.parse().unwrap();
    }
    let s = experiment::run(
        &e,
        &RunControl {
            threads: None,
            progress: &|_| {},
            cancelled: &AtomicBool::new(false),
        },
    )
    .unwrap();
    for c in &s.cells {
        println!(
            "{} {} | best {} edp {:.3} time {:.3} {}",
            if c.is_behind() { "***" } else { "   " },
            c.point.iter().map(|p| p.1.to_string()).collect::<Vec<_>>().join(" | "),
            c.best,
            c.edp,
            c.time,
            c.price
                .as_ref()
                .map_or(String::new(), |p| format!("-- {} {:.3}", p.without, p.edp))
        );
    }
    println!(
        "{} cells, {} behind",
        s.cells.len(),
        s.cells.iter().filter(|c| c.is_behind()).count()
    );
}
