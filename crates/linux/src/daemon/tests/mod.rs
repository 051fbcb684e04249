//! The daemon against the kernel: client and server namespaces, real connections.

mod flow;
mod net;
