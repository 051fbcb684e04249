//! What can be reached: one TCP connection for each choice of a source, a byte sent and a line read.

use crate::serve::{MPTCP_PORT, TCP_PORT};
use crate::site::{HOST, ProbingHost, Site};
use socket2::{Domain, Protocol, Socket, Type};
use std::fmt;
use std::io::{Read as _, Write as _};
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

/// What a program says about where its packets are to leave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// It chooses nothing.
    Any,
    /// It binds to an address.
    Address(IpAddr),
    /// It binds to an interface.
    Link(String),
    /// It marks its packets.
    Mark(u32),
}

/// One connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Probe {
    /// The namespace that sends.
    pub place: &'static str,
    /// From where.
    pub source: Source,
    /// The destination.
    pub to: IpAddr,
    /// Over MPTCP, or plain TCP.
    pub mptcp: bool,
}

impl fmt::Display for Probe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.place)?;
        match &self.source {
            Source::Any => Ok(()),
            Source::Address(address) => write!(f, " from {address}"),
            Source::Link(link) => write!(f, " bound to {link}"),
            Source::Mark(mark) => write!(f, " with mark {mark:#x}"),
        }?;
        let over = if self.mptcp { "MPTCP" } else { "TCP" };
        write!(f, " to {} over {over}", self.to)
    }
}

impl Probe {
    /// A program of the host that leaves everything to the kernel.
    pub fn plain(to: IpAddr) -> Self {
        Self {
            place: HOST,
            source: Source::Any,
            to,
            mptcp: false,
        }
    }

    /// A probe from this address.
    pub fn from(from: IpAddr, to: IpAddr) -> Self {
        Self {
            source: Source::Address(from),
            ..Self::plain(to)
        }
    }

    /// Whether the program chooses neither a link nor an address.
    pub const fn is_open(&self) -> bool {
        matches!(self.source, Source::Any | Source::Mark(_))
    }

    fn port(&self) -> u16 {
        if self.mptcp { MPTCP_PORT } else { TCP_PORT }
    }

    /// A socket that does as this one asks; of the namespace of the calling thread.
    fn socket(&self) -> std::io::Result<Socket> {
        let domain = Domain::for_address(SocketAddr::new(self.to, 0));
        let protocol = if self.mptcp {
            Protocol::MPTCP
        } else {
            Protocol::TCP
        };
        let socket = Socket::new(domain, Type::STREAM, Some(protocol))?;
        match &self.source {
            Source::Any => Ok(()),
            Source::Address(address) => socket.bind(&SocketAddr::new(*address, 0).into()),
            Source::Link(link) => socket.bind_device(Some(link.as_bytes())),
            Source::Mark(mark) => socket.set_mark(*mark),
        }?;
        Ok(socket)
    }

    /// Connects; the connection stays open.
    pub fn connect(&self, site: &Site, limit: Duration) -> std::io::Result<Talk> {
        self.talk(site.netns(self.place).run(|| self.socket()).unwrap()?, limit)
    }

    fn talk(&self, socket: Socket, limit: Duration) -> std::io::Result<Talk> {
        socket.connect_timeout(&SocketAddr::new(self.to, self.port()).into(), limit)?;
        socket.set_read_timeout(Some(limit))?;
        Ok(Talk(socket))
    }
}

/// A connection over which one may ask again.
pub struct Talk(Socket);

impl Talk {
    /// Whether the other end answers in time.
    pub fn answers(&mut self, limit: Duration) -> bool {
        self.0.set_read_timeout(Some(limit)).is_ok() && self.ask().is_ok()
    }

    /// Asks who asks: the address that the server sees.
    pub fn ask(&mut self) -> std::io::Result<IpAddr> {
        self.0.write_all(b"?")?;
        let (mut line, mut byte) = (String::new(), [0]);
        loop {
            match self.0.read(&mut byte)? {
                0 => return Err(std::io::ErrorKind::UnexpectedEof.into()),
                _ if byte == *b"\n" => return Ok(line.parse().unwrap()),
                _ => line.push(char::from(byte[0])),
            }
        }
    }
}

/// All probes for this site as it is now.
pub fn all(site: &Site) -> Vec<Probe> {
    let mut probes = of_host(site);
    for asker in &site.askers {
        probes.extend(of_neighbour(site, asker));
    }
    probes
}

fn of_host(site: &Site) -> Vec<Probe> {
    let addresses = site.addresses();
    let mut links: Vec<String> = addresses.iter().map(|(link, _)| link.clone()).collect();
    links.sort();
    links.dedup();
    let bound = addresses.iter().map(|(_, address)| Source::Address(*address));
    let unsafe_too = links.into_iter().map(Source::Link);
    let marked = site.marks.iter().map(|mark| Source::Mark(*mark));
    let quiet: Vec<Source> = std::iter::once(Source::Any).chain(bound).collect();
    let every: Vec<Source> = quiet.iter().cloned().chain(unsafe_too).chain(marked).collect();
    // A program that binds to an uplink, or marks its packets for it, bypasses any tunnel.
    let pairs = [(&site.destinations, every), (&site.secrets, quiet)];
    let mut probes = Vec::new();
    for (destinations, sources) in pairs {
        for (to, source) in destinations
            .iter()
            .flat_map(|to| sources.iter().map(move |source| (*to, source)))
        {
            let fits = !matches!(source, Source::Address(from) if from.is_ipv6() != to.is_ipv6());
            probes.extend([false, true].into_iter().filter(|_| fits).map(|mptcp| Probe {
                place: HOST,
                source: source.clone(),
                to,
                mptcp,
            }));
        }
    }
    probes
}

fn of_neighbour(site: &Site, asker: &ProbingHost) -> Vec<Probe> {
    let own = site.addresses().into_iter().map(|(_, address)| address);
    let routed = site.destinations.iter().copied().filter(|_| asker.routed);
    let fits = |to: &IpAddr| asker.from.is_none_or(|from| from.is_ipv6() == to.is_ipv6());
    let probe = |(to, mptcp)| Probe {
        place: asker.place,
        source: asker.from.map_or(Source::Any, Source::Address),
        to,
        mptcp,
    };
    let both = own
        .chain(routed)
        .filter(fits)
        .flat_map(|to| [(to, false), (to, true)]);
    both.map(probe).collect()
}

/// Sends all of these probes at once, each with its limit. `None` where there is no limit, and where no reply
/// came.
pub fn ask(
    site: &Site,
    probes: &[Probe],
    limit: impl Fn(usize) -> Option<Duration> + Sync,
) -> Vec<Option<IpAddr>> {
    let one = |(number, probe): (usize, &Probe)| {
        let limit = limit(number)?;
        probe.connect(site, limit).and_then(|mut talk| talk.ask()).ok()
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = probes
            .iter()
            .enumerate()
            .map(|probe| scope.spawn(move || one(probe)))
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}
