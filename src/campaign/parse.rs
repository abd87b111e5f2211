//! Parses the text of campaign.toml, which may be of an archive of others.

use mcc_base::suggest::at_line;
use mcc_base::text::line_of_byte;
use serde::de::DeserializeOwned;

/// Size limit of the text: the parser needs up to 75 times as much memory. A campaign with thousands of models has a
/// tenth of it.
const MAX_BYTES: usize = 4 << 20;

/// Parses the text of a campaign.
///
/// # Errors
/// It is too long, or not what is expected. The error is the line, from 1, and the problem.
pub(crate) fn campaign<T: DeserializeOwned>(text: &str) -> Result<T, (usize, String)> {
    if text.len() > MAX_BYTES {
        let problem =
            format!("the campaign is longer than {MAX_BYTES} bytes; check that it is the right file");
        return Err((1, problem));
    }
    toml::from_str(text).map_err(|error: toml::de::Error| {
        let line = line_of_byte(text.as_bytes(), error.span().map_or(0, |span| span.start));
        (line, at_line(text, line, &error.message().replace('\n', " ")))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Publication;
    use crate::benchkit::FailureClasses;

    #[test]
    fn a_text_that_needs_gigabytes_of_memory_is_not_parsed() {
        let text = format!("x = [{}]", "1,".repeat(MAX_BYTES / 2));
        let long = "is longer than 4194304 bytes";
        assert!(campaign::<toml::Table>(&text).unwrap_err().1.contains(long));
        assert!(campaign::<toml::Table>(&text[..30]).unwrap_err().1.contains("array"));
        let (line, message) = Publication::of_text(&text).unwrap_err();
        assert!(line == 1 && message.contains(long), "{message}");
        let problem = FailureClasses::of_campaign(&text).unwrap_err();
        assert!(problem.starts_with("line 1: ") && problem.contains(long), "{problem}");
    }
}
