//! Data of pages: scripts that call one function with JSON, because browsers load no JSON files from `file://`.

use serde::Serialize;
use serde_json::ser::{CompactFormatter, Formatter};
use std::io::{self, Write};

/// The script `function(data);`. `<`, `>` and `&` in its texts are escaped: it can be part of an HTML page too.
pub fn call(function: &str, data: &impl Serialize) -> Vec<u8> {
    let mut file = format!("{function}(").into_bytes();
    let mut json = serde_json::Serializer::with_formatter(&mut file, Escaped(CompactFormatter));
    data.serialize(&mut json).expect("keys are text, and writing to memory cannot fail");
    file.extend_from_slice(b");\n");
    file
}

struct Escaped(CompactFormatter);

impl Formatter for Escaped {
    fn write_string_fragment<W: ?Sized + Write>(&mut self, writer: &mut W, fragment: &str) -> io::Result<()> {
        let mut rest = fragment;
        while let Some(at) = rest.find(['<', '>', '&', '\u{2028}', '\u{2029}']) {
            let c = rest[at..].chars().next().unwrap_or_default();
            write!(writer, "{}\\u{:04x}", &rest[..at], u32::from(c))?;
            rest = &rest[at + c.len_utf8()..];
        }
        self.0.write_string_fragment(writer, rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_data_ends_a_script() {
        let file = call("mcc_x", &["</script><!--&\u{2028}é\"\\\u{0}"]);
        let file = String::from_utf8(file).expect("UTF-8");
        assert_eq!(file, "mcc_x([\"\\u003c/script\\u003e\\u003c!--\\u0026\\u2028é\\\"\\\\\\u0000\"]);\n");
    }

    proptest::proptest! {
        #[test]
        fn data_are_read_as_they_were_written(text in ".{0,200}") {
            let file = String::from_utf8(call("f", &text)).expect("UTF-8");
            let json = file.strip_prefix("f(").and_then(|rest| rest.strip_suffix(");\n")).expect("a call");
            proptest::prop_assert_eq!(serde_json::from_str::<String>(json).expect("JSON"), text);
            proptest::prop_assert!(!json.contains(['<', '>', '&']));
        }
    }
}
