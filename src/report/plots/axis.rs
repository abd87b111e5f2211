//! Axes: map values to pixels, with ticks and their texts.

use super::runs::Measure;
use crate::show;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    Count,
    Milliseconds,
    Kib,
}

impl From<Measure> for Unit {
    fn from(measure: Measure) -> Self {
        match measure {
            Measure::Time => Self::Milliseconds,
            Measure::Memory => Self::Kib,
            Measure::Instructions => Self::Count,
        }
    }
}

impl Unit {
    pub fn text(self, value: u64) -> String {
        match self {
            _ if value == 0 => "0".to_owned(),
            Self::Count => show::thousands(value),
            Self::Milliseconds => show::duration(value),
            Self::Kib => show::kib(value),
        }
    }
}

#[derive(Clone, Copy, Debug)]
enum Scale {
    /// With the distance of the ticks.
    Linear(f64),
    /// With the base: ticks are at its powers.
    Log(u64),
}

/// An axis from `low` to `high`, drawn from `start` to `end` (pixels; `end` may lie before `start`).
#[derive(Clone, Copy, Debug)]
pub(super) struct Axis {
    unit: Unit,
    scale: Scale,
    low: f64,
    high: f64,
    start: f64,
    end: f64,
}

impl Axis {
    /// A linear axis from a round value not above `least` and not above 0 to a round value not below `most`.
    pub fn linear(unit: Unit, least: f64, most: f64, (start, end): (i32, i32)) -> Self {
        let step = step(unit, (most - least.min(0.0)) / 5.0);
        let low = (least.min(0.0) / step).floor() * step;
        let high = ((most / step).ceil() * step).max(low + step);
        Self { unit, scale: Scale::Linear(step), low, high, start: start.into(), end: end.into() }
    }

    /// A logarithmic axis from a power of its base not above `least` to one not below `most`.
    pub fn log(unit: Unit, least: u64, most: u64, (start, end): (i32, i32)) -> Self {
        let base: u64 = if unit == Unit::Kib { 4 } else { 10 };
        let mut low = 1;
        while low <= least / base {
            low *= base;
        }
        let mut high = low * base;
        while high < most {
            high = high.saturating_mul(base);
        }
        let (low, high) = (low as f64, high as f64);
        Self { unit, scale: Scale::Log(base), low, high, start: start.into(), end: end.into() }
    }

    /// The pixel of a value, not rounded; a value outside the axis is at its nearer end.
    pub fn at(&self, value: f64) -> f64 {
        let value = value.clamp(self.low, self.high);
        let share = match self.scale {
            Scale::Linear(_) => (value - self.low) / (self.high - self.low),
            Scale::Log(_) => (value / self.low).ln() / (self.high / self.low).ln(),
        };
        self.start + share * (self.end - self.start)
    }

    /// The pixel of a value, rounded.
    pub fn pixel(&self, value: f64) -> i32 {
        self.at(value).round() as i32
    }

    pub fn holds(&self, value: f64) -> bool {
        (self.low..=self.high).contains(&value)
    }

    /// The pixels of the ticks and their texts, from low to high.
    pub fn ticks(&self) -> Vec<(i32, String)> {
        let (first, next): (f64, Box<dyn Fn(f64) -> f64>) = match self.scale {
            Scale::Linear(step) => (self.low, Box::new(move |at| at + step)),
            Scale::Log(base) => (self.low, Box::new(move |at| at * base as f64)),
        };
        let values = std::iter::successors(Some(first), |at| Some(next(*at)));
        let values = values.take_while(|at| *at <= self.high * 1.000_001);
        values.map(|value| (self.pixel(value), self.text(value))).collect()
    }

    fn text(&self, value: f64) -> String {
        let (sign, value) = (if value < 0.0 { "−" } else { "" }, value.abs().round() as u64);
        match (self.scale, self.unit) {
            // All ticks in seconds: decades are easier to compare in one unit.
            (Scale::Log(_), Unit::Milliseconds) if value >= 1000 => {
                format!("{} s", show::thousands(value / 1000))
            }
            (Scale::Log(_), Unit::Milliseconds) => {
                format!("0.{} s", format!("{value:03}").trim_end_matches('0'))
            }
            (_, unit) => format!("{sign}{}", unit.text(value)),
        }
    }
}

/// The smallest round step that is at least `least` and at least 1.
fn step(unit: Unit, least: f64) -> f64 {
    const SECONDS: [u32; 17] =
        [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400, 28_800, 43_200];
    let decades = || (0..18).flat_map(|n| [1.0, 2.0, 5.0].map(|times| times * 10_f64.powi(n)));
    let powers = |first: f64| (0..60).map(move |n| first * f64::from(n).exp2());
    let fits = |step: &f64| *step >= least;
    let round = match unit {
        Unit::Count => decades().find(fits),
        Unit::Kib => powers(1.0).find(fits),
        Unit::Milliseconds => decades()
            .take_while(|ms| *ms < 1000.0)
            .chain(SECONDS.map(|s| f64::from(s) * 1000.0))
            .chain(powers(86_400_000.0))
            .find(fits),
    };
    round.unwrap_or(least)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(axis: Axis) -> Vec<String> {
        axis.ticks().into_iter().map(|(_, text)| text).collect()
    }

    #[test]
    fn a_linear_axis_has_round_ticks_and_contains_all_values() {
        let axis = Axis::linear(Unit::Count, 0.0, 947.0, (0, 500));
        assert_eq!(texts(axis), ["0", "200", "400", "600", "800", "1,000"]);
        assert_eq!((axis.pixel(0.0), axis.pixel(947.0)), (0, 474));
        let below = Axis::linear(Unit::Count, -30.0, 60.0, (0, 100));
        assert_eq!(texts(below), ["−40", "−20", "0", "20", "40", "60"]);
        let hours = Axis::linear(Unit::Milliseconds, 0.0, 3.5e6, (0, 100));
        assert_eq!(texts(hours), ["0", "15 min", "30 min", "45 min", "1 h"]);
    }

    #[test]
    fn a_logarithmic_axis_has_base_10_for_time_and_4_for_memory() {
        let time = Axis::log(Unit::Milliseconds, 35, 3_600_000, (300, 0));
        assert_eq!(texts(time), ["0.01 s", "0.1 s", "1 s", "10 s", "100 s", "1,000 s", "10,000 s"]);
        assert_eq!((time.pixel(10.0), time.pixel(1e7), time.pixel(1.0)), (300, 0, 300));
        let memory = Axis::log(Unit::Kib, 2000, 16 << 20, (0, 100));
        let fours = ["1 MiB", "4 MiB", "16 MiB", "64 MiB", "256 MiB", "1 GiB", "4 GiB", "16 GiB"];
        assert_eq!(texts(memory), fours);
    }

    #[test]
    fn values_of_zero_have_an_axis() {
        assert_eq!(texts(Axis::linear(Unit::Count, 0.0, 0.0, (0, 9))), ["0", "1"]);
        assert!(Axis::log(Unit::Kib, 0, 0, (0, 9)).at(0.0).is_finite());
    }
}
