//! Lines over the years, in percent.

use super::Picture;
use super::drawing::{Drawing, colour_class, line_class};
use std::fmt::Write;

/// A line: its name, and a share in percent for each year; None where the year has none.
pub struct Line {
    /// The tool or the examination.
    pub name: String,
    /// From 0 to 100.
    pub points: Vec<Option<f64>>,
}

/// The area of the lines in pixels.
const LEFT: i32 = 56;
const TOP: i32 = 48;
const WIDTH: i32 = 520;
const HEIGHT: i32 = 300;

/// A picture with one line for each of `lines`. A line is interrupted where it has no point. `csv` has the same values.
pub fn lines(name: &str, title: &str, years: &[String], lines: &[Line], csv: String) -> Picture {
    let mut drawing = Drawing::new(LEFT + WIDTH + 220, TOP + HEIGHT + 44);
    let y =
        |percent: f64| TOP + HEIGHT - (percent.clamp(0.0, 100.0) / 100.0 * f64::from(HEIGHT)).round() as i32;
    let steps = years.len().saturating_sub(1).max(1) as i32;
    let x = |year: usize| LEFT + 16 + (WIDTH - 32) * year as i32 / steps;
    let mut grid = String::new();
    for percent in [0, 20, 40, 60, 80, 100] {
        let at = y(f64::from(percent));
        let _ = write!(grid, "M{LEFT} {at}h{WIDTH}");
        drawing.text((LEFT - 8, at + 4), "s e", &format!("{percent} %"));
    }
    drawing.path("g", &grid);
    for (at, year) in years.iter().enumerate() {
        drawing.text((x(at), TOP + HEIGHT + 20), "s m", year);
    }
    let mut legend = Vec::new();
    for (number, line) in lines.iter().enumerate() {
        let class = line_class(number);
        let (mut data, mut dots, mut pen_down) = (String::new(), String::new(), false);
        for (at, percent) in line.points.iter().enumerate() {
            let Some(percent) = percent else {
                pen_down = false;
                continue;
            };
            let (x, y) = (x(at), y(*percent));
            let _ = write!(data, "{}{x} {y}", if pen_down { 'L' } else { 'M' });
            let _ = write!(dots, "M{} {y}h6", x - 3);
            pen_down = true;
        }
        drawing.path(&class, &data);
        drawing.path(&format!("{} p", colour_class(number)), &dots);
        legend.push((class, line.name.clone()));
    }
    drawing.legend((LEFT + WIDTH + 16, TOP + 8), &legend);
    let description =
        format!("One line for each name in the legend, over the contests {}.", years.join(", "));
    drawing.finish(name.to_owned(), title.to_owned(), description, csv)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_interrupted_where_a_year_has_no_value() {
        let line = Line { name: "a<b".to_owned(), points: vec![Some(0.0), None, Some(100.0)] };
        let years = ["2018", "2019", "2020"].map(str::to_owned);
        let svg = lines("years-x", "Title", &years, &[line], String::new()).svg;
        roxmltree::Document::parse(&svg).unwrap();
        assert!(svg.contains("d=\"M72 348M560 48\"") && svg.contains("a&lt;b"), "{svg}");
    }
}
