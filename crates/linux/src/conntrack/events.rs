//! Flows that begin and end.

use super::{DELETE, Flow, NEW};
use crate::netlink::{self, OpenError, Protocol, ReceiveError, Socket};
use crate::rtnl::Mark;
use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsRawFd, RawFd};
use thiserror::Error;

const GROUP_NEW: u32 = 1;
const GROUP_DESTROY: u32 = 3;

/// Why flows cannot be watched.
#[derive(Debug, Error)]
pub enum EventError {
    /// The socket could not be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The kernel refused the subscription.
    #[error("events of connection tracking; they need CAP_NET_ADMIN: run as root")]
    Subscribe(#[source] io::Error),
}

/// What happened to a flow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// Its first packet has left.
    Began(Flow),
    /// Its entry is gone.
    Ended(u32),
}

/// Events of the flows whose mark matches.
#[derive(Debug)]
pub struct Events {
    socket: Socket,
    mark: Mark,
    pending: VecDeque<Event>,
}

impl Events {
    /// Subscribes to the flows of the calling thread's namespace with this mark.
    pub fn open(mark: Mark) -> Result<Self, EventError> {
        let socket = Socket::open(Protocol::Netfilter)?;
        for group in [GROUP_NEW, GROUP_DESTROY] {
            socket.subscribe(group).map_err(EventError::Subscribe)?;
        }
        Ok(Self {
            socket,
            mark,
            pending: VecDeque::new(),
        })
    }

    /// The next event, without blocking. `None` if none is pending.
    #[expect(clippy::should_implement_trait, reason = "an error does not end the events")]
    pub fn next(&mut self) -> Result<Option<Event>, ReceiveError> {
        while self.pending.is_empty() {
            let Some(messages) = self.socket.receive()? else {
                return Ok(None);
            };
            let mark = self.mark;
            self.pending
                .extend(messages.filter_map(|message| event(&message, mark)));
        }
        Ok(self.pending.pop_front())
    }
}

fn event(message: &netlink::Message<'_>, mark: Mark) -> Option<Event> {
    let flow = Flow::parse(message).filter(|flow| flow.mark & mark.mask == mark.value)?;
    match message.kind {
        NEW => Some(Event::Began(flow)),
        DELETE => Some(Event::Ended(flow.id)),
        _ => None,
    }
}

impl AsRawFd for Events {
    fn as_raw_fd(&self) -> RawFd {
        self.socket.as_raw_fd()
    }
}
