//! Progress of a run: a bar on a terminal, lines elsewhere, events for scripts.

// The pace of a run is read off a clock; nothing of it is stored.
#![allow(clippy::disallowed_methods)]

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::args::Format;
use super::render;
use crate::exec::{ExecEvent, StoredTrial};

/// How often a line is written where nobody looks at a terminal.
const EVERY: Duration = Duration::from_secs(10);

/// Shows what a run does.
pub struct Progress {
    format: Format,
    bar: Option<ProgressBar>,
    seen: Seen,
    began: Instant,
    said: Instant,
}

/// What was counted.
#[derive(Default)]
struct Seen {
    planned: u64,
    done: u64,
    failed: u64,
    excluded: u64,
    cost: f64,
    here: u64,
}

impl Progress {
    /// Shows progress on stderr, or as events on stdout.
    pub fn new(format: Format) -> Self {
        Self {
            format,
            bar: None,
            seen: Seen::default(),
            began: Instant::now(),
            said: Instant::now(),
        }
    }

    /// Whether events were written, so that what follows is a line too.
    pub fn has_streamed(&self) -> bool {
        self.format == Format::Json && self.seen.planned > 0
    }

    /// Takes note of an event.
    pub fn see(&mut self, event: &ExecEvent) {
        if self.format == Format::Json {
            render::event(event);
        }
        match event {
            ExecEvent::Started { planned, stored } => self.start(*planned, *stored),
            ExecEvent::Trial(trial) => self.trial(trial),
            ExecEvent::Amended { .. } => self.seen.excluded += 1,
            ExecEvent::Stopping { reason } => self.say(&format!("stopping: {reason}")),
            ExecEvent::Ended { .. } => self.end(),
        }
    }

    fn start(&mut self, planned: u64, stored: u64) {
        self.began = Instant::now();
        self.said = self.began;
        self.seen.planned = planned;
        self.seen.done = stored;
        if self.format == Format::Text && std::io::stderr().is_terminal() {
            let bar = ProgressBar::with_draw_target(Some(planned), ProgressDrawTarget::stderr());
            let look = "{bar:30} {pos}/{len}  {msg}  ETA {eta}";
            if let Ok(style) = ProgressStyle::with_template(look) {
                bar.set_style(style);
            }
            bar.set_position(stored);
            self.bar = Some(bar);
        }
    }

    fn trial(&mut self, trial: &StoredTrial) {
        let seen = &mut self.seen;
        seen.done += 1;
        seen.here += 1;
        seen.failed += u64::from(trial.status.is_agent_failure());
        seen.excluded += u64::from(!trial.status.is_valid());
        seen.cost += trial.cost_usd.unwrap_or(0.0);
        if let Some(bar) = &self.bar {
            bar.set_position(seen.done);
            bar.set_message(seen.words());
        } else if self.format == Format::Text && self.said.elapsed() >= EVERY {
            self.said = Instant::now();
            self.line();
        }
    }

    fn line(&self) {
        let seen = &self.seen;
        let rate = seen.here as f64 / self.began.elapsed().as_secs_f64().max(1e-9);
        let left = seen.planned.saturating_sub(seen.done) as f64 / rate.max(1e-9);
        let left = Duration::from_secs(left.min(1e9) as u64);
        render::talk(&format!(
            "{}/{} trials  {}  ETA {}",
            seen.done,
            seen.planned,
            seen.words(),
            humantime::format_duration(left)
        ));
    }

    fn end(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
        if self.format == Format::Text && self.seen.here > 0 {
            let took = self.began.elapsed();
            render::talk(&format!(
                "{} trials in {:.1} s ({:.0} per second): {}",
                self.seen.here,
                took.as_secs_f64(),
                self.seen.here as f64 / took.as_secs_f64().max(1e-9),
                self.seen.words()
            ));
        }
    }

    fn say(&self, line: &str) {
        match &self.bar {
            Some(bar) => bar.println(line),
            None if self.format == Format::Text => render::talk(line),
            None => {}
        }
    }
}

impl Seen {
    fn words(&self) -> String {
        let mut text = format!(
            "{} failed by themselves, {} excluded (infrastructure)",
            self.failed, self.excluded
        );
        if self.cost > 0.0 {
            text.push_str(&format!(", {:.4} US dollars", self.cost));
        }
        text
    }
}
