use crate::Machine;
pub fn draw(machine: &Machine) -> String {
    machine.name.clone()
}
