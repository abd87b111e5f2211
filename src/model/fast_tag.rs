//! Start tags of the usual form, told apart in one pass.

/// Where names and values of a tag's attributes stand in its content, if all are of the usual form: few,
/// `name="value"`, nothing in a value to be resolved.
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

/// A start tag of the usual form.
pub(super) struct FastTag {
    /// Bytes of the name, of what stands between the brackets, and of all.
    pub name: usize,
    pub content: usize,
    pub length: usize,
    /// Lines that end in it.
    pub lines: u64,
    pub empty: bool,
    pub plain: FastAttributes,
}

impl FastTag {
    /// None where the general way must look, be it because something is wrong or not all is there.
    pub fn of(text: &str) -> Option<Self> {
        // Without the colon: names with a prefix go the general way, which checks them.
        const NAME: u8 = 1;
        /// Ends a value, or means that it is not plain.
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
        // Between the brackets; positions are small, for a longer tag is no usual one.
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
                // With both brackets, and the slash.
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
    fn usual_tags_go_the_short_way() {
        let text = "<arc id=\"a1\"\n source='p' x-target=\"t>'\" />rest";
        let tag = FastTag::of(text).unwrap();
        assert_eq!((tag.name, tag.lines, tag.empty, &text[tag.length..]), (3, 1, true, "rest"));
        let pairs: Vec<_> = tag.plain.pairs(&text[1..]).collect();
        assert_eq!(pairs, [("id", "a1"), ("source", "p"), ("x-target", "t>'")]);
        for unusual in [
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
            assert!(FastTag::of(unusual).is_none(), "{unusual}");
        }
    }
}
