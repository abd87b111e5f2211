//! The samples of an attempt: a gzipped CSV file in the folder of its outputs. 3,600 samples take about 60 KB, too much for a
//! database of a million runs.

use super::{Sample, StoreError};
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use mcc_base::OnFile;
use std::fs::File;
use std::io::{self, BufWriter, Read};
use std::path::Path;

/// Name of the file, in the folder of the outputs.
pub const FILE: &str = "samples.csv.gz";

/// Writes samples to `folder`; without samples no file is written.
pub(super) fn write(samples: &[Sample], folder: &Path) -> Result<(), StoreError> {
    if samples.is_empty() {
        return Ok(());
    }
    let path = folder.join(FILE);
    let written = || -> io::Result<()> {
        let file = BufWriter::new(File::create(&path)?);
        let mut rows = csv::Writer::from_writer(GzEncoder::new(file, Compression::default()));
        samples.iter().try_for_each(|sample| rows.serialize(sample))?;
        let compressed = rows.into_inner().map_err(csv::IntoInnerError::into_error)?;
        compressed.finish()?.into_inner().map_err(std::io::IntoInnerError::into_error).map(drop)
    };
    Ok(written().on("write", &path)?)
}

/// Most samples of an attempt: one per second in a month. A compressed file of some MB could have billions.
const MAX_SAMPLES: usize = 31 * 24 * 3600;

/// Longest row in bytes: numbers of 20 digits.
const MAX_ROW: usize = 256;

/// Passes rows of numbers on. An endless row or quoted text would be kept in memory, and empty rows would not be counted.
struct Rows<R> {
    source: R,
    /// The length of the row so far.
    row: usize,
}

impl<R: Read> Read for Rows<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.source.read(buffer)?;
        for byte in &buffer[..read] {
            let is_end = *byte == b'\n';
            if matches!(byte, b'"' | b'\r') || self.row == MAX_ROW || is_end && self.row == 0 {
                return Err(io::Error::other("a row is not one of samples"));
            }
            self.row = if is_end { 0 } else { self.row + 1 };
        }
        Ok(read)
    }
}

/// Reads the content of the file.
pub(super) fn read(content: impl Read) -> io::Result<Vec<Sample>> {
    let mut rows = csv::Reader::from_reader(Rows { source: GzDecoder::new(content), row: 0 });
    // `into_deserialize` ignores an error in the header.
    rows.headers()?;
    let mut samples = Vec::new();
    for sample in rows.into_deserialize() {
        let sample: Sample = sample?;
        sample.check().map_err(io::Error::other)?;
        if samples.len() == MAX_SAMPLES {
            return Err(io::Error::other(format!("it has more than {MAX_SAMPLES} samples")));
        }
        samples.push(sample);
    }
    Ok(samples)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_without_end_are_refused_where_they_begin() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(FILE);
        let header = "at_ms,cpu_ms,memory_kib,balloon_memory_kib,host_memory_kib,io_wait_ms,runnable,stdout_bytes,instructions_user,instructions_kernel\n";
        for (start, endless) in [("", "1"), ("\"", "1\n"), ("", "\n"), ("", "\r"), ("1", "0")] {
            let mut gzip = GzEncoder::new(File::create(&path).unwrap(), Compression::fast());
            io::Write::write_all(&mut gzip, [header, start, &endless.repeat(1 << 16)].concat().as_bytes())
                .unwrap();
            // Without an end: what follows is not read.
            drop(gzip.finish().unwrap());
            File::options()
                .append(true)
                .open(&path)
                .unwrap()
                .set_len(path.metadata().unwrap().len() - 8)
                .unwrap();
            let error = read(File::open(&path).unwrap()).unwrap_err().to_string();
            assert!(error.contains("a row is not one of samples"), "{error}");
        }
    }

    #[test]
    fn an_hour_of_samples_takes_less_than_80_kb() {
        let samples: Vec<Sample> = (1..=3600_u64)
            .map(|second| Sample {
                // Compresses about as well as real samples.
                at_ms: second * 1000 + second * 7919 % 13,
                cpu_ms: second * 998 + second * 104_729 % 29,
                memory_kib: 50_000 + second * second * 31 % 8_000_000,
                balloon_memory_kib: Some(150_000 + second * second * 37 % 8_000_000),
                host_memory_kib: 700_000 + second * 2_300,
                io_wait_ms: second / 50 * 10,
                runnable: 1 + (second % 3) as u32,
                stdout_bytes: second / 60 * 80,
                instructions_user: None,
                instructions_kernel: None,
            })
            .collect();
        let folder = tempfile::tempdir().unwrap();
        write(&samples, folder.path()).unwrap();
        let path = folder.path().join(FILE);
        let bytes = path.metadata().unwrap().len();
        assert!(bytes < 80_000, "{bytes}");
        assert_eq!(read(File::open(&path).unwrap()).unwrap(), samples);
        // Same input, same bytes.
        let first = std::fs::read(&path).unwrap();
        write(&samples, folder.path()).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), first);
    }
}
