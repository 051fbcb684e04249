//! The table of imports: which room may know which, and what each may take from other people.
//!
//! The names are those of packages; `slowhand` is the room in `crates/cli`.

/// One room.
pub struct Room {
    /// Its package.
    pub name: &'static str,
    /// The rooms that it may import.
    pub rooms: &'static [&'static str],
    /// Other people's crates that it may import.
    pub crates: &'static [&'static str],
    /// Whether it is `no_std` outside tests.
    pub no_std: bool,
    /// What it must never know, and what would break if it did.
    pub never: &'static str,
}

/// A program that must not link some crates, not even by way of others.
pub struct LeanProgram {
    /// Its package.
    pub name: &'static str,
    /// What it must not link, in lists: packages, or how their names begin where a `*` follows.
    pub without: &'static [&'static [&'static str]],
    /// Why.
    pub because: &'static str,
}

/// Every program that must not link some crates.
pub const LEAN: &[LeanProgram] = &[DAEMON, RELAY];

/// Models, benchmarks and their tables. Papers are a part of `slowhand`.
const STUDIES: &[&str] = &[
    "lab",
    "links",
    "sim",
    "scenario",
    "blocks",
    "radio",
    "dash",
    "runs",
    "bench",
    "columns",
    "slowhand",
    "parquet*",
    "arrow*",
    "indicatif",
];

const RELAY: LeanProgram = LeanProgram {
    name: "relay",
    without: &[&["host", "slowhandd"], STUDIES],
    because: "it faces the Internet",
};

const DAEMON: LeanProgram = LeanProgram {
    name: "slowhandd",
    without: &[STUDIES],
    because: "it runs as root for weeks",
};

/// Every room, from the innermost to the outermost.
pub const ROOMS: &[Room] = &[
    Room {
        name: "units",
        rooms: &[],
        crates: &["libm"],
        no_std: true,
        never: "everything else, as every room uses its units",
    },
    Room {
        name: "wire",
        rooms: &["units"],
        crates: &["hmac", "sha2"],
        no_std: true,
        never: "sockets and policy: it only parses and writes bytes, so it can be fuzzed alone",
    },
    Room {
        name: "policy",
        rooms: &["units"],
        crates: &["libm"],
        no_std: true,
        never: "clocks, threads, files, serde, logging, libc, random numbers, bytes on the wire: it must decide the same in every world",
    },
    Room {
        name: "record",
        rooms: &["units", "policy"],
        crates: &["thiserror"],
        no_std: false,
        never: "worlds, wall clocks, serde: a recording holds the inputs of an engine, not where they come from",
    },
    Room {
        name: "links",
        rooms: &["units", "wire"],
        crates: &["libm", "thiserror"],
        no_std: true,
        never: "policy, hosts, clocks, threads, the OS: a medium must not know who uses it, or it could favour one of them",
    },
    Room {
        name: "trace",
        rooms: &["units", "policy"],
        crates: &[
            "annotate-snippets",
            "serde",
            "serde_json",
            "strsim",
            "thiserror",
            "unicode-width",
        ],
        no_std: false,
        never: "how anything is decided: it only records, and all output is drawn from its records",
    },
    Room {
        name: "scenario",
        rooms: &["units", "links", "trace"],
        crates: &["serde", "thiserror", "toml"],
        no_std: false,
        never: "sim, lab, linux: the same file runs in every world",
    },
    Room {
        name: "blocks",
        rooms: &["units", "policy", "trace", "scenario"],
        crates: &[],
        no_std: false,
        never: "sim, lab, linux: both modelled worlds fetch what it chooses",
    },
    Room {
        name: "radio",
        rooms: &["units", "policy", "links", "scenario"],
        crates: &[],
        no_std: false,
        never: "sim, lab, linux: both modelled worlds carry out what it orders",
    },
    Room {
        name: "sim",
        rooms: &[
            "units", "wire", "links", "policy", "blocks", "radio", "record", "scenario", "trace",
        ],
        crates: &["hdrhistogram", "thiserror"],
        no_std: false,
        never: "the OS, a wall clock, threads inside one world: one seed must give one run, byte for byte",
    },
    Room {
        name: "linux",
        rooms: &["units", "wire", "policy", "record", "trace"],
        crates: &[
            "libbpf-rs",
            "libbpf-sys",
            "libc",
            "nix",
            "rustls",
            "rustls-native-certs",
            "serde",
            "serde_json",
            "socket2",
            "thiserror",
            "tracing",
            "zbus",
        ],
        no_std: false,
        never: "scenario, sim, lab, links: it runs on real hosts, without models",
    },
    Room {
        name: "lab",
        rooms: &[
            "units", "wire", "policy", "blocks", "radio", "record", "links", "trace", "scenario", "linux",
        ],
        crates: &["hdrhistogram", "libc", "nix", "sha2", "socket2", "thiserror"],
        no_std: false,
        never: "sim: worlds must not depend on each other",
    },
    Room {
        name: "show",
        rooms: &["trace"],
        crates: &["anyhow", "serde", "serde_json", "terminal_size", "unicode-width"],
        no_std: false,
        never: "what it prints: the daemon and all commands use it",
    },
    Room {
        name: "dash",
        rooms: &["units", "trace", "show"],
        crates: &["thiserror"],
        no_std: false,
        never: "linux, sim, policy: it draws recorded and live runs alike",
    },
    Room {
        name: "host",
        rooms: &["units", "wire", "policy", "trace", "linux", "show"],
        crates: &[
            "clap",
            "libc",
            "nix",
            "serde",
            "serde_json",
            "thiserror",
            "toml",
            "tracing",
            "tracing-subscriber",
        ],
        no_std: false,
        never: "scenario, sim, lab, dash: the daemon links it",
    },
    Room {
        name: "slowhandd",
        rooms: &["policy", "record", "trace", "linux", "show", "host"],
        crates: &[
            "anyhow",
            "clap",
            "nix",
            "sd-notify",
            "serde_json",
            "thiserror",
            "tracing",
        ],
        no_std: false,
        never: "scenario, sim, lab, dash, benches, papers: it runs as root for weeks",
    },
    Room {
        name: "relay",
        rooms: &["units", "wire", "trace", "linux"],
        crates: &[
            "anyhow",
            "clap",
            "nix",
            "serde",
            "serde_json",
            "socket2",
            "thiserror",
            "tokio",
            "toml",
        ],
        no_std: false,
        never: "host, scenario, sim, lab, dash, benches: it faces the Internet",
    },
    Room {
        name: "runs",
        rooms: &[
            "units", "policy", "record", "trace", "scenario", "linux", "lab", "show",
        ],
        crates: &["anyhow", "clap", "indicatif", "libc", "nix"],
        no_std: false,
        never: "what the runs are for: `play` and the benches use it",
    },
    Room {
        name: "bench",
        rooms: &[
            "units", "wire", "policy", "links", "trace", "scenario", "sim", "linux", "lab", "show", "runs",
        ],
        crates: &["anyhow", "clap", "libc", "serde_json", "socket2"],
        no_std: false,
        never: "the program that calls it",
    },
    Room {
        name: "guest",
        rooms: &["units", "wire", "links", "scenario"],
        crates: &[
            "anyhow",
            "clap",
            "nix",
            "serde",
            "serde_json",
            "sha2",
            "socket2",
            "thiserror",
        ],
        no_std: false,
        never: "policy, linux and the programs: it runs slowhand as a built program, as any user's host would, over the models of links",
    },
    Room {
        name: "columns",
        rooms: &[],
        crates: &["parquet", "serde_json", "thiserror"],
        no_std: false,
        never: "runs, and what makes them: only the command writes tables, and the daemon must not link a Parquet writer",
    },
    Room {
        name: "slowhand",
        rooms: &[
            "units", "wire", "policy", "record", "links", "trace", "scenario", "sim", "linux", "lab", "dash",
            "columns", "show", "host", "relay", "runs", "bench",
        ],
        crates: &[
            "anyhow",
            "clap",
            "clap_complete",
            "clap_mangen",
            "libc",
            "nix",
            "serde",
            "serde_json",
            "terminal_size",
            "thiserror",
            "toml",
            "tracing",
        ],
        no_std: false,
        never: "nothing: it may import everything, and nothing imports it",
    },
    Room {
        name: "xtask",
        rooms: &[],
        crates: &["anyhow", "proc-macro2", "serde", "serde_json", "syn", "toml"],
        no_std: false,
        never: "the rooms: the rules must run even if a room does not compile",
    },
];
