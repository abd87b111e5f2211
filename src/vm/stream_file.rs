//! Copies a stream of the machine to a file up to a cap; bytes beyond the cap are only counted.

use mcc_base::budgets::LOG;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;

/// The first line of a log of which only the last `budgets::LOG` bytes are kept.
#[cfg(feature = "libvirt")]
pub const TRUNCATED_BEFORE: &str = "mcc-harness: the log is truncated before this line, at 1 MiB\n";

/// The last line of a log that was longer than `budgets::LOG`.
pub const TRUNCATED: &str = "\nmcc-harness: the log is truncated here, at 1 MiB\n";

/// A stream and the file that it is copied to.
pub struct Sink {
    from: UnixStream,
    /// None after a write has failed: the stream is still read, so that the guest does not block.
    to: Option<File>,
    cap: u64,
    /// Written after the last byte that is kept, if the stream is longer.
    notice: &'static str,
    received: u64,
    open: bool,
    /// Is called with each part of the stream as it is received, up to the cap.
    pub observer: Option<Observer>,
}

/// A function that observes a stream.
pub type Observer = Box<dyn FnMut(&[u8])>;

/// The result of one read of a stream.
#[derive(Debug, PartialEq, Eq)]
pub enum ReadResult {
    /// No bytes were available.
    Nothing,
    /// Bytes were read.
    Some,
    /// Bytes were read, and they exceed the cap for the first time.
    Full,
    /// The other end was closed.
    Closed,
}

impl Sink {
    /// `from` must be non-blocking. `cap`: the largest number of bytes to write to `to`.
    pub fn new(from: UnixStream, to: File, cap: u64) -> Self {
        Self { from, to: Some(to), cap, notice: "", received: 0, open: true, observer: None }
    }

    /// A log, which has at most `budgets::LOG` bytes and the line `TRUNCATED`. `from` must be non-blocking.
    pub fn log(from: UnixStream, to: File) -> Self {
        Self { notice: TRUNCATED, ..Self::new(from, to, LOG) }
    }

    /// The stream, to be polled.
    pub fn stream(&self) -> &UnixStream {
        &self.from
    }

    /// Whether the other end is open, as far as it was read.
    pub fn is_open(&self) -> bool {
        self.open
    }

    /// Returns the number of bytes that were received, written to the file or not.
    pub fn received(&self) -> u64 {
        self.received
    }

    /// Reads available bytes, at most one buffer, without waiting.
    ///
    /// # Errors
    /// A write to the file failed (disk full, I/O error). Later calls still read the stream.
    pub fn read_available(&mut self, buffer: &mut [u8]) -> io::Result<ReadResult> {
        let n = match self.from.read(buffer) {
            Ok(n) if n > 0 => n,
            Err(e) if e.kind() == io::ErrorKind::WouldBlock || e.kind() == io::ErrorKind::Interrupted => {
                return Ok(ReadResult::Nothing);
            }
            // An error, such as a reset by a killed QEMU, counts as the end of the stream.
            Ok(_) | Err(_) => {
                self.open = false;
                return Ok(ReadResult::Closed);
            }
        };
        let kept = self.cap.saturating_sub(self.received).min(n as u64) as usize;
        let was_full = self.received > self.cap;
        self.received += n as u64;
        let full = !was_full && self.received > self.cap;
        if let Some(observer) = &mut self.observer {
            observer(&buffer[..kept]);
        }
        if let Some(file) = &mut self.to {
            let notice = if full { self.notice } else { "" };
            let written = file.write_all(&buffer[..kept]).and_then(|()| file.write_all(notice.as_bytes()));
            if let Err(error) = written {
                self.to = None;
                return Err(error);
            }
        }
        Ok(if full { ReadResult::Full } else { ReadResult::Some })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcc_base::files::tail;
    use std::io::Seek;

    fn read_chunks(chunks: &[&[u8]], cap: u64) -> (Vec<ReadResult>, String, u64) {
        let (mut guest, host) = UnixStream::pair().unwrap();
        host.set_nonblocking(true).unwrap();
        let mut file = tempfile::tempfile().unwrap();
        let mut sink = Sink::new(host, file.try_clone().unwrap(), cap);
        let mut seen = vec![];
        for chunk in chunks {
            guest.write_all(chunk).unwrap();
            seen.push(sink.read_available(&mut [0; 64]).unwrap());
        }
        drop(guest);
        seen.push(sink.read_available(&mut [0; 64]).unwrap());
        let mut kept = String::new();
        file.rewind().unwrap();
        file.read_to_string(&mut kept).unwrap();
        (seen, kept, sink.received())
    }

    #[test]
    fn output_is_kept_up_to_the_cap_and_counted_beyond_it() {
        let (seen, kept, received) = read_chunks(&[b"12345", b"6789", b"more"], 7);
        assert_eq!(seen, [ReadResult::Some, ReadResult::Full, ReadResult::Some, ReadResult::Closed]);
        assert_eq!((kept.as_str(), received), ("1234567", 13));
    }

    #[test]
    fn a_log_is_cut_at_its_cap_and_its_end_is_read() {
        let (mut guest, host) = UnixStream::pair().unwrap();
        host.set_nonblocking(true).unwrap();
        let file = tempfile::NamedTempFile::new().unwrap();
        let mut log = Sink::log(host, file.reopen().unwrap());
        let mut buffer = vec![0; 1 << 16];
        for _ in 0..3 << 4 {
            guest.write_all(&buffer.clone()).unwrap();
            while log.read_available(&mut buffer).unwrap() != ReadResult::Nothing {}
        }
        assert_eq!(log.received(), 3 << 20);
        assert_eq!(file.as_file().metadata().unwrap().len(), LOG + TRUNCATED.len() as u64);
        assert_eq!(tail(file.path(), 7).unwrap(), b" 1 MiB\n");
        assert_eq!(tail(file.path(), 2 << 20).unwrap().len() as u64, LOG + TRUNCATED.len() as u64);
    }

    #[test]
    fn output_of_exactly_the_cap_is_not_cut() {
        let (seen, kept, _) = read_chunks(&[b"1234567"], 7);
        assert_eq!(seen, [ReadResult::Some, ReadResult::Closed]);
        assert_eq!(kept, "1234567");
    }
}
