//! A terminal that shows one page, drawn again and again, and gets its former content back at the end.

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::sys::termios::{self, LocalFlags, SetArg, Termios};
use std::io::{self, Read as _, Write as _};
use std::os::fd::AsFd as _;
use std::time::{Duration, Instant};

const ALTERNATE: &str = "\x1b[?1049h\x1b[?25l";
const FORMER: &str = "\x1b[?25h\x1b[?1049l";
const HOME: &str = "\x1b[H";
const CLEAR_LINE: &str = "\x1b[K";
const CLEAR_BELOW: &str = "\x1b[J";
/// Ctrl-C, as a byte.
const INTERRUPT: u8 = 3;

/// What ended a wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// The time is over, or the terminal has another size.
    Due,
    /// The user or a signal wants the program to end.
    Leave,
}

/// The terminal behind standard input and output. Dropped, it restores what it showed.
#[derive(Debug)]
pub struct Screen {
    signals: SignalFd,
    former: Termios,
}

impl Screen {
    /// Takes the terminal over.
    pub fn open() -> io::Result<Self> {
        let signals = [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP, Signal::SIGWINCH];
        let signals = SigSet::from_iter(signals);
        signals.thread_block()?;
        let former = termios::tcgetattr(io::stdin())?;
        let mut keys = former.clone();
        keys.local_flags -= LocalFlags::ICANON | LocalFlags::ECHO | LocalFlags::ISIG;
        let screen = Self {
            signals: SignalFd::with_flags(&signals, SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC)?,
            former,
        };
        termios::tcsetattr(io::stdin(), SetArg::TCSADRAIN, &keys)?;
        write(ALTERNATE)?;
        Ok(screen)
    }

    /// Shows the first `height` lines of a page in place of the last one.
    pub fn draw(&self, page: &str, height: usize) -> io::Result<()> {
        let lines = page
            .lines()
            .take(height)
            .map(|line| format!("{line}{CLEAR_LINE}"));
        let lines = Vec::from_iter(lines).join("\r\n");
        write(&format!("{HOME}{lines}{CLEAR_BELOW}"))
    }

    /// Waits for this time, or until somebody wants the program to end.
    pub fn wait(&mut self, time: Duration) -> io::Result<Ended> {
        let until = Instant::now() + time;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let timeout = PollTimeout::try_from(left).unwrap_or(PollTimeout::MAX);
            let input = io::stdin();
            let (input, signals) = (input.as_fd(), self.signals.as_fd());
            let mut both = [
                PollFd::new(input, PollFlags::POLLIN),
                PollFd::new(signals, PollFlags::POLLIN),
            ];
            if poll(&mut both, timeout)? == 0 {
                return Ok(Ended::Due);
            }
            let has_keys = both[0].any().unwrap_or(true);
            if has_keys && wants_to_leave()? {
                return Ok(Ended::Leave);
            }
            match self.signals.read_signal()? {
                Some(signal) if signal.ssi_signo == Signal::SIGWINCH as u32 => return Ok(Ended::Due),
                Some(_) => return Ok(Ended::Leave),
                None => {}
            }
        }
    }
}

/// Reads the keys that were pressed. The end of the input ends the program, too.
fn wants_to_leave() -> io::Result<bool> {
    let mut keys = [0; 64];
    let length = io::stdin().read(&mut keys)?;
    Ok(length == 0
        || keys[..length]
            .iter()
            .any(|key| matches!(key, b'q' | b'Q' | &INTERRUPT)))
}

fn write(text: &str) -> io::Result<()> {
    let mut out = io::stdout();
    out.write_all(text.as_bytes())?;
    out.flush()
}

impl Drop for Screen {
    fn drop(&mut self) {
        // The terminal may be gone.
        let _ = write(FORMER);
        let _ = termios::tcsetattr(io::stdin(), SetArg::TCSADRAIN, &self.former);
    }
}
