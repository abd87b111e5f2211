//! A stream from the machine into a file, kept whole up to a cap and counted beyond it.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;

pub struct Sink {
    from: UnixStream,
    /// None once writing failed: the stream is still emptied, so that the guest does not block.
    to: Option<File>,
    cap: u64,
    received: u64,
    open: bool,
}

/// What one look at the stream brought.
#[derive(Debug, PartialEq, Eq)]
pub enum ReadResult {
    Nothing,
    Some,
    /// The cap was passed for the first time.
    Full,
    Closed,
}

impl Sink {
    /// `from` must be non-blocking.
    pub fn new(from: UnixStream, to: File, cap: u64) -> Self {
        Self { from, to: Some(to), cap, received: 0, open: true }
    }

    pub fn stream(&self) -> &UnixStream {
        &self.from
    }

    /// False after the other end was closed.
    pub fn is_open(&self) -> bool {
        self.open
    }

    /// Bytes that arrived, kept or not.
    pub fn received(&self) -> u64 {
        self.received
    }

    /// Takes what is there, at most one buffer of it.
    ///
    /// # Errors
    /// Writing to the file failed (disk full, I/O error); later calls go on emptying the stream.
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
                // A reset by a killed QEMU: the same as its end.
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
    fn output_is_kept_whole_up_to_the_cap_and_counted_beyond_it() {
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
