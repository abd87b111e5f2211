//! Combines the results of several sources, such as the runs of an author and a published table, so that they are judged
//! together.

use super::run_results::{InstanceFacts, RunResults, RunRow};
use mcc_edition::Edition;
use std::collections::{BTreeMap, BTreeSet};

/// The results of one source.
pub struct Source {
    /// Its name in messages: the path that was given.
    pub name: String,
    /// The results that were read from it.
    pub results: RunResults,
}

/// Why sources cannot be judged together.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum CombineError {
    /// An entry is in two sources.
    #[error(
        "entry {entry} is in {first} and in {second}; state the source whose runs count: --replace '{entry}={first}' or \
         --replace '{entry}={second}'"
    )]
    Repeated {
        /// Name of the entry.
        entry: String,
        /// The first source.
        first: String,
        /// The second source.
        second: String,
    },
    /// A source is given twice.
    #[error("{0} is given twice; give each source once")]
    Twice(
        /// Name of the source.
        String,
    ),
    /// `--replace` names an entry that is not in two sources, or a source without this entry.
    #[error("--replace {entry}={source_name}: {problem}")]
    Replace {
        /// Name of the entry.
        entry: String,
        /// Name of the source.
        source_name: String,
        /// What is wrong, and the remedy.
        problem: String,
    },
    /// A source has no run of a block that another source has.
    #[error(
        "{source_name} has no instance and examination in common with the other sources; give sources of one contest"
    )]
    NothingInCommon {
        /// Name of the source.
        source_name: String,
    },
    /// Two sources give an instance another family or status.
    #[error(
        "instance {instance} is of {known} in one source, of {other} in {source_name}; give sources of one contest"
    )]
    Instance {
        /// Name of the instance.
        instance: String,
        /// Family and status in an earlier source.
        known: String,
        /// Family and status in this source.
        other: String,
        /// Name of the source.
        source_name: String,
    },
    /// Two sources state different archives of an instance.
    #[error(
        "the archive of instance {instance} has sha256 {first_sha256} in {first}, but {second_sha256} in {second}: their answers \
         may be of different models; give sources whose runs have the same archive of it"
    )]
    Archives {
        /// Name of the instance.
        instance: String,
        /// The first source.
        first: String,
        /// The digest that it states.
        first_sha256: String,
        /// The second source.
        second: String,
        /// The digest that it states.
        second_sha256: String,
    },
    /// The property ids of a source are those of another year than the edition.
    #[error(
        "{source_name} has property ids of {year}, such as {id}, and the edition is {edition}: the formulas of a year are \
         compared with those of the same year only; give its edition and its published answers"
    )]
    OtherYear {
        /// Name of the source.
        source_name: String,
        /// The latest year of its ids.
        year: u32,
        /// An id with this year.
        id: String,
        /// Name of the edition.
        edition: String,
    },
    /// Two sources have different property ids.
    #[error(
        "{instance} {examination} has other property ids in {source_name} than in an earlier source; judge runs on one \
         set of property files only"
    )]
    Ids {
        /// Name of the instance.
        instance: String,
        /// Name of the examination.
        examination: String,
        /// Name of the source.
        source_name: String,
    },
}

/// Combines sources that were read with the same edition. `replace` has, for entries that are in several sources, the
/// name of the source whose runs count; the runs of the other sources are left out.
///
/// # Errors
/// An entry is in two sources without a decision, a decision is wrong, or sources contradict each other or have nothing
/// in common.
pub fn combine(
    edition: &Edition,
    sources: Vec<Source>,
    replace: &BTreeMap<String, String>,
) -> Result<RunResults, CombineError> {
    let mut names = BTreeSet::new();
    if let Some(source) = sources.iter().find(|source| !names.insert(&source.name)) {
        return Err(CombineError::Twice(source.name.clone()));
    }
    let mut of_entry: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (number, source) in sources.iter().enumerate() {
        for entry in source.results.entry_names() {
            of_entry.entry(entry.to_owned()).or_default().push(number);
        }
    }
    let name = |number: usize| sources[number].name.clone();
    for (entry, source_name) in replace {
        let found = of_entry.get(entry).map(Vec::as_slice).unwrap_or_default();
        let problem = match found {
            [] => "no source has this entry; check its name".to_owned(),
            [only] => format!("only {} has this entry; remove the option", name(*only)),
            several if several.iter().all(|number| name(*number) != *source_name) => {
                let names: Vec<String> = several.iter().map(|number| name(*number)).collect();
                format!("the entry is in {}; give one of these", names.join(" and "))
            }
            _ => continue,
        };
        let (entry, source_name) = (entry.clone(), source_name.clone());
        return Err(CombineError::Replace { entry, source_name, problem });
    }
    if let Some((entry, given_by)) =
        of_entry.iter().find(|(entry, given_by)| given_by.len() > 1 && !replace.contains_key(*entry))
    {
        return Err(CombineError::Repeated {
            entry: entry.clone(),
            first: name(given_by[0]),
            second: name(given_by[1]),
        });
    }
    nothing_in_common(&sources)?;
    other_archives(&sources)?;
    let mut combined = RunResults::new(edition);
    for Source { name, results } in sources {
        let counts = |entry: &str| replace.get(entry).is_none_or(|source| *source == name);
        combined.append(results, &name, counts)?;
    }
    Ok(combined)
}

/// Refuses a source without a block of another source: entries that were asked different questions cannot be compared.
fn nothing_in_common(sources: &[Source]) -> Result<(), CombineError> {
    let blocks: Vec<_> = sources.iter().map(|source| source.results.blocks()).collect();
    for (at, own) in blocks.iter().enumerate() {
        let mut others = blocks.iter().enumerate().filter(|(other, _)| *other != at);
        if sources.len() > 1 && others.all(|(_, other)| other.is_disjoint(own)) {
            return Err(CombineError::NothingInCommon { source_name: sources[at].name.clone() });
        }
    }
    Ok(())
}

/// Refuses sources that state different archives of an instance. A table of answers states none.
fn other_archives(sources: &[Source]) -> Result<(), CombineError> {
    let mut known: BTreeMap<&str, (&str, &Source)> = BTreeMap::new();
    for source in sources {
        for (instance, sha256) in &source.results.archives {
            let (first_sha256, first) = *known.entry(instance.as_str()).or_insert((sha256.as_str(), source));
            if first_sha256 != sha256 {
                return Err(CombineError::Archives {
                    instance: instance.clone(),
                    first: first.name.clone(),
                    first_sha256: first_sha256.to_owned(),
                    second: source.name.clone(),
                    second_sha256: sha256.clone(),
                });
            }
        }
    }
    Ok(())
}

impl RunResults {
    /// Returns examination and instance of all runs.
    pub(crate) fn blocks(&self) -> BTreeSet<(u16, String)> {
        let name = |row: &RunRow| self.instances.names[row.instance as usize].clone();
        self.rows.iter().map(|row| (row.examination, name(row))).collect()
    }

    /// Removes the runs of other blocks.
    pub(crate) fn retain_blocks(&mut self, kept: &BTreeSet<(u16, String)>) {
        let name = |row: &RunRow| self.instances.names[row.instance as usize].clone();
        self.rows.retain(|row| kept.contains(&(row.examination, name(row))));
    }

    /// Adds the results of another source, of the entries for which `counts` returns true.
    fn append(
        &mut self,
        other: RunResults,
        source: &str,
        counts: impl Fn(&str) -> bool,
    ) -> Result<(), CombineError> {
        let entries: Vec<Option<u32>> =
            other.entries.names.iter().map(|name| counts(name).then(|| self.entries.number(name))).collect();
        let instances: Vec<u32> =
            other.instances.names.iter().map(|name| self.instances.number(name)).collect();
        let values = self.values.numbers_of(&other.values);
        for row in &other.rows {
            let Some(entry) = entries[row.entry as usize] else { continue };
            let first = self.given.len();
            self.given.extend(other.values_of(row).iter().map(|number| values[*number as usize]));
            let (instance, number) = (instances[row.instance as usize], self.rows.len() as u32 + 1);
            self.rows.push(RunRow { entry, instance, first, number, ..row.clone() });
        }
        for ((examination, instance), ids) in other.ids {
            let key = (examination, instances[instance as usize]);
            if *self.ids.entry(key).or_insert_with(|| ids.clone()) != ids {
                return Err(CombineError::Ids {
                    instance: other.instances.names[instance as usize].clone(),
                    examination: self.examinations[examination as usize].0.clone(),
                    source_name: source.to_owned(),
                });
            }
        }
        for (instance, facts) in other.known_instances {
            match self.known_instances.get(&instance) {
                Some(known) if *known != facts => {
                    let words = |facts: &InstanceFacts| {
                        format!("family {} and status {}", facts.family, facts.status)
                    };
                    let (known, other) = (words(known), words(&facts));
                    let source_name = source.to_owned();
                    return Err(CombineError::Instance { instance, known, other, source_name });
                }
                Some(_) => {}
                None => self.describe_instance(&instance, facts),
            }
        }
        self.archives.extend(other.archives);
        let stated = other.known_entries.into_iter().filter(|(entry, _)| counts(entry));
        self.known_entries.extend(stated);
        self.inputs.extend(other.inputs);
        self.notes.extend(other.notes);
        if let Some(other) = other.publication.and_then(|publication| publication.with_entries(&counts)) {
            // Title, date and organizers of the first source that states any; the authors of all.
            let entries = other.entries.clone();
            self.publication.get_or_insert(other).entries.extend(entries);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::run_results::RunResult;
    use super::*;
    use std::collections::HashMap;

    const DEADLOCK: &str = "ReachabilityDeadlock";

    fn source(edition: &Edition, name: &str, entry: &str, ids: &[&str], status: &str) -> Source {
        let mut results = RunResults::new(edition);
        let ids: Vec<String> = ids.iter().map(|id| (*id).to_owned()).collect();
        results.add(entry, "F-PT-1", DEADLOCK, &ids, RunResult::published(Vec::new())).unwrap();
        let facts = InstanceFacts { family: "F".to_owned(), status: status.to_owned() };
        results.describe_instance("F-PT-1", facts);
        Source { name: name.to_owned(), results }
    }

    #[test]
    fn sources_that_contradict_each_other_are_refused() {
        let edition = Edition::load("mcc-2018").unwrap();
        let combined = |ids: &[&str], status: &str| {
            let sources = vec![
                source(&edition, "one", "a", &["x"], "known"),
                source(&edition, "two", "b", ids, status),
            ];
            combine(&edition, sources, &BTreeMap::new()).map_err(|error| error.to_string())
        };
        assert_eq!(combined(&["x"], "known").unwrap().entry_names().count(), 2);
        assert!(combined(&[], "known").is_ok());
        let error = combined(&["y"], "known").unwrap_err();
        assert!(error.contains("other property ids in two"), "{error}");
        let error = combined(&["x"], "surprise").unwrap_err();
        assert!(error.contains("family F and status known in one source"), "{error}");
    }

    #[test]
    fn sources_with_different_archives_of_an_instance_are_refused() {
        let edition = Edition::load("mcc-2018").unwrap();
        let combined = |stated: [&str; 3], names: &HashMap<String, String>| {
            let named = ["one", "two", "three"].into_iter().zip(["a", "b", "c"]).zip(stated);
            let sources = named.map(|((name, entry), sha256)| {
                let mut source = source(&edition, name, entry, &[], "known");
                if !sha256.is_empty() {
                    source.results.archives.insert("F-PT-1".to_owned(), sha256.to_owned());
                }
                if !names.is_empty() {
                    source.results.rename(names, &HashMap::new()).unwrap();
                }
                source
            });
            combine(&edition, sources.collect(), &BTreeMap::new()).map_err(|error| error.to_string())
        };
        for stated in [["", "", ""], ["11", "", "11"], ["", "", "22"]] {
            assert_eq!(combined(stated, &HashMap::new()).unwrap().entry_names().count(), 3, "{stated:?}");
        }
        // A source between them that states none does not hide it.
        let error = combined(["11", "", "22"], &HashMap::new()).err().unwrap();
        assert!(error.contains("instance F-PT-1 has sha256 11 in one, but 22 in three"), "{error}");
        // Archives of obfuscated instances differ although the models are the same.
        let original = HashMap::from([("F-PT-1".to_owned(), "Original-PT-1".to_owned())]);
        assert!(combined(["11", "", "22"], &original).is_ok());
    }
}
