//! The keys of a configuration file, and what is valid for each.

/// A key, and its valid values as a message lists them.
#[derive(Debug)]
pub struct Key {
    /// Its name in the file.
    pub name: &'static str,
    /// Its valid values.
    pub right: &'static str,
}

const fn key(name: &'static str, right: &'static str) -> Key {
    Key { name, right }
}

/// The policy that decides.
pub const POLICY: Key = key("policy", "a name in quotes, such as \"slowhand\"");
/// Goal for the links together.
pub const MODE: Key = key("mode", "\"aggregate\" or \"handover\"");
/// Number of subflows that peers let us add.
pub const PEER_SUBFLOWS: Key = key(
    "peer_subflows",
    "a whole number from 1 to 8; a stock Linux server takes 2",
);
/// Congestion controller of new connections.
pub const CC: Key = key(
    "cc",
    "the name of a congestion controller: lia, olia, balia, cla, or one of net.ipv4.tcp_available_congestion_control",
);
/// File with the key that servers share.
pub const REPORT_KEY_FILE: Key = key(
    "report_key_file",
    "a path in quotes, such as \"/etc/slowhand/report.key\"",
);
/// Port on which those servers listen.
pub const REPORT_PORT: Key = key("report_port", "a whole number from 1 to 65535, such as 7391");
/// Limit on the bytes that servers may have in flight over plain TCP.
pub const FALLBACK_WINDOW: Key = key(
    "fallback_window_bytes",
    "a whole number from 16384 to 1073741824, such as 262144, or remove this line to leave connections over plain TCP alone",
);
/// Whether to probe idle links, and check for captive portals.
pub const PROBE: Key = key("probe", "true or false, without quotes");
/// Whether to create monitor interfaces. Without it: on radios on which slowhand joins access points.
pub const MONITOR: Key = key("monitor", "true or false, without quotes");
/// URL of the check for captive portals.
pub const PORTAL_URL: Key = key(
    "portal_url",
    "a URL in quotes, such as \"http://check.example/online\"",
);
/// How the reply to that check begins.
pub const PORTAL_RESPONSE: Key = key(
    "portal_response",
    "the beginning of the reply to portal_url in quotes, such as \"online\"",
);
/// The links.
pub const LINK: Key = key(
    "link",
    "a table that begins with [[link]] in two brackets for each link",
);
/// How connections of programs that do not ask for MPTCP are carried.
pub const RELAY: Key = key("relay", "a table that begins with [relay]");
/// Networks whose access points are joined.
pub const WIFI: Key = key("wifi", "a table that begins with [wifi]");
/// The radio that joins them.
pub const RADIO: Key = key(
    "radio",
    "the name of a radio in quotes as in `iw phy`, such as \"phy0\", or its hardware address",
);
/// Whether addresses of interfaces stay the same.
pub const MAC: Key = key("mac", "\"stable\" or \"random\"");
/// Whether the only place of a driver is taken from an interface of NetworkManager.
pub const TAKE_OVER: Key = key("take_over", "true or false, without quotes");
/// The networks.
pub const NETWORK: Key = key(
    "network",
    "a table that begins with [[wifi.network]] in two brackets for each network",
);
/// A network's name.
pub const SSID: Key = key("ssid", "the network's name in quotes, 1 to 32 bytes");
/// File with a network's key.
pub const PSK_FILE: Key = key("psk_file", "a path in quotes, such as \"/etc/slowhand/home.psk\"");
/// The least security of a network.
pub const SECURITY: Key = key(
    "security",
    "\"wpa2\" or \"wpa3\" beside `psk_file`, \"open\" or \"owe\" beside `open = true`",
);
/// Whether a network without encryption may be joined.
pub const OPEN: Key = key("open", "true or false, without quotes");
/// Whether a network's access points leave its name out of their beacons.
pub const HIDDEN: Key = key("hidden", "true or false, without quotes");
/// File with a network's login.
pub const LOGIN_FILE: Key = key(
    "login_file",
    "a path in quotes, such as \"/etc/slowhand/office.login\"",
);
/// A relay's address.
pub const ADDRESS: Key = key(
    "address",
    "an address or name with a port in quotes, such as \"relay.example:4433\"",
);
/// File with the key that the relay knows.
pub const KEY_FILE: Key = key(
    "key_file",
    "a path in quotes, such as \"/etc/slowhand/relay.key\"",
);
/// Which ways connections may take.
pub const WAY: Key = key("way", "\"auto\", \"always\" or \"direct\"");
/// Which first bytes of connections go with a request to the relay.
pub const EARLY_DATA: Key = key("early_data", "\"tls\", \"never\" or \"always\"");
/// Where SOCKS is served.
pub const SOCKS: Key = key(
    "socks",
    "a loopback address with a port in quotes, such as \"127.0.0.1:1080\"",
);
/// Connections that are left alone.
pub const BYPASS: Key = key(
    "bypass",
    "a list in brackets of networks, users and ports, such as [\"192.0.2.0/24\", \"uid:0\", \"port:22\"]",
);
/// Networks for flows that cannot use several links.
pub const NETWORKS: Key = key("networks", "a table that begins with [networks]");
/// The interface that programs see.
pub const STEADY_INTERFACE: Key = key(
    "interface",
    "a name of at most 15 characters in quotes, such as \"slow0\"",
);
/// Its address.
pub const STEADY_ADDRESS: Key = key("address", "an IPv4 address in quotes, such as \"100.64.0.1\"");
/// The address of the resolvers.
pub const STEADY_DNS: Key = key("dns", "an IPv4 address in quotes, such as \"100.64.0.53\"");
/// The network of certain flows.
pub const FLOW: Key = key(
    "flow",
    "a table that begins with [[flow]] in two brackets for each rule",
);
/// Flows of a user.
pub const USER: Key = key("user", "the number of a user, such as 1000");
/// Flows to a network.
pub const TO: Key = key("to", "an IPv4 network in quotes, such as \"192.0.2.0/24\"");
/// Flows to a port.
pub const PORT: Key = key("port", "a whole number from 1 to 65535, such as 51820");
/// Flows of marked sockets.
pub const MARK: Key = key("mark", "the number of `SO_MARK`, such as 7");
/// Flows of a cgroup.
pub const CGROUP: Key = key(
    "cgroup",
    "a path of cgroup v2 in quotes, such as \"system.slice/openvpn.service\"",
);
/// The link that carries those flows.
pub const FLOW_NETWORK: Key = key(
    "network",
    "a link in quotes, such as \"phone\", \"active\", \"spread\", or shares from 0 to 100 with one above 0, such as { wlan0 = 9, phone = 1 }",
);
/// What those flows do while it cannot carry them.
pub const FLOW_ELSE: Key = key("else", "\"active\" or \"hold\"");
/// A link's interface.
pub const INTERFACE: Key = key(
    "interface",
    "a name in quotes as in `ip link`, or a pattern such as \"wl*\"",
);
/// A link's name.
pub const NAME: Key = key("name", "a display name in quotes, such as \"phone\"");
/// A link's kind.
pub const KIND: Key = key("kind", "\"wifi\", \"cell\" or \"cable\"");
/// A link's role.
pub const ROLE: Key = key("role", "\"primary\", \"secondary\", \"backup\" or \"never\"");
/// Whether the user pays for a link by the byte.
pub const METERED: Key = key("metered", "true or false, without quotes");
/// A link's next hop.
pub const GATEWAY: Key = key("gateway", "an IP address in quotes, such as \"192.168.1.1\"");
/// A WiFi link's channel.
pub const CHANNEL: Key = key("channel", "the number of a WiFi channel, such as 6");

/// The keys of a file.
pub const OF_FILE: [Key; 16] = [
    POLICY,
    MODE,
    PEER_SUBFLOWS,
    CC,
    REPORT_KEY_FILE,
    REPORT_PORT,
    FALLBACK_WINDOW,
    PROBE,
    MONITOR,
    PORTAL_URL,
    PORTAL_RESPONSE,
    RELAY,
    WIFI,
    NETWORKS,
    FLOW,
    LINK,
];

/// The keys of a relay.
pub const OF_RELAY: [Key; 6] = [ADDRESS, KEY_FILE, WAY, EARLY_DATA, SOCKS, BYPASS];

/// The keys of the table of networks.
pub const OF_WIFI: [Key; 4] = [RADIO, MAC, TAKE_OVER, NETWORK];

/// The keys of a network.
pub const OF_NETWORK: [Key; 8] = [SSID, HIDDEN, PSK_FILE, SECURITY, LOGIN_FILE, OPEN, ROLE, METERED];

/// The keys of networks for flows.
pub const OF_NETWORKS: [Key; 3] = [STEADY_INTERFACE, STEADY_ADDRESS, STEADY_DNS];

/// The keys of a rule for flows.
pub const OF_FLOW: [Key; 7] = [USER, TO, PORT, MARK, CGROUP, FLOW_NETWORK, FLOW_ELSE];

/// The keys of a link.
pub const OF_LINK: [Key; 7] = [INTERFACE, NAME, KIND, ROLE, METERED, GATEWAY, CHANNEL];
