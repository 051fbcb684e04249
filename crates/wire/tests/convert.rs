//! Convert messages under random bytes and random changes of valid messages.

use proptest::prelude::*;
use std::net::{IpAddr, SocketAddr};
use wire::convert::{HEADER, Reply, Request, Wanted, header};
use wire::cookie::Cookie;
use wire::mobility::Key;

const KEY: Key = Key::new([3; 32]);

fn written(server: SocketAddr) -> Vec<u8> {
    Request::write(Wanted::Connect(server), |wanted| Cookie::seal(&KEY, 7, 8, wanted))
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = Request::parse(&bytes);
        let _ = Reply::parse(&bytes);
        if let Some(first) = bytes.first_chunk() {
            let _ = header(*first);
        }
    }

    #[test]
    fn any_server_is_read_as_written(address: IpAddr, port: u16) {
        let server = SocketAddr::new(address, port);
        let read = Request::parse(&written(server)[HEADER..]).unwrap();
        // An IPv4-mapped address is read as the IPv4 address that it is.
        prop_assert_eq!(read.wanted, Wanted::Connect(SocketAddr::new(address.to_canonical(), port)));
    }

    #[test]
    fn a_changed_request_is_never_authentic(address: IpAddr, at in HEADER..68_usize, flip in 1..=255_u8) {
        let mut message = written(SocketAddr::new(address, 443));
        message[at] ^= flip;
        if let Ok(read) = Request::parse(&message[HEADER..]) {
            let authentic = read.cookie.is_some_and(|cookie| cookie.is_signed(&KEY, &read.signed));
            // Two reserved bytes of the Cookie TLV have no meaning.
            prop_assert_eq!(authentic, matches!(at, 26 | 27));
        }
    }
}
