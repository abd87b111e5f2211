//! Writes firing sequences as witnesses, and asks the checkers.

use crate::budget::{Budget, Limits};
use crate::engine::{EngineError, Trace, read_used_net};
use crate::net::Named;
use mcc_checker::{Certificate, Instance, Run, Step, VERSION, Value, Witness};
use mcc_model::Archive;
use std::collections::BTreeMap;

/// The checkers of an instance.
pub(crate) struct Checks<'a> {
    archive: &'a Archive,
    pub(crate) named: Named,
    pub(crate) checker: Result<Instance, String>,
}

impl<'a> Checks<'a> {
    /// Reads the instance for the checkers.
    pub(crate) fn new(archive: &'a Archive, budget: &Budget<'_>) -> Result<Self, EngineError> {
        // The time for checks is not part of the budget.
        let limits = Limits::new(&Budget { time: std::time::Duration::MAX, ..*budget });
        let named = read_used_net(archive, &limits)?;
        let checker = Instance::read(archive).map_err(|error| error.to_string());
        Ok(Self { archive, named, checker })
    }

    /// The witness of a value, if the checker accepts it; else the reason.
    pub(crate) fn witness(
        &self,
        examination: &str,
        id: &str,
        value: Value,
        trace: &Trace,
    ) -> Result<Witness, String> {
        let witness = Witness {
            version: VERSION,
            instance: self.archive.instance.to_string(),
            examination: examination.to_owned(),
            property: id.to_owned(),
            value,
            runs: self.runs(trace),
        };
        let checker = self.checker.as_ref().map_err(Clone::clone)?;
        checker.check_witness(&witness).map_err(|error| error.to_string())?;
        Ok(witness)
    }

    /// The runs of a witness.
    pub(crate) fn runs(&self, trace: &Trace) -> Vec<Run> {
        match trace {
            Trace::Paths(paths) => {
                paths.iter().map(|path| Run { steps: self.steps(path), ..Run::default() }).collect()
            }
            Trace::Lasso(stem, cycle) => {
                let loop_start = (!cycle.is_empty()).then_some(stem.len());
                vec![Run { steps: self.steps(&[&stem[..], cycle].concat()), loop_start, repeat: None }]
            }
            Trace::Growth(stem, part) => {
                let steps = self.steps(&[&stem[..], part].concat());
                vec![Run { steps, loop_start: None, repeat: Some(stem.len()) }]
            }
        }
    }

    /// Whether the checker accepts a certificate; else the reason.
    pub(crate) fn certificate(&self, certificate: &Certificate) -> Result<(), String> {
        let checker = self.checker.as_ref().map_err(Clone::clone)?;
        checker.check_certificate(certificate).map_err(|error| error.to_string())
    }

    fn steps(&self, path: &[u32]) -> Vec<Step> {
        path.iter().map(|transition| self.step(*transition)).collect()
    }

    fn step(&self, transition: u32) -> Step {
        let original = self.named.original(transition);
        let binding = self.named.coloured.as_ref().map_or_else(BTreeMap::new, |net| {
            let variables = &net.transitions[original].variables;
            let named = variables.iter().zip(self.named.binding(transition)).map(|(variable, colour)| {
                let variable = &net.variables[*variable];
                (variable.id.clone(), net.colour_name(variable.sort, *colour))
            });
            named.collect()
        });
        Step { transition: self.named.transition_ids[original].clone(), binding }
    }
}
