//! Parses start tags of the common form in one pass.

/// Positions of names and values of attributes in the content of a tag, if all have the common form: at most `MOST`,
/// `name="value"`, no entity in a value.
#[derive(Clone, Copy, Default)]
pub(super) struct FastAttributes {
    pairs: [[u32; 4]; FastAttributes::MOST],
    count: usize,
}

impl FastAttributes {
    const MOST: usize = 6;

    pub fn pairs<'a>(&self, content: &'a str) -> impl Iterator<Item = (&'a str, &'a str)> {
        self.pairs[..self.count].iter().map(|[name, equals, value, end]| {
            (&content[*name as usize..*equals as usize], &content[*value as usize..*end as usize])
        })
    }
}

/// A start tag of the common form.
pub(super) struct FastTag {
    /// Bytes of the name.
    pub name: usize,
    /// Bytes of the content between the brackets.
    pub content: usize,
    /// Bytes of the tag.
    pub length: usize,
    /// Number of line ends in it.
    pub lines: u64,
    pub empty: bool,
    pub plain: FastAttributes,
}

impl FastTag {
    /// Parses the tag at the start of `text`. None if it has another form, is not well-formed or is incomplete: the slow
    /// path then reads it.
    pub fn of(text: &str) -> Option<Self> {
        // Without the colon: the slow path reads and checks names with a prefix.
        const NAME: u8 = 1;
        /// Ends a value, or is not allowed in one of the common form.
        const STOP: u8 = 2;
        const BLANK: u8 = 4;
        static SORT: [u8; 256] = {
            let mut sorts = [0; 256];
            let mut at = 0;
            while at < 256 {
                let byte = at as u8;
                if byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.') {
                    sorts[at] |= NAME;
                }
                if byte < b' ' || matches!(byte, b'"' | b'\'' | b'&' | b'<') {
                    sorts[at] |= STOP;
                }
                if matches!(byte, b' ' | b'\n' | b'\t' | b'\r') {
                    sorts[at] |= BLANK;
                }
                at += 1;
            }
            sorts
        };
        // Positions fit into 32 bits: longer tags are left to the slow path.
        let bytes = text.as_bytes().strip_prefix(b"<")?;
        let bytes = &bytes[..bytes.len().min(1 << 16)];
        let run = |from: usize, sort: u8, wanted: bool| -> usize {
            let mut at = from;
            while at < bytes.len() && (SORT[bytes[at] as usize] & sort != 0) == wanted {
                at += 1;
            }
            at
        };
        if !bytes.first()?.is_ascii_alphabetic() {
            return None;
        }
        let name = run(0, NAME, true);
        let mut plain = FastAttributes::default();
        let (mut at, mut lines) = (name, 0);
        loop {
            let begins = run(at, BLANK, true);
            lines += bytes[at..begins].iter().filter(|byte| **byte == b'\n').count() as u64;
            let empty = match bytes.get(begins..)? {
                [] => return None,
                [b'>', ..] => Some(false),
                [b'/', b'>', ..] => Some(true),
                _ => None,
            };
            if let Some(empty) = empty {
                // Both brackets and the slash.
                let length = begins + 2 + usize::from(empty);
                return Some(Self { name, content: begins, length, lines, empty, plain });
            }
            let equals = run(begins, NAME, true);
            let [b'=', quote @ (b'"' | b'\''), ..] = bytes.get(equals..)? else { return None };
            let mut end = run(equals + 2, STOP, false);
            // The other quote is part of the value.
            while bytes.get(end).is_some_and(|byte| byte != quote && matches!(byte, b'"' | b'\'')) {
                end = run(end + 1, STOP, false);
            }
            if begins == at
                || equals == begins
                || bytes.get(end)? != quote
                || plain.count == FastAttributes::MOST
            {
                return None;
            }
            let known = &plain.pairs[..plain.count];
            let same =
                |[name, end, ..]: &[u32; 4]| bytes[*name as usize..*end as usize] == bytes[begins..equals];
            if known.iter().any(same) {
                return None;
            }
            plain.pairs[plain.count] = [begins, equals, equals + 2, end].map(|at| at as u32);
            plain.count += 1;
            at = end + 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_tags_of_the_common_form_take_the_fast_path() {
        let text = "<arc id=\"a1\"\n source='p' x-target=\"t>'\" />rest";
        let tag = FastTag::of(text).unwrap();
        assert_eq!((tag.name, tag.lines, tag.empty, &text[tag.length..]), (3, 1, true, "rest"));
        let pairs: Vec<_> = tag.plain.pairs(&text[1..]).collect();
        assert_eq!(pairs, [("id", "a1"), ("source", "p"), ("x-target", "t>'")]);
        for other in [
            "<arc id=\"a1\"",
            "<arc id=\"a&amp;\">",
            "<arc id=1>",
            "<arc x:id='1'>",
            "<x:arc>",
            "<arc a='1'a='2'>",
            "<é>",
            "<!-- -->",
            "&arc>",
        ] {
            assert!(FastTag::of(other).is_none(), "{other}");
        }
    }
}
