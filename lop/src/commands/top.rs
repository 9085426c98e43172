// SPDX-License-Identifier: GPL-2.0-only
//! `lop top`: a live view in a terminal.

use super::kernel::Place;
use crate::failure::{Failure, FAILED};
use crate::meter::{Found, MeterArguments};
use crate::signals::cannot_handle;
use crate::terminal;
use crate::top::screen::Power;
use crate::top::{draw, Sampler, View};
use clap::Args;
use lop_compare::interrupt::Interrupt;
use lop_kernel::options::parse_duration;
use lop_machine::meter::OpenMeter;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEventKind, KeyModifiers};
use ratatui::DefaultTerminal;
use std::io::{self, IsTerminal};
use std::time::{Duration, Instant, SystemTime};

pub const EXAMPLES: &str = "\
Examples:
  lop top
  lop top --interval 500ms
  lop top --model i7-940         modelled power, where no meter works
  lop top --meter-cmd 'my-meter --watts'
  lop top --once                 one screen as plain text, for a pipe

q, Esc or Ctrl-C quits. It needs no privileges. Without the scheduler it shows speeds
and power, but no sets.";

/// Of a screen that goes to no terminal.
const PLAIN: (usize, usize) = (80, 24);

#[derive(Args)]
pub struct Arguments {
    /// Time between two samples, 100ms to 60s
    #[arg(short, long, value_name = "TIME", default_value = "1s", value_parser = parse_interval)]
    interval: Duration,
    /// Print one sample as plain text of 80 columns, and exit
    #[arg(long)]
    once: bool,
    #[command(flatten)]
    meter: MeterArguments,
    #[command(flatten)]
    place: Place,
}

fn parse_interval(text: &str) -> Result<Duration, String> {
    let interval = parse_duration(text)?;
    match (Duration::from_millis(100)..=Duration::from_secs(60)).contains(&interval) {
        true => Ok(interval),
        false => Err("expected 100ms to 60s".to_string()),
    }
}

pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let mut watch = Watch {
        sampler: Sampler::new(&arguments.place.root, arguments.place.run_dir())?,
        view: View::default(),
        meter: Metered::open(arguments)?,
    };
    watch.look()?;
    if arguments.once {
        std::thread::sleep(arguments.interval);
        watch.look()?;
        return terminal::print(&watch.plain());
    }
    if !io::stdout().is_terminal() {
        let hint = "'lop top --once' prints one screen, 'lop status --watch --format json' a line each second";
        return Err(Failure::new(FAILED, "lop top draws on a terminal, and standard output is not one").hint(hint));
    }
    let interrupt = Interrupt::of_signals().map_err(cannot_handle)?;
    let mut terminal = ratatui::try_init().map_err(|error| refused(&error))?;
    let result = watch.on(&mut terminal, arguments.interval, &interrupt);
    ratatui::restore();
    result
}

/// How often it is looked whether a signal asks it to end, which no wait for keys ends by.
const HEARS_SIGNALS_EVERY: Duration = Duration::from_millis(250);

fn refused(error: &io::Error) -> Failure {
    Failure::new(FAILED, format!("cannot draw on this terminal: {error}"))
}

struct Watch {
    sampler: Sampler,
    view: View,
    meter: Metered,
}

/// The meter, or why there is none.
struct Metered {
    meter: Option<OpenMeter>,
    source: String,
    before: Option<(Instant, u64)>,
}

impl Metered {
    fn open(arguments: &Arguments) -> Result<Self, Failure> {
        let (meter, source) = match arguments.meter.open(&arguments.place.root)? {
            Found::Meter(meter) => {
                let name = meter.source().name.clone();
                (Some(meter), name)
            }
            Found::NotWanted => (None, "--meter none".to_string()),
            Found::NoneWorks => (None, NO_METER.to_string()),
        };
        Ok(Self {
            meter,
            source,
            before: None,
        })
    }

    /// Mean power since it was asked last; a meter that fails is left, and its error is the source from then on.
    fn power(&mut self) -> Power {
        let read = self.meter.as_ref().map(|meter| (Instant::now(), meter.total_uj()));
        let watts = match read {
            Some((now, Ok(total_uj))) => {
                let before = self.before.replace((now, total_uj));
                before.map(|(then, uj)| total_uj.saturating_sub(uj) as f64 / 1e6 / (now - then).as_secs_f64())
            }
            Some((_, Err(error))) => {
                self.source = error.to_string();
                self.meter = None;
                None
            }
            None => None,
        };
        Power {
            // Nothing uses 0 W: the meter had nothing new yet.
            watts: watts.filter(|watts| *watts > 0.0),
            source: self.source.clone(),
            only_ratios: self.meter.as_ref().is_some_and(|meter| meter.source().only_ratios),
        }
    }
}

const NO_METER: &str = "no meter works here: see 'lop doctor'; --model MACHINE gives modelled power";

impl Watch {
    fn look(&mut self) -> Result<(), Failure> {
        let sample = self.sampler.sample()?;
        self.view.add(sample, self.meter.power());
        Ok(())
    }

    fn plain(&self) -> String {
        let lines = self.view.lines(PLAIN.0, PLAIN.1, SystemTime::now());
        lines
            .iter()
            .map(|line| format!("{}\n", line.to_string().trim_end()))
            .collect()
    }

    /// Until somebody quits.
    fn on(&mut self, terminal: &mut DefaultTerminal, interval: Duration, interrupt: &Interrupt) -> Result<(), Failure> {
        let mut due = Instant::now() + interval;
        let mut changed = true;
        loop {
            if std::mem::take(&mut changed) {
                terminal
                    .draw(|frame| draw(&self.view, frame))
                    .map_err(|error| refused(&error))?;
            }
            let left = due.saturating_duration_since(Instant::now());
            if event::poll(left.min(HEARS_SIGNALS_EVERY)).map_err(|error| refused(&error))? {
                if quits(&event::read().map_err(|error| refused(&error))?) {
                    return Ok(());
                }
                changed = true;
            } else if Instant::now() >= due {
                self.look()?;
                due = Instant::now() + interval;
                changed = true;
            }
            if let Some(signal) = interrupt.signal() {
                return Err(Failure::silent(u8::try_from(128 + signal).unwrap_or(FAILED)));
            }
        }
    }
}

fn quits(event: &Event) -> bool {
    let Event::Key(key) = event else {
        return false;
    };
    let interrupt = key.modifiers.contains(KeyModifiers::CONTROL) && key.code == KeyCode::Char('c');
    key.kind == KeyEventKind::Press && (interrupt || matches!(key.code, KeyCode::Char('q') | KeyCode::Esc))
}
