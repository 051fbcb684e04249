//! The parsers of SOCKS messages return on any bytes, and never ask for more than a message may have. What
//! they read can be written and read again.

use wire::socks::{MOST, Wanted, choose, greeting, request};

/// Fails if they do not.
pub fn read(bytes: &[u8]) {
    if let Some(Ok(length)) = bytes.first_chunk().map(|head| greeting(*head)) {
        assert!(length <= MOST);
        let _ = choose(&bytes[..length.min(bytes.len())]);
    }
    if let Some(Ok(length)) = bytes.first_chunk().map(|head| request(*head)) {
        assert!(length <= MOST);
    }
    if let Ok(wanted) = Wanted::parse(bytes) {
        let written = wanted.write().expect("a name that was read fits");
        assert_eq!(Wanted::parse(&written), Ok(wanted));
    }
}
