//! Benchmarks of the 802.11 medium in virtual time: its speed against ns-3, the growth of its cost, a
//! station's memory, and how sweeps scale. One is of hosts: the time of a whole figure.

mod dcf;
mod fig6a;
mod growth;
mod memory;
mod peer;
mod sweep;

pub use dcf::{cell_of_1, cell_of_10, cell_of_50};
pub use fig6a::run as fig6a;
pub use growth::run as growth;
pub use memory::run as memory;
pub(crate) use peer::Ns3;
pub use sweep::run as sweep;
