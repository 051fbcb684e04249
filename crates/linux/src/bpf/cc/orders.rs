//! Window orders for single subflows with CLA: the writing side of `bpf/cc/orders.h`.
//!
//! `policy::cc` decides ([`policy::cc::MobileStage`], [`policy::cc::bdp_upper_bound`]). This module passes
//! the decision to the kernel, which applies it once, at the subflow's next acknowledgement.

use super::OrderError;
use crate::bpf::MapError;
use crate::bpf::map::{Map, Plain};
use crate::bpf::object::Loaded;
use crate::mptcp_pm::AddressId;
use policy::ConnId;
use std::io;
use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicU32, Ordering};

const ORDERS: &str = "orders";
const GIVEN: &str = "orders_given";
const FIRST: u32 = 0;

/// The side to which an address id belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AddressEnd {
    /// Our own address: the sender is the mobile.
    Local,
    /// The peer's address: the sender is the mobile's server.
    Remote,
}

/// A congestion window and a slow-start threshold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WindowOrder {
    /// Congestion window, in segments. At least 2 is set.
    pub cwnd: u32,
    /// Slow-start threshold, in segments. `None` keeps the current one. A lower window without a new
    /// threshold would be in slow start.
    pub ssthresh: Option<u32>,
}

/// Same layout as `struct order_key` in `bpf/cc/orders.h`.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct OrderKey {
    token: u32,
    address_id: u8,
    remote: u8,
    zero: u16,
}

/// Same layout as `struct order` in `bpf/cc/orders.h`.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Order {
    serial: u32,
    cwnd: u32,
    ssthresh: u32,
}

// SAFETY: integers in C order: 4 + 1 + 1 + 2 bytes without padding.
unsafe impl Plain for OrderKey {}
// SAFETY: three u32 in C order.
unsafe impl Plain for Order {}

/// The map of active orders.
#[derive(Debug)]
pub struct Orders {
    orders: Map<OrderKey, Order>,
    latest: Map<u32, u64>,
    serial: AtomicU32,
}

impl Orders {
    pub(super) fn of(loaded: &Loaded) -> io::Result<Self> {
        Ok(Self {
            orders: loaded.map(ORDERS)?,
            latest: loaded.map(GIVEN)?,
            serial: AtomicU32::new(0),
        })
    }

    /// Orders a window for the subflows of `conn` at this address. It applies once to current subflows, and
    /// to those that join later with the same id, until the order is [taken back](Self::take_back).
    pub fn give(
        &self,
        conn: ConnId,
        end: AddressEnd,
        address: AddressId,
        order: WindowOrder,
    ) -> Result<(), OrderError> {
        let order = Order {
            serial: self.serial.fetch_add(1, Ordering::Relaxed) + 1,
            cwnd: order.cwnd,
            ssthresh: order.ssthresh.unwrap_or(0),
        };
        self.orders.set(key(conn, end, address), order).map_err(refused)?;
        self.tell(order.serial)
    }

    /// Number of orders given through this value.
    pub fn given(&self) -> u32 {
        self.serial.load(Ordering::Relaxed)
    }

    /// Returns the active order for an address, if any.
    pub fn standing(
        &self,
        conn: ConnId,
        end: AddressEnd,
        address: AddressId,
    ) -> Result<Option<WindowOrder>, OrderError> {
        let found = self.orders.value(key(conn, end, address)).map_err(refused)?;
        Ok(found.map(|order| WindowOrder {
            cwnd: order.cwnd,
            ssthresh: (order.ssthresh != 0).then_some(order.ssthresh),
        }))
    }

    /// Withdraws an order and returns whether there was one. Windows stay as they are.
    pub fn take_back(&self, conn: ConnId, end: AddressEnd, address: AddressId) -> Result<bool, OrderError> {
        self.orders.remove(key(conn, end, address)).map_err(refused)
    }

    /// Makes every subflow check for its order at its next acknowledgement.
    fn tell(&self, serial: u32) -> Result<(), OrderError> {
        self.latest.set(FIRST, u64::from(serial)).map_err(refused)
    }

    /// The maps to pin together with the controller, and their names.
    pub(super) fn descriptors(&self) -> [(&'static str, BorrowedFd<'_>); 2] {
        [(ORDERS, self.orders.fd()), (GIVEN, self.latest.fd())]
    }
}

const fn key(conn: ConnId, end: AddressEnd, address: AddressId) -> OrderKey {
    OrderKey {
        token: conn.0,
        address_id: address.0,
        remote: matches!(end, AddressEnd::Remote) as u8,
        zero: 0,
    }
}

fn refused(error: io::Error) -> OrderError {
    match MapError::from(error) {
        MapError::Full => OrderError::Full,
        other => OrderError::Map(other),
    }
}
