//! Generates inputs of any size, with or without real data; the same seed gives the same input.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// SplitMix64.
pub struct Rng(pub u64);

impl Rng {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }
}

fn create(path: &Path) -> io::Result<BufWriter<File>> {
    Ok(BufWriter::with_capacity(1 << 18, File::create(path)?))
}

/// The content of a generated log.
pub struct Log {
    /// The number of lines that begin with `FORMULA ` or `STATE_SPACE `.
    pub results: u64,
    /// For each id: its last value, and the first line of the last equal results, for the 16 ids `Synthetic-PT-1-CTLCardinality-dd`.
    pub last: Vec<Option<(bool, u64)>>,
}

/// The property ids of a generated log.
pub fn ids() -> Vec<String> {
    (0..16).map(|n| format!("Synthetic-PT-1-CTLCardinality-{n:02}")).collect()
}

/// Writes a log of at least that many bytes: lines of real tools in random order; one in `every` lines is a result.
pub fn log(real_output: &Path, bytes: u64, every: usize, seed: u64, to: &Path) -> io::Result<Log> {
    let (mut noise, mut tails) = (Vec::new(), Vec::new());
    let mut files: Vec<PathBuf> = Vec::new();
    for tool in std::fs::read_dir(real_output)? {
        let tool = tool?.path();
        if tool.is_dir() {
            files.extend(
                std::fs::read_dir(tool)?
                    .map(|file| file.map(|file| file.path()))
                    .collect::<Result<Vec<_>, _>>()?,
            );
        }
    }
    files.sort();
    for file in files {
        for line in String::from_utf8_lossy(&std::fs::read(file)?).lines() {
            match line.strip_prefix("FORMULA ").and_then(|rest| rest.split_once(' ')) {
                Some((_, tail)) => {
                    tails.extend(tail.split_once(" TECHNIQUES ").map(|(_, words)| words.to_owned()));
                }
                None if line.contains("STATE_SPACE") => {}
                None => noise.push(line.to_owned()),
            }
        }
    }
    let (mut rng, ids) = (Rng(seed), ids());
    let mut out = create(to)?;
    let mut log = Log { results: 0, last: vec![None; ids.len()] };
    let (mut written, mut line) = (0, 0);
    while written < bytes {
        line += 1;
        let text = if rng.below(every) == 0 {
            let (at, value) = (rng.below(ids.len()), rng.below(2) == 0);
            log.results += 1;
            if log.last[at].is_none_or(|(before, _)| before != value) {
                log.last[at] = Some((value, line));
            }
            let word = if value { "TRUE" } else { "FALSE" };
            format!("FORMULA {} {word} TECHNIQUES {}\n", ids[at], tails[rng.below(tails.len())])
        } else {
            format!("{}\n", noise[rng.below(noise.len())])
        };
        out.write_all(text.as_bytes())?;
        written += text.len() as u64;
    }
    out.flush()?;
    Ok(log)
}

/// The size of a net.
#[derive(Debug, PartialEq, Eq)]
pub struct Size {
    pub places: usize,
    pub transitions: usize,
    pub arcs: usize,
}

/// Writes a P/T net of at least that many bytes in the style of the contest's large ones: names, graphics of nodes, twelve
/// arcs per transition. Every transition has a tool-specific section of `padding` bytes, which is no part of the net.
pub fn net(bytes: u64, padding: usize, seed: u64, to: &Path) -> io::Result<Size> {
    const ARCS: usize = 12;
    let mut out = create(to)?;
    writeln!(
        out,
        "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<pnml xmlns=\"http://www.pnml.org/version-2009/grammar/pnml\">\n  \
         <net id=\"Synthetic-PT-1\" type=\"http://www.pnml.org/version-2009/grammar/ptnet\">\n    <page id=\"page\">"
    )?;
    // The approximate bytes of a transition with its arcs and its place.
    let count = (bytes as usize).div_ceil(400 + ARCS * 62 + padding).max(1);
    let mut rng = Rng(seed);
    let section = "<a b=\"1\">tool</a>".repeat(padding.div_ceil(17));
    for n in 0..count {
        let (x, y) = (rng.below(9000), rng.below(9000));
        writeln!(
            out,
            "      <place id=\"p{n}\">\n        <name>\n          <text>p{n}</text>\n        </name>\n        <graphics>\n          \
             <position x=\"{x}\" y=\"{y}\"/>\n        </graphics>\n        <initialMarking>\n          \
             <text>{}</text>\n        </initialMarking>\n      </place>",
            rng.below(5)
        )?;
        write!(out, "      <transition id=\"t{n}\"><name><text>t{n}</text></name>")?;
        if padding > 0 {
            write!(out, "<toolspecific tool=\"x\" version=\"1\">{section}</toolspecific>")?;
        }
        writeln!(out, "</transition>")?;
    }
    for n in 0..count * ARCS {
        let (transition, place) = (n / ARCS, (n * 7919 + n / ARCS) % count);
        let ends = [format!("p{place}"), format!("t{transition}")];
        let (source, target) = if n % 2 == 0 { (&ends[0], &ends[1]) } else { (&ends[1], &ends[0]) };
        write!(out, "      <arc id=\"arcId{n}\" source=\"{source}\" target=\"{target}\"")?;
        match rng.below(8) {
            0 => writeln!(out, ">\n        <inscription><text>2</text></inscription>\n      </arc>")?,
            _ => writeln!(out, "/>")?,
        }
    }
    writeln!(out, "    </page>\n  </net>\n</pnml>")?;
    out.flush()?;
    Ok(Size { places: count, transitions: count, arcs: count * ARCS })
}
