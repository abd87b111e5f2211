//! Base64 (RFC 4648, section 4), as the program `base64` writes it.

/// Reads bytes in base64; None if the text is not exactly what their encoding gives.
pub fn decode(text: &[u8]) -> Option<Vec<u8>> {
    let padding = text.iter().rev().take(2).take_while(|digit| **digit == b'=').count();
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    let (mut bits, mut pending) = (0_u32, 0);
    for digit in &text[..text.len() - padding] {
        bits = bits << 6 | u32::from(value(*digit)?);
        pending += 6;
        if pending >= 8 {
            pending -= 8;
            bytes.push((bits >> pending) as u8);
        }
    }
    let unused = bits & ((1 << pending) - 1);
    (text.len().is_multiple_of(4) && unused == 0).then_some(bytes)
}

/// The six bits of a digit.
fn value(digit: u8) -> Option<u8> {
    Some(match digit {
        b'A'..=b'Z' => digit - b'A',
        b'a'..=b'z' => digit - b'a' + 26,
        b'0'..=b'9' => digit - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_examples_of_the_standard_are_read() {
        let examples = [
            ("", ""),
            ("Zg==", "f"),
            ("Zm8=", "fo"),
            ("Zm9v", "foo"),
            ("Zm9vYg==", "foob"),
            ("Zm9vYmE=", "fooba"),
            ("Zm9vYmFy", "foobar"),
        ];
        for (text, bytes) in examples {
            assert_eq!(decode(text.as_bytes()).as_deref(), Some(bytes.as_bytes()), "{text}");
        }
        assert_eq!(decode(b"/+9/"), Some(vec![0xff, 0xef, 0x7f]));
    }

    #[test]
    fn other_texts_are_refused() {
        for text in ["Z", "Zg", "Zg=", "Zh==", "Zm9=", "Zg==Zg==", "=Zg=", "====", "Zm9v\n", "Zm9_", "Zm 9"] {
            assert_eq!(decode(text.as_bytes()), None, "{text}");
        }
    }
}
