//! Copies a stream of the machine to a file up to a cap; bytes beyond the cap are only counted.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;

/// A stream and the file that it is copied to.
pub struct Sink {
    from: UnixStream,
    /// None after a write has failed: the stream is still read, so that the guest does not block.
    to: Option<File>,
    cap: u64,
    received: u64,
    open: bool,
}

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
        Self { from, to: Some(to), cap, received: 0, open: true }
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
            Ok(0) => {
                self.open = false;
                return Ok(ReadResult::Closed);
            }
            Ok(n) => n,
            Err(e) if e.kind() == io::ErrorKind::WouldBlock || e.kind() == io::ErrorKind::Interrupted => {
                return Ok(ReadResult::Nothing);
            }
            Err(_) => {
                // Such as a reset by a killed QEMU: it counts as the end of the stream.
                self.open = false;
                return Ok(ReadResult::Closed);
            }
        };
        let kept = self.cap.saturating_sub(self.received).min(n as u64) as usize;
        let was_full = self.received > self.cap;
        self.received += n as u64;
        if let Some(file) = &mut self.to
            && let Err(error) = file.write_all(&buffer[..kept])
        {
            self.to = None;
            return Err(error);
        }
        Ok(if !was_full && self.received > self.cap { ReadResult::Full } else { ReadResult::Some })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
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
    fn output_of_exactly_the_cap_is_not_cut() {
        let (seen, kept, _) = read_chunks(&[b"1234567"], 7);
        assert_eq!(seen, [ReadResult::Some, ReadResult::Closed]);
        assert_eq!(kept, "1234567");
    }
}
