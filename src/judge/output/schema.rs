//! The columns of the tables of a judgement of the MCC and of an archive: the one place with their names, types, units and
//! keys. The writers of the tables take their headers from here, and so does the description of an archive for other
//! programs.

use crate::input::source::NAMES_HEADER;
use crate::table_words::OVERRIDES_HEADER;
use mcc_campaign::benchkit::contest_table::HEADER;
use std::borrow::Cow;

/// The type of the values of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnType {
    /// Any text.
    Text,
    /// A whole number.
    Count,
    /// A number with a decimal point, such as `12.5`.
    Decimal,
    /// An exact number: `-7` or `16/3`.
    Exact,
    /// `yes` or `no`.
    YesNo,
}

/// A table. Its rows are different in the columns of `key`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Table {
    /// The name of its file.
    pub file: &'static str,
    /// Its content, as a phrase.
    pub about: &'static str,
    /// The names of its columns in order. A field may be empty, except in a key.
    pub columns: &'static [&'static str],
    /// The columns with whole numbers.
    pub counts: &'static [&'static str],
    /// The columns with decimal numbers.
    pub decimals: &'static [&'static str],
    /// The columns with exact numbers.
    pub exact: &'static [&'static str],
    /// The columns with `yes` or `no`.
    pub yes_no: &'static [&'static str],
    /// The columns with a unit (`s`, `ms`, `MiB`), and the unit.
    pub units: &'static [(&'static str, &'static str)],
    /// The columns that together identify a row; empty if nothing does.
    pub key: &'static [&'static str],
    /// The column with names of entries, which are rows of `ENTRIES`; empty if there is none.
    pub entry: &'static str,
    /// The column with names of instances, which are rows of `INSTANCES`; empty if there is none.
    pub instance: &'static str,
}

impl Table {
    /// Returns the first line of the file.
    pub fn header(&self) -> String {
        self.columns.join(",") + "\n"
    }

    /// Returns the type of the values of a column. A column in no list is text.
    pub fn column_type(&self, name: &str) -> ColumnType {
        let lists = [
            (self.counts, ColumnType::Count),
            (self.decimals, ColumnType::Decimal),
            (self.exact, ColumnType::Exact),
            (self.yes_no, ColumnType::YesNo),
        ];
        lists.iter().find(|(names, _)| names.contains(&name)).map_or(ColumnType::Text, |(_, kind)| *kind)
    }

    /// Returns the unit of a column; None: it has none.
    pub fn unit(&self, name: &str) -> Option<&'static str> {
        self.units.iter().find(|(column, _)| *column == name).map(|(_, unit)| *unit)
    }

    /// Returns the name that programs can use for the table: `judgement/trusted.csv` is `judgement-trusted`.
    pub fn name(path: &str) -> Cow<'_, str> {
        path.trim_end_matches(".csv").replace(['/', '.'], "-").into()
    }
}

/// A table to which other tables add what they have.
pub const NO_COLUMNS: Table = Table {
    file: "",
    about: "",
    columns: &[],
    counts: &[],
    decimals: &[],
    exact: &[],
    yes_no: &[],
    units: &[],
    key: &[],
    entry: "",
    instance: "",
};

/// The values of a position.
const POSITION: &[&str] = &["instance", "examination", "position"];

/// `confidence.csv`
pub const CONFIDENCE: Table = Table {
    file: "confidence.csv",
    about: "the confidence of each entry",
    columns: &["tool", "agreed", "answered", "confidence"],
    counts: &["agreed", "answered"],
    exact: &["confidence"],
    key: &["tool"],
    entry: "tool",
    ..NO_COLUMNS
};

/// `trusted.csv`
pub const TRUSTED: Table = Table {
    file: "trusted.csv",
    about: "the trusted values, each with its basis and the entries for and against it",
    columns: &["instance", "examination", "position", "id", "value", "basis", "backers", "against"],
    counts: &["position"],
    key: POSITION,
    instance: "instance",
    ..NO_COLUMNS
};

/// `scores.csv`
pub const SCORES: Table = Table {
    file: "scores.csv",
    about: "the points of each entry by examination, without and with multipliers and weights",
    columns: &["tool", "examination", "right", "wrong", "unjudged", "points", "normalized"],
    counts: &["right", "wrong", "unjudged"],
    exact: &["points", "normalized"],
    key: &["tool", "examination"],
    entry: "tool",
    ..NO_COLUMNS
};

/// `podiums.csv`
pub const PODIUMS: Table = Table {
    file: "podiums.csv",
    about: "the places of each category",
    columns: &["category", "rank", "tool", "variant", "points", "medal"],
    counts: &["rank"],
    exact: &["points"],
    key: &["category", "tool"],
    entry: "tool",
    ..NO_COLUMNS
};

/// `awards.csv`
pub const AWARDS: Table = Table {
    file: "awards.csv",
    about: "the places of each award",
    columns: &["category", "award", "rank", "tool", "runs_compared", "value", "unit"],
    counts: &["rank", "runs_compared", "value"],
    key: &["category", "award", "tool"],
    entry: "tool",
    ..NO_COLUMNS
};

/// `tools.csv`
pub const TOOLS: Table = Table {
    file: "tools.csv",
    about: "the entries",
    columns: &["entry", "tool", "variant", "status", "host_kind", "note"],
    key: &["entry"],
    entry: "entry",
    ..NO_COLUMNS
};

/// The last column of `trusted.csv` after `judge --certified`: how the value is certified.
pub const CERTIFIED: &str = "certified";

/// `weak.csv`
pub const WEAK: Table = Table {
    file: "weak.csv",
    about: "trusted values on weak evidence",
    columns: &["instance", "examination", "position", "value", "kind", "backers"],
    counts: &["position"],
    key: POSITION,
    instance: "instance",
    ..NO_COLUMNS
};

/// `overrides.csv` of a judgement, and the file of `--overrides`.
pub const OVERRIDES: Table = Table {
    file: "overrides.csv",
    about: "values set by the organizers",
    columns: &OVERRIDES_HEADER,
    counts: &[OVERRIDES_HEADER[2]],
    key: POSITION,
    instance: "instance",
    ..NO_COLUMNS
};

/// `virtual.csv`
pub const VIRTUAL: Table = Table {
    file: "virtual.csv",
    about: "the best virtual tool by examination",
    columns: &["examination", "right", "values", "points", "normalized"],
    counts: &["right", "values"],
    exact: &["points", "normalized"],
    key: &["examination"],
    ..NO_COLUMNS
};

/// `flags.csv`
pub const FLAGS: Table = Table {
    file: "flags.csv",
    about: "cases that the organizers must check",
    columns: &["kind", "tool", "examination", "family", "instance", "position", "detail"],
    counts: &["position"],
    entry: "tool",
    ..NO_COLUMNS
};

/// `arrivals.csv`
pub const ARRIVALS: Table = Table {
    file: "arrivals.csv",
    about: "when the values of each run arrived on the host, in ms since the tool's start",
    columns: &["tool", "instance", "examination", "half_ms", "all_ms", "arrived_ms"],
    counts: &["half_ms", "all_ms"],
    units: &[("half_ms", "ms"), ("all_ms", "ms"), ("arrived_ms", "ms")],
    key: &["tool", "instance", "examination"],
    entry: "tool",
    instance: "instance",
    ..NO_COLUMNS
};

/// `instructions.csv`, which a judgement has only if instructions of a run were counted.
pub const INSTRUCTIONS: Table = Table {
    file: "instructions.csv",
    about: "the instructions that the machine of each run executed while its tool ran, at addresses of user programs and of \
            the guest's kernel, and what counted them: tcg-plugin (a plugin of QEMU) or perf (the host's processor); \
            counts of different sources, or of different versions of QEMU, are not comparable",
    columns: &[
        "tool",
        "instance",
        "examination",
        "instructions_user",
        "instructions_kernel",
        "instructions_source",
    ],
    counts: &["instructions_user", "instructions_kernel"],
    key: &["tool", "instance", "examination"],
    entry: "tool",
    instance: "instance",
    ..NO_COLUMNS
};

/// `sensitivity.csv`
pub const SENSITIVITY: Table = Table {
    file: "sensitivity.csv",
    about: "ranks when a tool is left out",
    columns: &[
        "category",
        "left_out",
        "tool",
        "rank",
        "rank_removed",
        "rank_rejudged",
        "changes",
        "points",
        "points_rejudged",
    ],
    counts: &["rank", "rank_removed", "rank_rejudged"],
    exact: &["points", "points_rejudged"],
    yes_no: &["changes"],
    key: &["category", "left_out", "tool"],
    entry: "tool",
    ..NO_COLUMNS
};

/// `margins.csv`
pub const MARGINS: Table = Table {
    file: "margins.csv",
    about: "how many trusted values must change until an entry loses its place",
    columns: &["category", "rank", "tool", "rival", "points_ahead", "values", "few_values"],
    counts: &["rank", "values"],
    exact: &["points_ahead"],
    yes_no: &["few_values"],
    key: &["category", "tool"],
    entry: "tool",
    ..NO_COLUMNS
};

/// `oracle.csv`
pub const ORACLE: Table = Table {
    file: "oracle.csv",
    about: "trusted values that differ from those of an oracle",
    columns: &["instance", "examination", "position", "trusted", "oracle", "result"],
    counts: &["position"],
    key: POSITION,
    instance: "instance",
    ..NO_COLUMNS
};

/// The contest's table of results.
pub const ANSWERS: Table = Table {
    file: "answers.csv",
    about: "the answers, costs and endings of all runs: the table of the contest",
    columns: &HEADER,
    counts: &[HEADER[3], HEADER[9], HEADER[10], HEADER[11]],
    decimals: &[HEADER[8]],
    // The MB of this table are 1024 KiB.
    units: &[(HEADER[8], "MiB"), (HEADER[9], "ms"), (HEADER[10], "ms"), (HEADER[11], "ms")],
    key: &[HEADER[0], HEADER[1], HEADER[2]],
    entry: HEADER[0],
    instance: HEADER[1],
    ..NO_COLUMNS
};

/// Family and status of the instances, next to the contest's table.
pub const INSTANCES: Table = Table {
    file: "answers.models.csv",
    about: "family and status of the instances",
    columns: &["instance", "family", "status"],
    key: &["instance"],
    ..NO_COLUMNS
};

/// Tool and status of the entries, next to the contest's table.
pub const ENTRIES: Table = Table {
    file: "answers.tools.csv",
    about: "tool and status of the entries",
    columns: &["entry", "tool", "status", "note"],
    key: &["entry"],
    ..NO_COLUMNS
};

/// The overrides that had an effect, next to the contest's table.
pub const OVERRIDES_OF_ANSWERS: Table = Table { file: "answers.overrides.csv", ..OVERRIDES };

/// The names of obfuscated instances.
pub const NAMES: Table = Table {
    file: "names.csv",
    about: "the names of obfuscated instances",
    columns: &NAMES_HEADER,
    ..NO_COLUMNS
};

/// The values of a team, in its bundle.
pub const TEAM_VALUES: Table = Table {
    file: "values.csv",
    about: "the verdict on each value of the team, with the reason",
    columns: &[
        "entry",
        "instance",
        "examination",
        "position",
        "id",
        "value",
        "verdict",
        "trusted",
        "basis",
        "reason",
    ],
    counts: &["position"],
    key: &["entry", "instance", "examination", "position"],
    ..NO_COLUMNS
};

/// The tables of a judgement of the MCC.
pub const JUDGEMENT: [Table; 15] = [
    CONFIDENCE,
    TRUSTED,
    SCORES,
    PODIUMS,
    AWARDS,
    TOOLS,
    WEAK,
    OVERRIDES,
    VIRTUAL,
    FLAGS,
    ARRIVALS,
    INSTRUCTIONS,
    SENSITIVITY,
    MARGINS,
    ORACLE,
];

/// The tables in the folder of an archive.
pub const ARCHIVE: [Table; 7] =
    [ANSWERS, INSTANCES, ENTRIES, OVERRIDES_OF_ANSWERS, NAMES, OVERRIDES, TEAM_VALUES];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_types_and_references_are_of_columns_of_their_table() {
        for table in JUDGEMENT.iter().chain(&ARCHIVE) {
            let references = [table.entry, table.instance].into_iter().filter(|name| !name.is_empty());
            let typed = [table.key, table.counts, table.decimals, table.exact, table.yes_no].concat();
            let with_unit = table.units.iter().map(|(name, _)| *name);
            for name in typed.into_iter().chain(references).chain(with_unit) {
                assert!(table.columns.contains(&name), "{}: {name}", table.file);
            }
        }
        assert_eq!(Table::name("judgement/trusted.csv"), "judgement-trusted");
    }
}
