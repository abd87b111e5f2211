//! The columns of the tables of a judgement of SV-COMP and CRV. `write` takes its headers from here, and so does the
//! description of the judgement for other programs.

use mcc_judge::schema::Table;
use mcc_judge::table;

/// `scores.csv` of SV-COMP
pub const SCORES: Table = table! {
    "scores.csv": "the points of each entry by category; normalized: points divided by the number of tasks";
    tool, category, right: Count, wrong: Count, unjudged: Count, points: Exact, normalized: Exact, unconfirmed: Count,
        success_cpu_s: Exact in "s", note;
    key tool, category; entry tool
};

/// `scores.csv` of CRV
pub const SCORES_OF_CRV: Table = table! {
    "scores.csv": "the points of each entry by track, and their parts";
    tool, category, right: Count, wrong: Count, unjudged: Count, points: Exact, normalized: Exact, unconfirmed: Count,
        correctness: Exact, overhead: Exact, memory: Exact, success_cpu_s: Exact in "s", note;
    key tool, category; entry tool
};

/// `podiums.csv`
pub const PODIUMS: Table = table! {
    "podiums.csv": "the places of each category";
    category, rank: Count, tool, variant, points: Exact, medal, success_cpu_s: Exact in "s", note;
    key category, tool; entry tool
};

/// `verdicts.csv` of SV-COMP. Result files can repeat a task, so that nothing identifies a row.
pub const VERDICTS: Table = table! {
    "verdicts.csv":
        "the verdict on each run; measured: CPU time in s (cpu_s) and memory in millions of bytes (memory_mb)";
    category, instance, property, expected, tool, answer, verdict, points: Exact, measured, why;
    entry tool
};

/// `verdicts.csv` of CRV
pub const VERDICTS_OF_CRV: Table = table! {
    "verdicts.csv":
        "the verdict on each benchmark, and the parts of its points; measured: execution time in s \
         (time_s) and memory in megabytes (memory_mb)";
    category, instance, property, expected, tool, answer, verdict, points: Exact, correctness: Exact, overhead: Exact,
        memory: Exact, measured, why;
    key category, instance, tool; entry tool
};

/// `quantiles.csv`
pub const QUANTILES: Table = table! {
    "quantiles.csv":
        "score-based quantile functions: the accumulated points x over the CPU time of the runs with points; with 0 \
         runs, x is the sum of the negative points";
    category, tool, runs: Count, x: Exact, cpu_s: Exact in "s";
    key category, tool, runs; entry tool
};

/// `recorded.csv`, which a judgement has only if the category in a result file contradicts a verdict.
pub const RECORDED: Table = table! {
    "recorded.csv": "the runs whose category in the result file (recorded) contradicts the verdict";
    category, instance, property, expected, tool, answer, recorded, verdict, points: Exact, why;
    entry tool
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crv::PARTS;

    #[test]
    fn keys_types_units_and_parts_are_columns_of_their_table() {
        let of_crv = [SCORES_OF_CRV, VERDICTS_OF_CRV];
        for table in [SCORES, PODIUMS, VERDICTS, QUANTILES, RECORDED].iter().chain(&of_crv) {
            let typed = table.types.iter().map(|(name, _)| *name);
            let with_unit = table.units.iter().map(|(name, _)| *name);
            for name in table.key.iter().copied().chain(typed).chain([table.entry]).chain(with_unit) {
                assert!(table.columns.contains(&name), "{}: {name}", table.file);
            }
        }
        for table in of_crv {
            assert!(table.columns.windows(3).any(|columns| columns == PARTS), "{}", table.file);
        }
    }
}
