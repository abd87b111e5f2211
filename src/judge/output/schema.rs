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
    /// The columns whose values are not text, and their types.
    pub types: &'static [(&'static str, ColumnType)],
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

    /// Returns the type of the values of a column.
    pub fn column_type(&self, name: &str) -> ColumnType {
        self.types.iter().find(|(column, _)| *column == name).map_or(ColumnType::Text, |(_, kind)| *kind)
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

/// A table: its file and content; its columns, with a type if it is not text, and with a unit; then the other parts.
#[macro_export]
macro_rules! table {
    (
        $file:literal: $about:literal; $($column:ident $(: $kind:ident)? $(in $unit:literal)?),+
        $(; key $($key:ident),+)? $(; entry $entry:ident)? $(; instance $instance:ident)?
    ) => {
        $crate::schema::Table {
            file: $file,
            about: $about,
            columns: &[$(stringify!($column)),+],
            types: &[$($((stringify!($column), $crate::schema::ColumnType::$kind),)?)+],
            units: &[$($((stringify!($column), $unit),)?)+],
            key: &[$($(stringify!($key)),+)?],
            entry: concat!($(stringify!($entry))?),
            instance: concat!($(stringify!($instance))?),
        }
    };
}

/// `confidence.csv`
pub const CONFIDENCE: Table = table! {
    "confidence.csv": "the confidence of each entry";
    tool, agreed: Count, answered: Count, confidence: Exact;
    key tool; entry tool
};

/// `trusted.csv`
pub const TRUSTED: Table = table! {
    "trusted.csv": "the trusted values, each with its basis and the entries for and against it";
    instance, examination, position: Count, id, value, basis, backers, against;
    key instance, examination, position; instance instance
};

/// `scores.csv`
pub const SCORES: Table = table! {
    "scores.csv": "the points of each entry by examination, without and with multipliers and weights";
    tool, examination, right: Count, wrong: Count, unjudged: Count, points: Exact, normalized: Exact;
    key tool, examination; entry tool
};

/// `podiums.csv`
pub const PODIUMS: Table = table! {
    "podiums.csv": "the places of each category";
    category, rank: Count, tool, variant, points: Exact, medal;
    key category, tool; entry tool
};

/// `awards.csv`
pub const AWARDS: Table = table! {
    "awards.csv": "the places of each award";
    category, award, rank: Count, tool, runs_compared: Count, value: Count, unit;
    key category, award, tool; entry tool
};

/// `tools.csv`
pub const TOOLS: Table = table! {
    "tools.csv": "the entries";
    entry, tool, variant, status, host_kind, note;
    key entry; entry entry
};

/// The last column of `trusted.csv` after `judge --certified`: how the value is certified.
pub const CERTIFIED: &str = "certified";

/// `weak.csv`
pub const WEAK: Table = table! {
    "weak.csv": "trusted values on weak evidence";
    instance, examination, position: Count, value, kind, backers;
    key instance, examination, position; instance instance
};

/// `overrides.csv` of a judgement, and the file of `--overrides`.
pub const OVERRIDES: Table = Table {
    file: "overrides.csv",
    about: "values set by the organizers",
    columns: &OVERRIDES_HEADER,
    types: &[(OVERRIDES_HEADER[2], ColumnType::Count)],
    units: &[],
    key: &["instance", "examination", "position"],
    entry: "",
    instance: "instance",
};

/// `virtual.csv`
pub const VIRTUAL: Table = table! {
    "virtual.csv": "the best virtual tool by examination";
    examination, right: Count, values: Count, points: Exact, normalized: Exact;
    key examination
};

/// `flags.csv`
pub const FLAGS: Table = table! {
    "flags.csv": "cases that the organizers must check";
    kind, tool, examination, family, instance, position: Count, detail;
    entry tool
};

/// `arrivals.csv`
pub const ARRIVALS: Table = table! {
    "arrivals.csv": "when the values of each run arrived on the host, in ms since the tool's start";
    tool, instance, examination, half_ms: Count in "ms", all_ms: Count in "ms", arrived_ms in "ms";
    key tool, instance, examination; entry tool; instance instance
};

/// `instructions.csv`, which a judgement has only if instructions of a run were counted.
pub const INSTRUCTIONS: Table = table! {
    "instructions.csv":
        "the instructions that the machine of each run executed while its tool ran, at addresses of user programs and \
         of the guest's kernel, and what counted them: tcg-plugin (a plugin of QEMU) or perf (the host's processor); \
         counts of different sources, or of different versions of QEMU, are not comparable";
    tool, instance, examination, instructions_user: Count, instructions_kernel: Count, instructions_source;
    key tool, instance, examination; entry tool; instance instance
};

/// `sensitivity.csv`
pub const SENSITIVITY: Table = table! {
    "sensitivity.csv": "ranks when a tool is left out";
    category, left_out, tool, rank: Count, rank_removed: Count, rank_rejudged: Count, changes: YesNo, points: Exact,
        points_rejudged: Exact;
    key category, left_out, tool; entry tool
};

/// `margins.csv`
pub const MARGINS: Table = table! {
    "margins.csv": "how many trusted values must change until an entry loses its place";
    category, rank: Count, tool, rival, points_ahead: Exact, values: Count, few_values: YesNo;
    key category, tool; entry tool
};

/// `oracle.csv`
pub const ORACLE: Table = table! {
    "oracle.csv": "trusted values that differ from those of an oracle";
    instance, examination, position: Count, trusted, oracle, result;
    key instance, examination, position; instance instance
};

/// The contest's table of results.
pub const ANSWERS: Table = Table {
    file: "answers.csv",
    about: "the answers, costs and endings of all runs: the table of the contest",
    columns: &HEADER,
    types: &[
        (HEADER[3], ColumnType::Count),
        (HEADER[8], ColumnType::Decimal),
        (HEADER[9], ColumnType::Count),
        (HEADER[10], ColumnType::Count),
        (HEADER[11], ColumnType::Count),
    ],
    // The MB of this table are 1024 KiB.
    units: &[(HEADER[8], "MiB"), (HEADER[9], "ms"), (HEADER[10], "ms"), (HEADER[11], "ms")],
    key: &[HEADER[0], HEADER[1], HEADER[2]],
    entry: HEADER[0],
    instance: HEADER[1],
};

/// Family and status of the instances, next to the contest's table.
pub const INSTANCES: Table = table! {
    "answers.models.csv": "family and status of the instances";
    instance, family, status;
    key instance
};

/// Tool and status of the entries, next to the contest's table.
pub const ENTRIES: Table = table! {
    "answers.tools.csv": "tool and status of the entries";
    entry, tool, status, note;
    key entry
};

/// The overrides that had an effect, next to the contest's table.
pub const OVERRIDES_OF_ANSWERS: Table = Table { file: "answers.overrides.csv", ..OVERRIDES };

/// The names of obfuscated instances.
pub const NAMES: Table = Table {
    file: "names.csv",
    about: "the names of obfuscated instances",
    columns: &NAMES_HEADER,
    types: &[],
    units: &[],
    key: &[],
    entry: "",
    instance: "",
};

/// The values of a team, in its bundle.
pub const TEAM_VALUES: Table = table! {
    "values.csv": "the verdict on each value of the team, with the reason";
    entry, instance, examination, position: Count, id, value, verdict, trusted, basis, reason;
    key entry, instance, examination, position
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
            let typed = table.types.iter().map(|(name, _)| *name);
            let with_unit = table.units.iter().map(|(name, _)| *name);
            for name in table.key.iter().copied().chain(typed).chain(references).chain(with_unit) {
                assert!(table.columns.contains(&name), "{}: {name}", table.file);
            }
        }
        assert_eq!(Table::name("judgement/trusted.csv"), "judgement-trusted");
    }
}
