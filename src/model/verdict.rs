//! `GenericPropertiesVerdict.xml`: verdicts on the structure and behaviour of a model.

use super::property::{document, missing};
use super::{ModelError, Problem};

/// A verdict on a property: SAFE true, DEADLOCK unknown, ...
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GenericVerdict {
    /// The property as written: `SAFE`, `ORDINARY`, ...
    pub property: String,
    /// Whether the property holds; None: unknown.
    pub holds: Option<bool>,
    /// Its line in the file: 1, 2, ...
    pub line: u64,
}

pub(super) fn read_verdicts(text: &str, file: &str) -> Result<Vec<GenericVerdict>, ModelError> {
    let at = |line, problem| ModelError { file: file.to_owned(), line, problem };
    let document = document(text, file)?;
    let (mut line, mut counted) = (1, 0);
    let mut verdicts = Vec::new();
    for node in document.descendants().filter(|node| node.tag_name().name() == "verdict") {
        let start = node.range().start;
        line += text[counted..start].bytes().filter(|byte| *byte == b'\n').count() as u64;
        counted = start;
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
        verdicts.push(GenericVerdict { property: property.to_owned(), holds, line });
    }
    Ok(verdicts)
}
