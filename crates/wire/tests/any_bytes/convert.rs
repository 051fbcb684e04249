//! The parsers of Convert messages return on any bytes. What they read can be written and read again.

use wire::convert::{HEADER, Reply, Request, header};
use wire::cookie::Cookie;
use wire::mobility::Key;

const KEY: Key = Key::new([5; 32]);

/// Fails if they do not.
pub fn read(bytes: &[u8]) {
    if let Some(first) = bytes.first_chunk() {
        let _ = header(*first);
    }
    if let Ok(request) = Request::parse(bytes) {
        let seal = |wanted: &[u8]| Cookie::seal(&KEY, 1, 2, wanted);
        let written = Request::write(request.wanted, seal);
        let again = Request::parse(&written[HEADER..]).expect("a written request is valid");
        assert_eq!(again.wanted, request.wanted);
    }
    if let Some(reply) = Reply::parse(bytes) {
        let _ = Reply::parse(&reply.write()[HEADER..]).expect("a written reply is valid");
    }
}
