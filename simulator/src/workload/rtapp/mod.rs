//! rt-app.
use super::read::Spec;
use lop_machine::InputError;
pub fn read(file: &str, _text: &str) -> Result<Spec, InputError> {
    Err(InputError::new(file, "not yet"))
}
