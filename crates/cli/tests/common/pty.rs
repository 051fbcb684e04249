//! Runs a command on a terminal of a given width.

use std::fs::File;
use std::io::Read as _;
use std::os::fd::{FromRawFd as _, OwnedFd};
use std::process::Command;

/// A pseudo-terminal with this many columns: the side that reads the output, and the program's side.
pub fn terminal(columns: u16) -> (File, OwnedFd) {
    let size = libc::winsize {
        ws_row: 24,
        ws_col: columns,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    let (mut reader, mut program) = (-1, -1);
    let none = std::ptr::null_mut();
    // SAFETY: both numbers are written before they are used, and each is owned once.
    unsafe {
        let made = libc::openpty(
            &raw mut reader,
            &raw mut program,
            none,
            none.cast(),
            &raw const size,
        );
        assert_eq!(made, 0, "{}", std::io::Error::last_os_error());
        // Programs that are started inherit the other side only: this one is the terminal itself.
        libc::fcntl(reader, libc::F_SETFD, libc::FD_CLOEXEC);
        (File::from_raw_fd(reader), OwnedFd::from_raw_fd(program))
    }
}

/// Everything that a command shows on a terminal, line ends as in files.
pub fn shown(mut command: Command, columns: u16) -> String {
    let (mut reader, side) = terminal(columns);
    command.stdout(side.try_clone().unwrap()).stderr(side);
    let mut child = command.spawn().unwrap();
    // Its ends in this process are gone, so that reading ends with the program.
    drop(command);
    let mut text = Vec::new();
    // Reading from a terminal that no program has open is an error.
    drop(reader.read_to_end(&mut text));
    child.wait().unwrap();
    String::from_utf8(text).unwrap().replace("\r\n", "\n")
}
