//! The meter that a command reads where none was asked for by name.

use crate::failure::{Failure, FAILED};
use lop_machine::meter::{self, OpenMeter, Setup};

/// The best there is; `None` where none works.
///
/// # Errors
/// A model was named and cannot be used: it is not left aside in silence.
pub fn best(setup: &Setup) -> Result<Option<OpenMeter>, Failure> {
    match meter::open(None, setup) {
        Ok(meter) => Ok(Some(meter)),
        Err(errors) => match errors.last() {
            Some(error) if setup.model.is_some() => Err(Failure::new(FAILED, error.to_string())),
            _ => Ok(None),
        },
    }
}
