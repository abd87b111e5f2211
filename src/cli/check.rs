//! The commands `check-witness` and `check-certificate`, which are those of the program `mcc-check`.

use super::{Exit, Failure, print};
use mcc_checker::command::{Checked, CommandError};

pub fn show(checked: Result<Checked, CommandError>) -> Result<Exit, Failure> {
    let checked = checked.map_err(Failure::usage)?;
    print::raw(&checked.output)?;
    Ok(if checked.is_accepted { Exit::Done } else { Exit::Failed })
}
