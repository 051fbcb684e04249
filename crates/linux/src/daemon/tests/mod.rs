//! The daemon against the kernel: client and server namespaces, real connections whose bytes are checked.

mod acts;
mod cost;
mod flow;
mod levers;
mod life;
mod net;
mod rig;
