//! SOCKS messages under random bytes.

use proptest::prelude::*;
use std::net::{IpAddr, SocketAddr};
use wire::socks::{MOST, Wanted, choose, greeting, request};

proptest! {
    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = Wanted::parse(&bytes);
        let _ = choose(&bytes);
        if let Some(head) = bytes.first_chunk() && let Ok(length) = greeting(*head) {
            prop_assert!(length <= MOST);
        }
        if let Some(head) = bytes.first_chunk() && let Ok(length) = request(*head) {
            prop_assert!(length <= MOST);
        }
    }

    #[test]
    fn any_server_is_read_as_written(address: IpAddr, port: u16, name in "[!-~]{1,255}") {
        for wanted in [Wanted::Address(SocketAddr::new(address, port)), Wanted::Name(name, port)] {
            prop_assert_eq!(Wanted::parse(&wanted.write().unwrap()), Ok(wanted));
        }
    }
}
