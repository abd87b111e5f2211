//! The columns of the tables of a judgement of the MCC and of an archive: the one place with their names, types and keys.
//! The writers of the tables take their headers from here, and so does the description of an archive for other programs.

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
    /// A decimal number.
    Decimal,
    /// An exact number: `-7` or `16/3`.
    Exact,
    /// `yes` or `no`.
    YesNo,
}

/// A column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    /// Its name in the header.
    pub name: &'static str,
    /// The type of its values. A field may be empty, except in a key.
    pub kind: ColumnType,
}

/// A table. Its rows are different in the columns of `key`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Table {
    /// The name of its file.
    pub file: &'static str,
    /// Its content, as a phrase.
    pub about: &'static str,
    /// Its columns in order.
    pub columns: &'static [Column],
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
        self.header_with(None)
    }

    /// Returns the first line of a file with one more column at its end.
    pub fn header_with(&self, last: Option<Column>) -> String {
        let names: Vec<&str> = self.names().chain(last.map(|column| column.name)).collect();
        names.join(",") + "\n"
    }

    /// Returns the names of the columns.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.columns.iter().map(|column| column.name)
    }

    /// Returns the name that programs can use for the table: `judgement/trusted.csv` is `judgement-trusted`.
    pub fn name(path: &str) -> Cow<'_, str> {
        path.trim_end_matches(".csv").replace(['/', '.'], "-").into()
    }
}

const fn text(name: &'static str) -> Column {
    Column { name, kind: ColumnType::Text }
}

const fn count(name: &'static str) -> Column {
    Column { name, kind: ColumnType::Count }
}

const fn decimal(name: &'static str) -> Column {
    Column { name, kind: ColumnType::Decimal }
}

const fn exact(name: &'static str) -> Column {
    Column { name, kind: ColumnType::Exact }
}

const fn yes_no(name: &'static str) -> Column {
    Column { name, kind: ColumnType::YesNo }
}

/// The values of a position.
const POSITION: &[&str] = &["instance", "examination", "position"];

/// `confidence.csv`
pub const CONFIDENCE: Table = Table {
    file: "confidence.csv",
    about: "the confidence of each entry",
    columns: &[text("tool"), count("agreed"), count("answered"), exact("confidence")],
    key: &["tool"],
    entry: "tool",
    instance: "",
};

/// `trusted.csv`
pub const TRUSTED: Table = Table {
    file: "trusted.csv",
    about: "the trusted values, each with its basis and the entries for and against it",
    columns: &[
        text("instance"),
        text("examination"),
        count("position"),
        text("id"),
        text("value"),
        text("basis"),
        text("backers"),
        text("against"),
    ],
    key: POSITION,
    entry: "",
    instance: "instance",
};

/// `scores.csv`
pub const SCORES: Table = Table {
    file: "scores.csv",
    about: "the points of each entry by examination, without and with multipliers and weights",
    columns: &[
        text("tool"),
        text("examination"),
        count("right"),
        count("wrong"),
        count("unjudged"),
        exact("points"),
        exact("normalized"),
    ],
    key: &["tool", "examination"],
    entry: "tool",
    instance: "",
};

/// `podiums.csv`
pub const PODIUMS: Table = Table {
    file: "podiums.csv",
    about: "the places of each category",
    columns: &[
        text("category"),
        count("rank"),
        text("tool"),
        text("variant"),
        exact("points"),
        text("medal"),
    ],
    key: &["category", "tool"],
    entry: "tool",
    instance: "",
};

/// `awards.csv`
pub const AWARDS: Table = Table {
    file: "awards.csv",
    about: "the places of each award",
    columns: &[
        text("category"),
        text("award"),
        count("rank"),
        text("tool"),
        count("runs_compared"),
        count("value"),
        text("unit"),
    ],
    key: &["category", "award", "tool"],
    entry: "tool",
    instance: "",
};

/// `tools.csv`
pub const TOOLS: Table = Table {
    file: "tools.csv",
    about: "the entries",
    columns: &[text("entry"), text("tool"), text("variant"), text("status"), text("host_kind"), text("note")],
    key: &["entry"],
    entry: "entry",
    instance: "",
};

/// The last column of `trusted.csv` after `judge --certified`: how the value is certified.
pub const CERTIFIED: Column = text("certified");

/// `weak.csv`
pub const WEAK: Table = Table {
    file: "weak.csv",
    about: "trusted values on weak evidence",
    columns: &[
        text("instance"),
        text("examination"),
        count("position"),
        text("value"),
        text("kind"),
        text("backers"),
    ],
    key: POSITION,
    entry: "",
    instance: "instance",
};

/// `overrides.csv` of a judgement, and the file of `--overrides`.
pub const OVERRIDES: Table = Table {
    file: "overrides.csv",
    about: "values set by the organizers",
    columns: &[
        text(OVERRIDES_HEADER[0]),
        text(OVERRIDES_HEADER[1]),
        count(OVERRIDES_HEADER[2]),
        text(OVERRIDES_HEADER[3]),
        text(OVERRIDES_HEADER[4]),
    ],
    key: POSITION,
    entry: "",
    instance: "instance",
};

/// `virtual.csv`
pub const VIRTUAL: Table = Table {
    file: "virtual.csv",
    about: "the best virtual tool by examination",
    columns: &[text("examination"), count("right"), count("values"), exact("points"), exact("normalized")],
    key: &["examination"],
    entry: "",
    instance: "",
};

/// `flags.csv`
pub const FLAGS: Table = Table {
    file: "flags.csv",
    about: "cases that the organizers must check",
    columns: &[
        text("kind"),
        text("tool"),
        text("examination"),
        text("family"),
        text("instance"),
        count("position"),
        text("detail"),
    ],
    key: &[],
    entry: "tool",
    instance: "",
};

/// `arrivals.csv`
pub const ARRIVALS: Table = Table {
    file: "arrivals.csv",
    about: "when the values of each run arrived on the host, in ms since the tool's start",
    columns: &[
        text("tool"),
        text("instance"),
        text("examination"),
        count("half_ms"),
        count("all_ms"),
        text("arrived_ms"),
    ],
    key: &["tool", "instance", "examination"],
    entry: "tool",
    instance: "instance",
};

/// `sensitivity.csv`
pub const SENSITIVITY: Table = Table {
    file: "sensitivity.csv",
    about: "ranks when a tool is left out",
    columns: &[
        text("category"),
        text("left_out"),
        text("tool"),
        count("rank"),
        count("rank_removed"),
        count("rank_rejudged"),
        yes_no("changes"),
        exact("points"),
        exact("points_rejudged"),
    ],
    key: &["category", "left_out", "tool"],
    entry: "tool",
    instance: "",
};

/// `margins.csv`
pub const MARGINS: Table = Table {
    file: "margins.csv",
    about: "the number of trusted values that hold a place",
    columns: &[
        text("category"),
        count("rank"),
        text("tool"),
        text("rival"),
        exact("points_ahead"),
        count("values"),
        yes_no("few_values"),
    ],
    key: &["category", "tool"],
    entry: "tool",
    instance: "",
};

/// `oracle.csv`
pub const ORACLE: Table = Table {
    file: "oracle.csv",
    about: "trusted values that differ from those of an oracle",
    columns: &[
        text("instance"),
        text("examination"),
        count("position"),
        text("trusted"),
        text("oracle"),
        text("result"),
    ],
    key: POSITION,
    entry: "",
    instance: "instance",
};

/// The contest's table of results.
pub const ANSWERS: Table = Table {
    file: "answers.csv",
    about: "the answers, costs and endings of all runs: the table of the contest",
    columns: &[
        text(HEADER[0]),
        text(HEADER[1]),
        text(HEADER[2]),
        count(HEADER[3]),
        text(HEADER[4]),
        text(HEADER[5]),
        text(HEADER[6]),
        text(HEADER[7]),
        decimal(HEADER[8]),
        count(HEADER[9]),
        count(HEADER[10]),
        count(HEADER[11]),
        text(HEADER[12]),
        text(HEADER[13]),
        text(HEADER[14]),
        text(HEADER[15]),
        text(HEADER[16]),
    ],
    key: &[HEADER[0], HEADER[1], HEADER[2]],
    entry: HEADER[0],
    instance: HEADER[1],
};

/// Family and status of the instances, next to the contest's table.
pub const INSTANCES: Table = Table {
    file: "answers.models.csv",
    about: "family and status of the instances",
    columns: &[text("instance"), text("family"), text("status")],
    key: &["instance"],
    entry: "",
    instance: "",
};

/// Tool and status of the entries, next to the contest's table.
pub const ENTRIES: Table = Table {
    file: "answers.tools.csv",
    about: "tool and status of the entries",
    columns: &[text("entry"), text("tool"), text("status"), text("note")],
    key: &["entry"],
    entry: "",
    instance: "",
};

/// The overrides that had an effect, next to the contest's table.
pub const OVERRIDES_OF_ANSWERS: Table = Table { file: "answers.overrides.csv", ..OVERRIDES };

/// The names of obfuscated instances.
pub const NAMES: Table = Table {
    file: "names.csv",
    about: "the names of obfuscated instances",
    columns: &[text(NAMES_HEADER[0]), text(NAMES_HEADER[1]), text(NAMES_HEADER[2]), text(NAMES_HEADER[3])],
    key: &[],
    entry: "",
    instance: "",
};

/// The values of a team, in its bundle.
pub const TEAM_VALUES: Table = Table {
    file: "values.csv",
    about: "the verdict on each value of the team, with the reason",
    columns: &[
        text("entry"),
        text("instance"),
        text("examination"),
        count("position"),
        text("id"),
        text("value"),
        text("verdict"),
        text("trusted"),
        text("basis"),
        text("reason"),
    ],
    key: &["entry", "instance", "examination", "position"],
    entry: "",
    instance: "",
};

/// The tables of a judgement of the MCC.
pub const JUDGEMENT: [Table; 14] = [
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
    fn keys_and_references_are_columns_of_their_table() {
        for table in JUDGEMENT.iter().chain(&ARCHIVE) {
            let names: Vec<&str> = table.names().collect();
            let references = [table.entry, table.instance].into_iter().filter(|name| !name.is_empty());
            for name in table.key.iter().copied().chain(references) {
                assert!(names.contains(&name), "{}: {name}", table.file);
            }
        }
        let all: Vec<&str> = ANSWERS.names().collect();
        assert_eq!(all, HEADER);
        assert_eq!(Table::name("judgement/trusted.csv"), "judgement-trusted");
    }
}
