//! Reads the traces that verifypn (TAPAAL) prints with `--trace` for P/T nets and unfolded coloured nets.

use crate::{FileError, MAX_FILE_BYTES, Run, Step};
use mcc_model::{ColourName, document};
use roxmltree::{Document, Node};

/// Reads the first `<trace>` in an output of verifypn. Tokens and indices are ignored: the checker fires the transitions.
/// `<loop/>` begins the loop of an infinite run.
///
/// # Errors
/// There is no well-formed trace, or it has an unknown element.
pub fn read_trace(output: &str) -> Result<Run, FileError> {
    if output.len() as u64 > MAX_FILE_BYTES {
        return Err(FileError::TooLong);
    }
    let no_trace = || FileError::Syntax { line: 1, problem: "there is no <trace>...</trace>".to_owned() };
    let start = output.find("<trace>").ok_or_else(no_trace)?;
    let end = start + output[start..].find("</trace>").ok_or_else(no_trace)? + "</trace>".len();
    let before = output[..start].matches('\n').count();
    let at = |row: u32, problem: String| FileError::Syntax { line: before + row as usize, problem };
    let document = document(&output[start..end], "the trace")
        .map_err(|error| at(error.line as u32, error.problem.to_string()))?;
    read(&document).map_err(|node| {
        let row = document.text_pos_at(node.range().start).row;
        at(row, format!("<{}> is unknown here, or lacks its id", node.tag_name().name()))
    })
}

fn read<'a>(document: &'a Document<'a>) -> Result<Run, Node<'a, 'a>> {
    let mut run = Run::default();
    for node in document.root_element().children().filter(Node::is_element) {
        match node.tag_name().name() {
            "transition" => {
                let mut step = Step::from(node.attribute("id").ok_or(node)?);
                for inside in node.children().filter(Node::is_element) {
                    match inside.tag_name().name() {
                        "token" => {}
                        "bindings" => {
                            for variable in inside.children().filter(Node::is_element) {
                                let id = variable.attribute("id").ok_or(variable)?.to_owned();
                                let colour =
                                    variable.children().find(Node::is_element).and_then(|c| c.text());
                                let colour = colour.ok_or(variable)?.trim().to_owned();
                                step.binding.insert(id, ColourName::Simple(colour));
                            }
                        }
                        _ => return Err(inside),
                    }
                }
                run.steps.push(step);
            }
            "loop" => run.loop_start = Some(run.steps.len()),
            // The run ends in a deadlock, which the checker sees itself.
            "deadlock" | "token" => {}
            _ => return Err(node),
        }
    }
    Ok(run)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trace_of_verifypn_is_read() {
        let trace = "Query is satisfied.\nTrace:\n<trace>\n\t<transition id=\"t0\" index=\"3\">\n\t\t<token place=\"p0\" age=\"0\"/>\n\
                     \t</transition>\n\t<loop/>\n\t<transition id=\"t1\"><bindings><variable id=\"x\"><color>c1</color></variable>\
                     </bindings></transition>\n</trace>\n";
        let run = read_trace(trace).unwrap();
        assert_eq!((run.steps.len(), run.loop_start), (2, Some(1)));
        assert_eq!(run.steps[0], Step::from("t0"));
        assert_eq!(run.steps[1].binding["x"].to_string(), "c1");
        for (part, wrong, message) in [
            ("<token place", "<tokens place", "line 5: <tokens> is unknown here"),
            ("<trace>", "<race>", "there is no <trace>"),
            ("</variable>", "", "line 8: "),
            ("id=\"t0\"", "", "line 4: <transition> is unknown here, or lacks its id"),
        ] {
            let error = read_trace(&trace.replacen(part, wrong, 1)).unwrap_err().to_string();
            assert!(error.contains(message), "{error}\nexpected: {message}");
        }
    }
}
