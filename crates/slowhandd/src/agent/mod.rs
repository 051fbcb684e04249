//! Starts an agent beside the daemon, and redirects connections of programs to it.
//!
//! Two processes belong to the daemon: `slowhand-relay agent`, and `nft`, which owns the redirection. Both
//! end when their standard input does, and the kernel removes a table with its owner. However the daemon or
//! the agent ends, the redirection ends with it, and programs connect directly.

mod user;

use host::config::{Bypass, RelayConfig, WayChoice};
use linux::doctor;
use linux::nft;
use linux::redirect;
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;
use trace::agent::{ASK, Agent, Ports};

const NAME: &str = "slowhand-relay";
/// Where packages install it.
const INSTALLED: [&str; 2] = ["/usr/libexec/slowhand-relay", "/usr/bin/slowhand-relay"];
/// Time in which an agent must answer.
const ANSWERS: Duration = Duration::from_secs(1);
/// Pause before an agent that ended starts again.
const AGAIN: Duration = Duration::from_secs(1);

/// An agent, restarted until this is dropped.
pub struct Supervised {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

/// Answers questions about the agent.
#[derive(Clone)]
pub struct Questions(Arc<Shared>);

/// What is running.
#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    /// Notified when `stopping` is set.
    stop: Condvar,
}

#[derive(Default)]
struct State {
    stopping: bool,
    running: Option<Running>,
}

struct Running {
    table: nft::Table,
    questions: ChildStdin,
    answers: Receiver<String>,
}

/// How to start an agent.
struct Plan {
    program: PathBuf,
    arguments: Vec<String>,
    config: RelayConfig,
    interfaces: Vec<String>,
    /// Where the agent answers Prometheus.
    metrics: PathBuf,
}

/// Why an agent did not start, or what ended it.
#[derive(Debug, thiserror::Error)]
enum AgentError {
    #[error("`{NAME}` cannot be started ({0}); install it beside slowhandd")]
    Start(#[source] io::Error),
    #[error("it printed no ports; its last lines say why")]
    NoPorts,
    #[error(transparent)]
    Table(#[from] nft::TableError),
    #[error("it ended")]
    Ended,
}

/// Starts an agent for connections that leave over `interfaces`, which may be patterns. It answers Prometheus
/// on the Unix socket `metrics`.
pub fn start(config: &RelayConfig, interfaces: Vec<String>, metrics: PathBuf) -> io::Result<Supervised> {
    let plan = Plan {
        program: program(),
        arguments: arguments(config),
        config: config.clone(),
        interfaces,
        metrics,
    };
    let shared = Arc::<Shared>::default();
    let known = shared.clone();
    let thread = std::thread::Builder::new()
        .name("agent".to_owned())
        .spawn(move || known.supervise(&plan))?;
    Ok(Supervised {
        shared,
        thread: Some(thread),
    })
}

fn program() -> PathBuf {
    let own = std::env::current_exe().ok();
    let beside = own.and_then(|own| Some(own.parent()?.join(NAME)));
    let mut places = beside.into_iter().chain(INSTALLED.map(PathBuf::from));
    places
        .find(|place| place.is_file())
        .unwrap_or_else(|| NAME.into())
}

fn arguments(config: &RelayConfig) -> Vec<String> {
    let mut arguments = Vec::from(["agent", "--way", config.way.as_str()].map(str::to_owned));
    if let Some(server) = config.server.as_ref().filter(|_| config.way != WayChoice::Direct) {
        arguments.extend(["--relay".to_owned(), server.address.clone()]);
        arguments.extend(["--key-file".to_owned(), server.key_file.display().to_string()]);
        arguments.extend(["--early-data", server.early_data.as_str()].map(str::to_owned));
    }
    if let Some(socks) = config.socks {
        arguments.extend(["--socks".to_owned(), socks.to_string()]);
    }
    arguments
}

impl Supervised {
    /// Answers questions about the agent.
    pub fn questions(&self) -> Questions {
        Questions(self.shared.clone())
    }
}

impl Drop for Supervised {
    /// Removes the redirection first, then ends the agent.
    fn drop(&mut self) {
        let running = {
            let mut state = self.shared.state();
            state.stopping = true;
            state.running.take()
        };
        self.shared.stop.notify_all();
        if let Some(running) = running {
            running.table.remove();
        }
        if let Some(thread) = self.thread.take() {
            // It has no reason to panic, and then there is nothing left to end.
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn supervise(&self, plan: &Plan) {
        let mut last = String::new();
        loop {
            let problem = self.run_once(plan).to_string();
            // Programs connect directly from now on.
            self.state().running = None;
            let state = self.state();
            if state.stopping {
                // An agent that was killed has left it.
                let _ = std::fs::remove_file(&plan.metrics);
                return;
            }
            if problem != last {
                tracing::warn!(
                    "the agent does not run: {problem}; programs connect directly, it is tried again"
                );
                last = problem;
            }
            let pause = self
                .stop
                .wait_timeout_while(state, AGAIN, |state| !state.stopping);
            if pause.unwrap_or_else(PoisonError::into_inner).0.stopping {
                let _ = std::fs::remove_file(&plan.metrics);
                return;
            }
        }
    }

    /// Runs an agent until it ends.
    fn run_once(&self, plan: &Plan) -> AgentError {
        let (mut child, questions) = match spawn(plan) {
            Ok(started) => started,
            Err(error) => return AgentError::Start(error),
        };
        let problem = self.attend(plan, &mut child, questions);
        // Its standard input is closed by now, which ends it.
        self.state().running = None;
        let _ = child.wait();
        problem
    }

    fn attend(&self, plan: &Plan, child: &mut Child, questions: ChildStdin) -> AgentError {
        let Some(out) = child.stdout.take() else {
            return AgentError::NoPorts;
        };
        let mut lines = BufReader::new(out).lines().map_while(Result::ok);
        let ports = lines.next().and_then(|line| Ports::parse(&line));
        let Some(ports) = ports else {
            return AgentError::NoPorts;
        };
        let bypass = plan.config.bypass.iter().map(in_nft);
        let rules = redirect::table(bypass, &plan.interfaces, ports);
        let table = match nft::Table::install(&rules, redirect::CHAIN) {
            Ok(table) => table,
            Err(error) => return error.into(),
        };
        let (sender, answers) = channel();
        let running = Running {
            table,
            questions,
            answers,
        };
        {
            let mut state = self.state();
            if state.stopping {
                return AgentError::Ended;
            }
            state.running = Some(running);
        }
        tracing::info!("connections of programs go through the agent");
        forward(lines, &sender);
        AgentError::Ended
    }
}

fn forward(lines: impl Iterator<Item = String>, to: &Sender<String>) {
    for line in lines {
        // The daemon stops.
        if to.send(line).is_err() {
            return;
        }
    }
}

fn spawn(plan: &Plan) -> io::Result<(Child, ChildStdin)> {
    let mut command = Command::new(&plan.program);
    command.args(&plan.arguments).process_group(0);
    command.arg("--metrics").arg(&plan.metrics);
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn()?;
    let questions = child.stdin.take().ok_or(io::ErrorKind::BrokenPipe)?;
    Ok((child, questions))
}

impl Questions {
    /// The agent's connections, with the user of each. `None` if it does not run or does not answer.
    pub fn ask(&self) -> Option<Agent> {
        let mut agent = {
            let mut state = self.0.state();
            let running = state.running.as_mut()?;
            // Late answers to earlier questions.
            while running.answers.try_recv().is_ok() {}
            writeln!(running.questions, "{ASK}").ok()?;
            let line = running.answers.recv_timeout(ANSWERS).ok()?;
            Agent::parse(&line)?
        };
        user::name(&mut agent);
        agent.blackhole = doctor::blackholed();
        Some(agent)
    }
}

/// Checks a configuration before anything is changed.
pub fn check(config: &RelayConfig, interfaces: &[String]) -> Result<(), String> {
    if let Some(server) = &config.server {
        let read = host::report_key::read_from(Path::new(&server.key_file), "copy it from the relay");
        read.map_err(|error| format!("[relay] {error}"))?;
    }
    interfaces.iter().try_for_each(|name| redirect::check(name))
}

/// What a bypass matches, in the words of nftables.
fn in_nft(bypass: &Bypass) -> String {
    match bypass {
        Bypass::Network(address, _) if address.is_ipv4() => format!("ip daddr {bypass}"),
        Bypass::Network(..) => format!("ip6 daddr {bypass}"),
        Bypass::User(_) => format!("meta skuid {bypass}"),
        Bypass::Port(_) => format!("tcp dport {bypass}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bypass_is_a_match_of_nftables() {
        let matched = |text: &str| in_nft(&text.parse().unwrap());
        for (text, rule) in [
            ("uid:7", "meta skuid 7"),
            ("port:22", "tcp dport 22"),
            ("192.0.2.0/24", "ip daddr 192.0.2.0/24"),
            ("2001:db8::/32", "ip6 daddr 2001:db8::/32"),
        ] {
            assert_eq!(matched(text), rule);
        }
    }
}
