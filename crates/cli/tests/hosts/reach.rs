//! What can be reached: one connection for each choice of a source and a transport, a byte sent and a line
//! read.

use crate::serve::{MPTCP_PORT, TCP_PORT, UDP_PORT};
use crate::site::{HOST, ProbingHost, Site};
use socket2::{Domain, Protocol, Socket, Type};
use std::fmt;
use std::io::{Read as _, Write as _};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

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

/// How programs speak to each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Over {
    Tcp,
    Mptcp,
    Udp,
}

/// One connection, or one UDP socket that is connected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Probe {
    /// The namespace that sends.
    pub place: &'static str,
    /// From where.
    pub source: Source,
    /// The destination.
    pub to: IpAddr,
    /// Its transport.
    pub over: Over,
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
        write!(f, " to {} over {:?}", self.to, self.over)
    }
}

impl Probe {
    /// A program of the host that leaves everything to the kernel.
    pub fn plain(to: IpAddr) -> Self {
        Self {
            place: HOST,
            source: Source::Any,
            to,
            over: Over::Tcp,
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
        match self.over {
            Over::Tcp => TCP_PORT,
            Over::Mptcp => MPTCP_PORT,
            Over::Udp => UDP_PORT,
        }
    }

    /// A socket that does as this one asks; of the namespace of the calling thread.
    fn socket(&self) -> std::io::Result<Socket> {
        let domain = Domain::for_address(SocketAddr::new(self.to, 0));
        let (kind, protocol) = match self.over {
            Over::Tcp => (Type::STREAM, Protocol::TCP),
            Over::Mptcp => (Type::STREAM, Protocol::MPTCP),
            Over::Udp => (Type::DGRAM, Protocol::UDP),
        };
        let socket = Socket::new(domain, kind, Some(protocol))?;
        match &self.source {
            Source::Any | Source::Address(_) => Ok(()),
            Source::Link(link) => socket.bind_device(Some(link.as_bytes())),
            Source::Mark(mark) => socket.set_mark(*mark),
        }?;
        // Probes connect at once. Without `bind`, the kernel may give one port to two of them if one is bound
        // to a link (docs/kernel.md, "Sockets and ports"). The server then sees a single connection.
        socket.bind(&SocketAddr::new(self.own_address(), 0).into())?;
        Ok(socket)
    }

    /// The address that it binds to.
    const fn own_address(&self) -> IpAddr {
        match (&self.source, self.to) {
            (Source::Address(address), _) => *address,
            (_, IpAddr::V4(_)) => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
            (_, IpAddr::V6(_)) => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
        }
    }

    /// Connects; the connection stays open.
    pub fn connect(&self, site: &Site, limit: Duration) -> std::io::Result<Talk> {
        self.talk(site.netns(self.place).run(|| self.socket()).unwrap()?, limit)
    }

    fn talk(&self, socket: Socket, limit: Duration) -> std::io::Result<Talk> {
        socket.connect_timeout(&SocketAddr::new(self.to, self.port()).into(), limit)?;
        socket.set_read_timeout(Some(limit))?;
        let once_more = (self.over == Over::Udp).then_some(limit);
        Ok(Talk { socket, once_more })
    }
}

/// A connection over which one may ask again.
pub struct Talk {
    socket: Socket,
    /// Over UDP, the question is repeated until this time is over: nobody else repeats it.
    once_more: Option<Duration>,
}

/// Pause before a question is repeated over UDP.
const REPEAT: Duration = Duration::from_millis(100);

impl Talk {
    /// Whether the other end answers in time.
    pub fn answers(&mut self, limit: Duration) -> bool {
        self.once_more = self.once_more.map(|_| limit);
        self.socket.set_read_timeout(Some(limit)).is_ok() && self.ask().is_ok()
    }

    /// Asks who asks: the address that the server sees.
    pub fn ask(&mut self) -> std::io::Result<IpAddr> {
        if let Some(limit) = self.once_more {
            return self.ask_for(limit);
        }
        self.socket.write_all(b"?")?;
        let (mut line, mut byte) = (String::new(), [0]);
        loop {
            match self.socket.read(&mut byte)? {
                0 => return Err(std::io::ErrorKind::UnexpectedEof.into()),
                _ if byte == *b"\n" => return Ok(line.parse().unwrap()),
                _ => line.push(char::from(byte[0])),
            }
        }
    }
}

impl Talk {
    /// Asks over UDP, as often as needed within this time.
    fn ask_for(&mut self, limit: Duration) -> std::io::Result<IpAddr> {
        let until = Instant::now() + limit;
        self.socket.set_read_timeout(Some(REPEAT))?;
        loop {
            let mut line = [0; 64];
            let asked = self.socket.write(b"?").and_then(|_| self.socket.read(&mut line));
            match asked {
                Ok(length) => return Ok(String::from_utf8_lossy(&line[..length]).trim().parse().unwrap()),
                Err(error) if Instant::now() >= until => return Err(error),
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
                // A link that is down refuses at once.
                Err(_) => std::thread::sleep(REPEAT),
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
            let transports = [Over::Tcp, Over::Mptcp, Over::Udp].into_iter();
            probes.extend(transports.filter(|_| fits).map(|over| Probe {
                place: HOST,
                source: source.clone(),
                to,
                over,
            }));
        }
    }
    probes
}

fn of_neighbour(site: &Site, asker: &ProbingHost) -> Vec<Probe> {
    let own = site.addresses().into_iter().map(|(_, address)| address);
    let routed = site.destinations.iter().copied().filter(|_| asker.routed);
    let fits = |to: &IpAddr| asker.from.is_none_or(|from| from.is_ipv6() == to.is_ipv6());
    let probe = |(to, over)| Probe {
        place: asker.place,
        source: asker.from.map_or(Source::Any, Source::Address),
        to,
        over,
    };
    let both = own
        .chain(routed)
        .filter(fits)
        .flat_map(|to| [(to, Over::Tcp), (to, Over::Mptcp)]);
    both.map(probe).collect()
}

/// Lets the kernel look at each next hop of an IPv4 route that has several.
///
/// It prefers the next hop whose interface has the source address of a packet. After a change of addresses it
/// knows that address anew only once it has routed a packet without one over this next hop (docs/kernel.md).
/// Until then a hash decides, which differs from boot to boot.
fn know_next_hops(site: &Site) {
    let look = |host: u8| {
        let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).unwrap();
        // Nothing is sent. Without a route there is nothing to know.
        let _ = socket.connect((Ipv4Addr::new(198, 18, 0, host), 9));
    };
    site.host().run(|| (1..64).for_each(look)).unwrap();
}

/// Sends all of these probes at once, each with its limit. `None` where there is no limit, and where no reply
/// came.
pub fn ask(
    site: &Site,
    probes: &[Probe],
    limit: impl Fn(usize) -> Option<Duration> + Sync,
) -> Vec<Option<IpAddr>> {
    let answers = answers(site, probes, limit).into_iter();
    answers.map(Result::ok).collect()
}

/// The same, with the reason where no reply came.
pub fn answers(
    site: &Site,
    probes: &[Probe],
    limit: impl Fn(usize) -> Option<Duration> + Sync,
) -> Vec<Result<IpAddr, String>> {
    if site.spreads {
        know_next_hops(site);
    }
    let one = |(number, probe): (usize, &Probe)| {
        let limit = limit(number).ok_or("it was not sent")?;
        let mut talk = probe
            .connect(site, limit)
            .map_err(|error| format!("it did not connect: {error}"))?;
        talk.ask()
            .map_err(|error| format!("it connected and got no answer: {error}"))
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
