//! The columns of the tables of a judgement of SV-COMP and CRV. `write` takes its headers from here, and so does the
//! description of the judgement for other programs.

use mcc_judge::schema::{NO_COLUMNS, Table};

/// `scores.csv` of SV-COMP
pub const SCORES: Table = Table {
    file: "scores.csv",
    about: "the points of each entry by category; normalized: points divided by the number of tasks",
    columns: &[
        "tool",
        "category",
        "right",
        "wrong",
        "unjudged",
        "points",
        "normalized",
        "unconfirmed",
        "success_cpu_s",
        "note",
    ],
    counts: &["right", "wrong", "unjudged", "unconfirmed"],
    exact: &["points", "normalized", "success_cpu_s"],
    units: &[("success_cpu_s", "s")],
    key: &["tool", "category"],
    entry: "tool",
    ..NO_COLUMNS
};

/// `scores.csv` of CRV
pub const SCORES_OF_CRV: Table = Table {
    about: "the points of each entry by track, and their parts",
    columns: &[
        "tool",
        "category",
        "right",
        "wrong",
        "unjudged",
        "points",
        "normalized",
        "unconfirmed",
        "correctness",
        "overhead",
        "memory",
        "success_cpu_s",
        "note",
    ],
    exact: &["points", "normalized", "correctness", "overhead", "memory", "success_cpu_s"],
    ..SCORES
};

/// `podiums.csv`
pub const PODIUMS: Table = Table {
    file: "podiums.csv",
    about: "the places of each category",
    columns: &["category", "rank", "tool", "variant", "points", "medal", "success_cpu_s", "note"],
    counts: &["rank"],
    exact: &["points", "success_cpu_s"],
    units: &[("success_cpu_s", "s")],
    key: &["category", "tool"],
    entry: "tool",
    ..NO_COLUMNS
};

/// `verdicts.csv` of SV-COMP. Result files can repeat a task, so that nothing identifies a row.
pub const VERDICTS: Table = Table {
    file: "verdicts.csv",
    about: "the verdict on each run; measured: CPU time in s (cpu_s) and memory in millions of bytes (memory_mb)",
    columns: &[
        "category", "instance", "property", "expected", "tool", "answer", "verdict", "points", "measured",
        "why",
    ],
    exact: &["points"],
    entry: "tool",
    ..NO_COLUMNS
};

/// `verdicts.csv` of CRV
pub const VERDICTS_OF_CRV: Table = Table {
    about: "the verdict on each benchmark, and the parts of its points; measured: execution time in s \
            (time_s) and memory in megabytes (memory_mb)",
    columns: &[
        "category",
        "instance",
        "property",
        "expected",
        "tool",
        "answer",
        "verdict",
        "points",
        "correctness",
        "overhead",
        "memory",
        "measured",
        "why",
    ],
    exact: &["points", "correctness", "overhead", "memory"],
    key: &["category", "instance", "tool"],
    ..VERDICTS
};

/// `quantiles.csv`
pub const QUANTILES: Table = Table {
    file: "quantiles.csv",
    about: "score-based quantile functions: the accumulated points x over the CPU time of the runs with points; with 0 runs, \
            x is the sum of the negative points",
    columns: &["category", "tool", "runs", "x", "cpu_s"],
    counts: &["runs"],
    exact: &["x", "cpu_s"],
    units: &[("cpu_s", "s")],
    key: &["category", "tool", "runs"],
    entry: "tool",
    ..NO_COLUMNS
};

/// `recorded.csv`, which a judgement has only if the category in a result file contradicts a verdict.
pub const RECORDED: Table = Table {
    file: "recorded.csv",
    about: "the runs whose category in the result file (recorded) contradicts the verdict",
    columns: &[
        "category", "instance", "property", "expected", "tool", "answer", "recorded", "verdict", "points",
        "why",
    ],
    exact: &["points"],
    entry: "tool",
    ..NO_COLUMNS
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crv::PARTS;

    #[test]
    fn keys_types_units_and_parts_are_columns_of_their_table() {
        let of_crv = [SCORES_OF_CRV, VERDICTS_OF_CRV];
        for table in [SCORES, PODIUMS, VERDICTS, QUANTILES, RECORDED].iter().chain(&of_crv) {
            let typed = [table.key, table.counts, table.exact, &[table.entry]].concat();
            let with_unit = table.units.iter().map(|(name, _)| *name);
            for name in typed.into_iter().chain(with_unit) {
                assert!(table.columns.contains(&name), "{}: {name}", table.file);
            }
        }
        for table in of_crv {
            assert!(table.columns.windows(3).any(|columns| columns == PARTS), "{}", table.file);
        }
    }
}
