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
pub struct Lean {
    /// Its package.
    pub name: &'static str,
    /// What it must not link: packages, or how their names begin where a `*` follows.
    pub without: &'static [&'static str],
    /// Why.
    pub because: &'static str,
}

/// Every such program.
pub const LEAN: &[Lean] = &[Lean {
    name: "slowhandd",
    // Papers are a part of `slowhand`.
    without: &[
        "lab", "links", "sim", "scenario", "dash", "runs", "bench", "columns", "slowhand", "parquet*",
        "arrow*",
    ],
    because: "it runs as root for weeks",
}];

/// Every room, from the innermost to the outermost.
pub const ROOMS: &[Room] = &[
    Room {
        name: "units",
        rooms: &[],
        crates: &["libm"],
        no_std: true,
        never: "anything: every room speaks in its numbers",
    },
    Room {
        name: "wire",
        rooms: &["units"],
        crates: &["hmac", "sha2"],
        no_std: true,
        never: "sockets and policy: bytes to values and back is all it does, so that it can be fuzzed alone",
    },
    Room {
        name: "policy",
        rooms: &["units"],
        crates: &["libm"],
        no_std: true,
        never: "clocks, threads, files, serde, logging, libc, random numbers, bytes on the wire: the same decision in every world",
    },
    Room {
        name: "record",
        rooms: &["units", "policy"],
        crates: &["thiserror"],
        no_std: false,
        never: "worlds, wall clocks, serde: a recording holds what the engine was told and nothing of who told it",
    },
    Room {
        name: "links",
        rooms: &["units", "wire"],
        crates: &["libm", "thiserror"],
        no_std: true,
        never: "policy, hosts, clocks, threads, the OS: a medium that knew who uses it could favour somebody",
    },
    Room {
        name: "trace",
        rooms: &["units", "policy"],
        crates: &["annotate-snippets", "serde", "serde_json", "strsim", "thiserror"],
        no_std: false,
        never: "how anything is decided: it records, and every face is drawn from its records",
    },
    Room {
        name: "scenario",
        rooms: &["units", "links", "trace"],
        crates: &["serde", "thiserror", "toml"],
        no_std: false,
        never: "sim, lab, linux: the same file plays in every world",
    },
    Room {
        name: "sim",
        rooms: &["units", "wire", "links", "policy", "record", "scenario", "trace"],
        crates: &["thiserror"],
        no_std: false,
        never: "the OS, a wall clock, threads inside one world: one seed, one run, byte for byte",
    },
    Room {
        name: "linux",
        rooms: &["units", "wire", "policy", "record", "trace"],
        crates: &[
            "libbpf-rs",
            "libbpf-sys",
            "libc",
            "nix",
            "socket2",
            "thiserror",
            "tracing",
        ],
        no_std: false,
        never: "scenario, sim, lab, links: it runs on hosts that have never heard of them",
    },
    Room {
        name: "lab",
        rooms: &[
            "units", "wire", "policy", "record", "links", "trace", "scenario", "linux",
        ],
        crates: &["hdrhistogram", "libc", "nix", "sha2", "socket2", "thiserror"],
        no_std: false,
        never: "sim: two worlds that lean on each other are one",
    },
    Room {
        name: "dash",
        rooms: &["units", "trace"],
        crates: &["thiserror"],
        no_std: false,
        never: "linux, sim, policy: it draws a recorded run as well as a live one",
    },
    Room {
        name: "show",
        rooms: &["trace"],
        crates: &["anyhow", "serde", "serde_json", "terminal_size"],
        no_std: false,
        never: "what is shown: the daemon and every command print by it",
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
        never: "scenario, sim, lab, dash: the daemon is built from it",
    },
    Room {
        name: "slowhandd",
        rooms: &["policy", "trace", "linux", "show", "host"],
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
        name: "runs",
        rooms: &[
            "units", "policy", "record", "trace", "scenario", "linux", "lab", "show",
        ],
        crates: &["anyhow", "clap", "libc", "nix"],
        no_std: false,
        never: "what is asked for: `play` and the benches run by it",
    },
    Room {
        name: "bench",
        rooms: &[
            "units", "wire", "policy", "links", "trace", "scenario", "sim", "linux", "lab", "show", "runs",
        ],
        crates: &["anyhow", "clap", "libc", "serde_json"],
        no_std: false,
        never: "the program that asks for it",
    },
    Room {
        name: "columns",
        rooms: &[],
        crates: &["parquet", "serde_json", "thiserror"],
        no_std: false,
        never: "runs, and whoever makes them: only the command writes tables, and the daemon must not carry a Parquet writer",
    },
    Room {
        name: "slowhand",
        rooms: &[
            "units", "wire", "policy", "record", "links", "trace", "scenario", "sim", "linux", "lab", "dash",
            "columns", "show", "host", "runs", "bench",
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
        never: "nothing is barred to it, and nothing imports it",
    },
    Room {
        name: "xtask",
        rooms: &[],
        crates: &["anyhow", "proc-macro2", "serde", "serde_json", "syn", "toml"],
        no_std: false,
        never: "the rooms: the rules must run while a room does not compile",
    },
];
