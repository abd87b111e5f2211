//! Drawing of a picture: style sheet, axes, lines, points and legend.

use super::Picture;
use super::axis::Axis;
use crate::show::visible;
use mcc_model::escaped_xml;
use std::fmt::Write;

/// The style sheet of pictures. The colours c0 to c7 of lines and s0 to s3 of points are far apart in the light and the
/// dark scheme, also for readers who do not see red or green (a test computes it). Colour is never the only difference:
/// lines also have dashes and names, and points have shapes.
pub(crate) const STYLE: &str = ".plot{font:12px system-ui,-apple-system,'Segoe UI',Roboto,'Noto Sans','Liberation Sans',sans-serif;\
--b:#fff;--t:#1c2429;--s:#59646b;--g:#e3e0d8;\
--c0:#00a088;--c1:#f26500;--c2:#4500e1;--c3:#7a2e00;--c4:#420020;--c5:#4189ff;--c6:#066a95;--c7:#221180;\
--s0:#1f6fd0;--s1:#b35900;--s2:#3b1a5a;--s3:#7f8a91}\
@media(prefers-color-scheme:dark){.plot{--b:#1b2125;--t:#e6e8e6;--s:#a3aeb3;--g:#333c41;\
--c0:#8caadc;--c1:#cd713c;--c2:#6571d3;--c3:#d7de2a;--c4:#8443ff;--c5:#b2fcff;--c6:#e9bba2;--c7:#976a7c;\
--s0:#56b4e9;--s1:#e69f00;--s2:#f5f0ff;--s3:#6f7a80}}\
.plot .b{fill:var(--b)}.plot text{fill:var(--t)}.plot .s{fill:var(--s)}.plot .h{font-size:14px;font-weight:650}\
.plot .e{text-anchor:end}.plot .m{text-anchor:middle}\
.plot path{fill:none;stroke:var(--c);stroke-width:1.6;stroke-linejoin:round;stroke-linecap:round}\
.plot .g{stroke:var(--g);stroke-width:1}.plot .a{stroke:var(--s);stroke-width:1}\
.plot .l{stroke:var(--s);stroke-width:1;stroke-dasharray:2 4}\
.plot .p{stroke-width:3}.plot .r{stroke-width:9}.plot .o{--c:var(--g);stroke-width:9}.plot .k{stroke:var(--b);stroke-width:5}.plot .k+.k{stroke:var(--t);stroke-width:2}.plot .w{stroke-width:9;stroke-linecap:butt}.plot .f{fill:var(--c);stroke:none}\
.plot .d1{stroke-dasharray:6 4}.plot .d2{stroke-dasharray:1 4}\
.plot .c0{--c:var(--c0)}.plot .c1{--c:var(--c1)}.plot .c2{--c:var(--c2)}.plot .c3{--c:var(--c3)}\
.plot .c4{--c:var(--c4)}.plot .c5{--c:var(--c5)}.plot .c6{--c:var(--c6)}.plot .c7{--c:var(--c7)}\
.plot .s0{--c:var(--s0)}.plot .s1{--c:var(--s1)}.plot .s2{--c:var(--s2)}.plot .s3{--c:var(--s3)}\
.plot .q{stroke-width:1.4;fill:var(--c);fill-opacity:.3}.plot .ring{fill:none;stroke:var(--t);stroke-width:2}\
.plot .n{--c:var(--g)}.plot .t{--c:var(--t)}";

/// The CSS class of the line of entry `number`: its colour and its dashes. 24 lines differ.
pub(super) fn line_class(number: usize) -> String {
    match number % 3 {
        0 => colour_class(number),
        dashes => format!("{} d{dashes}", colour_class(number)),
    }
}

/// The CSS class of the colour of entry `number`.
pub(super) fn colour_class(number: usize) -> String {
    format!("c{}", number % 8)
}

pub(super) struct Drawing {
    width: i32,
    height: i32,
    body: String,
}

impl Drawing {
    pub fn new(width: i32, height: i32) -> Self {
        Self { width, height, body: String::new() }
    }

    /// Adds a text, which is escaped. CSS classes: `e` ends at x, `m` is centred at x, `s` has a soft colour.
    pub fn text(&mut self, (x, y): (i32, i32), class: &str, text: &str) {
        let class = if class.is_empty() { String::new() } else { format!(" class=\"{class}\"") };
        let _ =
            writeln!(self.body, "<text x=\"{x}\" y=\"{y}\"{class}>{}</text>", escaped_xml(&visible(text)));
    }

    /// Adds a path with SVG path data such as `M0 0h10`.
    pub fn path(&mut self, class: &str, data: &str) {
        if !data.is_empty() {
            let _ = writeln!(self.body, "<path class=\"{class}\" d=\"{data}\"/>");
        }
    }

    /// Adds a vertical axis at `left`: horizontal lines at its ticks, with their texts.
    pub fn upright(&mut self, axis: &Axis, (left, right): (i32, i32)) {
        let mut lines = String::new();
        for (y, text) in axis.ticks() {
            let _ = write!(lines, "M{left} {y}H{right}");
            self.text((left - 8, y + 4), "s e", &text);
        }
        self.path("g", &lines);
    }

    /// Adds a horizontal axis at `bottom`: vertical lines at its ticks, with their texts.
    pub fn level(&mut self, axis: &Axis, (top, bottom): (i32, i32)) {
        let (mut lines, mut free) = (String::new(), i32::MIN);
        for (x, text) in axis.ticks() {
            let _ = write!(lines, "M{x} {top}V{bottom}");
            // The width is an estimate. A text that would touch the previous one is left out.
            let half = text.chars().count() as i32 * 7 / 2;
            if x - half >= free {
                self.text((x, bottom + 18), "s m", &text);
                free = x + half + 4;
            }
        }
        self.path("g", &lines);
    }

    /// Adds a legend from `top` downwards: CSS class and name of each line.
    pub fn legend(&mut self, (x, top): (i32, i32), lines: &[(String, String)]) {
        for (number, (class, name)) in (0..).zip(lines) {
            let y = top + 18 * number;
            self.path(class, &format!("M{x} {}h20", y - 4));
            self.text((x + 27, y), "", &fitting(name, 24));
        }
    }

    /// Makes the picture. `name` is also the prefix of its ids, so that one page can have several pictures.
    pub fn finish(self, name: String, title: String, description: String, csv: String) -> Picture {
        let Self { width, height, body } = self;
        let (title, description) = (visible(&title), visible(&description));
        let (shown, described) = (escaped_xml(&title), escaped_xml(&description));
        let heading = escaped_xml(&fitting(&title, width as usize / 9));
        let svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"plot\" width=\"{width}\" height=\"{height}\" \
             viewBox=\"0 0 {width} {height}\" role=\"img\" aria-labelledby=\"{name}-t {name}-d\">\n\
             <title id=\"{name}-t\">{shown}</title>\n<desc id=\"{name}-d\">{described}</desc>\n\
             <style>{STYLE}</style>\n\
             <rect class=\"b\" width=\"{width}\" height=\"{height}\" rx=\"8\"/>\n\
             <text x=\"16\" y=\"25\" class=\"h\">{heading}</text>\n{body}</svg>\n"
        );
        Picture { name, title, description, svg, csv }
    }
}

/// The path data of a line through these pixels; points on a straight segment are left out.
pub(super) fn polyline(points: impl IntoIterator<Item = (i32, i32)>) -> String {
    let mut kept: Vec<(i32, i32)> = Vec::new();
    for point in points {
        match kept[..] {
            [.., last] if last == point => continue,
            [.., before, last] if straight(before, last, point) => drop(kept.pop()),
            _ => {}
        }
        kept.push(point);
    }
    let mut data = String::new();
    let mut from = (0, 0);
    for (number, &(x, y)) in kept.iter().enumerate() {
        match number {
            0 => drop(write!(data, "M{x} {y}l")),
            _ => drop(write!(data, "{} {} ", x - from.0, y - from.1)),
        }
        from = (x, y);
    }
    if kept.len() == 1 {
        data += "0 0";
    }
    data.trim_end().replace(" -", "-")
}

/// Whether `over` lies on the straight segment from `from` to `to`.
fn straight(from: (i32, i32), over: (i32, i32), to: (i32, i32)) -> bool {
    let (a, b) = ((over.0 - from.0, over.1 - from.1), (to.0 - over.0, to.1 - over.1));
    a.0 * b.1 == a.1 * b.0 && a.0 * b.0 + a.1 * b.1 > 0
}

/// The path data of points: one for each different pixel.
pub(super) fn points(pixels: impl IntoIterator<Item = (i32, i32)>) -> String {
    let mut pixels: Vec<(i32, i32)> = pixels.into_iter().map(|(x, y)| (y, x)).collect();
    pixels.sort_unstable();
    pixels.dedup();
    let mut data = String::new();
    let mut from = (0, 0);
    for (y, x) in pixels {
        let _ = write!(data, "m{} {}h0", x - from.0, y - from.1);
        from = (x, y);
    }
    data.replace(" -", "-")
}

/// The visible text, truncated to at most `most` characters.
pub(crate) fn fitting(text: &str, most: usize) -> String {
    let text = visible(text);
    if text.chars().count() > most { text.chars().take(most - 1).chain(['…']).collect() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_keeps_only_its_bends() {
        assert_eq!(polyline([(0, 0), (1, 1), (2, 2), (2, 2), (5, 2)]), "M0 0l2 2 3 0");
        // A line that turns back keeps its turning point.
        assert_eq!(polyline([(0, 9), (0, 1), (0, 5)]), "M0 9l0-8 0 4");
        assert_eq!(polyline([(3, 4)]), "M3 4l0 0");
        assert_eq!(polyline([]), "");
    }

    /// The linear red, green and blue of the colours whose names begin with `letter`, of the light and the dark scheme.
    fn colours(letter: char) -> [Vec<[f64; 3]>; 2] {
        let linear = |hex: &str| {
            let c = f64::from(u8::from_str_radix(hex, 16).unwrap()) / 255.0;
            if c <= 0.04045 { c / 12.92 } else { ((c + 0.055) / 1.055).powf(2.4) }
        };
        let (light, dark) = STYLE.split_once("@media").unwrap();
        [light, dark].map(|scheme| {
            let parts = scheme
                .split("--")
                .filter(|part| part.starts_with(letter) && part.as_bytes()[1].is_ascii_digit());
            parts
                .filter_map(|part| part.split_once(":#"))
                .map(|(_, hex)| [0, 2, 4].map(|at| linear(&hex[at..at + 2])))
                .collect()
        })
    }

    fn multiplied(matrix: [[f64; 3]; 3], v: [f64; 3]) -> [f64; 3] {
        matrix.map(|row| row.iter().zip(v).map(|(a, b)| a * b).sum::<f64>())
    }

    /// CIELAB with white D65.
    fn lab(rgb: [f64; 3]) -> [f64; 3] {
        let to_xyz = [[0.41246, 0.35758, 0.18044], [0.21267, 0.71515, 0.07218], [0.01933, 0.11919, 0.95030]];
        let [x, y, z] = multiplied(to_xyz, rgb.map(|c| c.clamp(0.0, 1.0)));
        let f = |t: f64| if t > 0.008856 { t.cbrt() } else { 7.787 * t + 16.0 / 116.0 };
        let [x, y, z] = [f(x / 0.95047), f(y), f(z / 1.08883)];
        [116.0 * y - 16.0, 500.0 * (x - y), 200.0 * (y - z)]
    }

    #[test]
    fn colours_differ_also_without_red_or_green_cones() {
        // Machado, Oliveira and Fernandes 2009, severity 1; Chromium simulates with the same numbers.
        let deuteranopia = [[0.367, 0.861, -0.228], [0.280, 0.673, 0.047], [-0.012, 0.043, 0.969]];
        let protanopia = [[0.152, 1.053, -0.205], [0.115, 0.786, 0.099], [-0.004, -0.048, 1.052]];
        let all = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
        for (letter, count, least) in [('c', 8, 25.0), ('s', 4, 30.0)] {
            for scheme in colours(letter) {
                assert_eq!(scheme.len(), count);
                for eyes in [all, deuteranopia, protanopia] {
                    let seen: Vec<[f64; 3]> =
                        scheme.iter().map(|&colour| lab(multiplied(eyes, colour))).collect();
                    for (number, a) in seen.iter().enumerate() {
                        for b in &seen[..number] {
                            let delta_e = a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt();
                            assert!(delta_e > least, "{letter}{number}: {delta_e} {a:?} {b:?}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn twenty_four_lines_have_different_classes() {
        let classes: std::collections::BTreeSet<String> = (0..24).map(line_class).collect();
        assert_eq!(classes.len(), 24);
    }

    #[test]
    fn points_on_the_same_pixel_are_drawn_once() {
        assert_eq!(points([(5, 7), (2, 7), (5, 7)]), "m2 7h0m3 0h0");
    }

    #[test]
    fn markup_in_names_is_escaped() {
        let picture =
            Drawing::new(9, 9).finish("a".into(), "<x> & \"y\"".into(), "</desc>".into(), String::new());
        assert!(picture.svg.contains("<title id=\"a-t\">&lt;x&gt; &amp; &quot;y&quot;</title>"));
        assert!(roxmltree::Document::parse(&picture.svg).is_ok());
    }
}
