//! Lines over the years, in percent.

use super::Picture;
use super::drawing::{Drawing, colour_class, fitting, line_class};
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

/// The shapes of points, around their centre: circle, square, triangle, diamond, cross, triangle that points down.
const SHAPES: [&str; 6] = [
    "m-5 0a5 5 0 1 0 10 0a5 5 0 1 0-10 0",
    "m-4.5-4.5h9v9h-9z",
    "m0-5.5l5.5 10h-11z",
    "m0-6l6 6-6 6-6-6z",
    "m-4-4l8 8m0-8l-8 8",
    "m0 5.5l5.5-10h-11z",
];

/// Points of one year that are nearer to each other than this are beside each other.
const APART: i32 = 11;

/// A picture with one line for each of `lines`. A line is interrupted where it has no point; one with a single point is
/// this point. Colours repeat after 8 lines, so that each line also has a shape for its points. `csv` has the same values.
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
    let is_point = |line: &&Line| line.points.iter().flatten().count() == 1;
    let mut entry = 0;
    // The class of the line is empty for a point.
    let mut in_legend = |drawing: &mut Drawing, line: &str, (class, shape): (&str, &str), name: &str| {
        let (left, base) = (LEFT + WIDTH + 16, TOP + 8 + 18 * entry);
        if !line.is_empty() {
            drawing.path(line, &format!("M{left} {}h20", base - 4));
        }
        drawing.path(class, &format!("M{left} {}m10 0{shape}", base - 4));
        drawing.text((left + 27, base), "", &fitting(name, 24));
        entry += 1;
    };
    let mut number = 0;
    // Year, height, and place beside the line of the year of each drawn point.
    let mut drawn: Vec<(usize, i32, i32)> = Vec::new();
    for line in lines.iter().filter(|line| !is_point(line)) {
        let (class, shape) = (line_class(number), SHAPES[number % SHAPES.len()]);
        let (mut data, mut dots, mut pen_down) = (String::new(), String::new(), false);
        for (at, percent) in line.points.iter().enumerate() {
            let Some(percent) = percent else {
                pen_down = false;
                continue;
            };
            let (x, y) = (x(at), y(*percent));
            let _ = write!(data, "{}{x} {y}", if pen_down { 'L' } else { 'M' });
            let _ = write!(dots, "M{x} {y}{shape}");
            drawn.push((at, y, 0));
            pen_down = true;
        }
        drawing.path(&class, &data);
        let points = format!("{} q", colour_class(number));
        drawing.path(&points, &dots);
        in_legend(&mut drawing, &class, (&points, shape), &line.name);
        number += 1;
    }
    for line in lines.iter().filter(is_point) {
        let (class, shape) = (format!("{} q", colour_class(number)), SHAPES[number % SHAPES.len()]);
        for (at, percent) in line.points.iter().enumerate() {
            let Some(percent) = percent else { continue };
            let height = y(*percent);
            let near = |&&(year, other, _): &&(usize, i32, i32)| year == at && (height - other).abs() < APART;
            let taken: Vec<i32> = drawn.iter().filter(near).map(|(.., place)| *place).collect();
            let place = (0..).find(|place| !taken.contains(place)).unwrap_or_default();
            drawn.push((at, height, place));
            let inwards = if at > 0 && at + 1 == years.len() { -1 } else { 1 };
            drawing.path(&class, &format!("M{} {height}{shape}", x(at) + inwards * place * (APART + 3)));
        }
        in_legend(&mut drawing, "", (&class, shape), &line.name);
        number += 1;
    }
    let mut description = format!(
        "One line for each name in the legend, or a point if it is in one year only, over the contests {}.",
        years.join(", ")
    );
    if drawn.iter().any(|(.., place)| *place > 0) {
        description +=
            " The point of a name that is in one year only is drawn beside any other that it would overlap.";
    }
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

    #[test]
    fn what_is_in_one_year_only_is_a_point_with_a_shape_and_hides_no_other() {
        let line =
            |name: &str, points: [Option<f64>; 2]| Line { name: name.to_owned(), points: points.to_vec() };
        let all = [
            line("both", [Some(10.0), Some(20.0)]),
            line("first", [Some(50.0), None]),
            line("last", [None, Some(50.0)]),
            line("near", [None, Some(51.0)]),
            line("on the line", [Some(10.0), None]),
        ];
        let picture = lines("years-x", "Title", &["2018", "2019"].map(str::to_owned), &all, String::new());
        let words = "drawn beside any other that it would overlap.";
        assert!(picture.description.ends_with(words), "{}", picture.description);
        let svg = picture.svg;
        let [circle, square, triangle, diamond, cross, _] = SHAPES;
        for data in [
            format!("M72 198{square}"),
            format!("M560 198{triangle}"),
            format!("M546 195{diamond}"),
            format!("M86 318{cross}"),
        ] {
            assert!(svg.contains(&data), "{data}: {svg}");
        }
        // In the legend, only the line has a dash, and each has its shape.
        assert_eq!(svg.matches("h20\"").count(), 1);
        let shown = [circle, square, triangle, diamond].map(|shape| svg.matches(shape).count());
        assert_eq!(shown, [3, 2, 2, 2]);
    }

    #[test]
    fn no_two_of_24_lines_look_the_same() {
        let line = |number: usize| Line { name: number.to_string(), points: vec![Some(1.0), Some(2.0)] };
        let all: Vec<Line> = (0..24).map(line).collect();
        let svg = lines("years-x", "Title", &["2018", "2019"].map(str::to_owned), &all, String::new()).svg;
        let in_legend = svg.lines().filter(|line| line.contains("m10 0"));
        let looks = in_legend.filter_map(|line| Some((line.split('"').nth(1)?, line.split("m10 0").nth(1)?)));
        assert_eq!(looks.collect::<std::collections::BTreeSet<_>>().len(), 24, "{svg}");
    }
}
