//! `GenericPropertiesVerdict.xml`: what is known of a model's structure and behaviour.

use super::property::{line_of, missing};
use super::{ModelError, Problem};
use roxmltree::Document;

/// One verdict: SAFE true, DEADLOCK unknown, ...
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// `SAFE`, `ORDINARY`, ... as written.
    pub property: String,
    /// None = unknown.
    pub holds: Option<bool>,
    pub line: u64,
}

pub(super) fn read_verdicts(text: &str, file: &str) -> Result<Vec<Verdict>, ModelError> {
    let at = |line: u32, problem| ModelError { file: file.to_owned(), line: line.into(), problem };
    let document = Document::parse(text).map_err(|e| at(e.pos().row, Problem::Malformed(e.to_string())))?;
    let mut verdicts = Vec::new();
    for node in document.descendants().filter(|node| node.tag_name().name() == "verdict") {
        let line = line_of(node);
        let (Some(property), Some(value)) = (node.attribute("reference"), node.attribute("value")) else {
            return Err(at(line, missing(node, "the attributes reference and value").1));
        };
        let holds = match value {
            "true" => Some(true),
            "false" => Some(false),
            "unknown" => None,
            _ => {
                let expected = "a value of true, false or unknown".to_owned();
                return Err(at(
                    line,
                    Problem::Unexpected { found: format!("verdict value=\"{value}\""), expected },
                ));
            }
        };
        verdicts.push(Verdict { property: property.to_owned(), holds, line: line.into() });
    }
    Ok(verdicts)
}
