//! The fuzz targets `convert`, `dhcp`, `dot11` and `socks` of `fuzz/`, on their seeds, whole and damaged.

mod convert;
mod damage;
mod dhcp;
mod dot11;
mod socks;

#[test]
fn seeds_and_damaged_ones_are_read() {
    damage::each("convert", convert::read);
    damage::each("dhcp", dhcp::read);
    damage::each("dot11", dot11::read);
    damage::each("socks", socks::read);
}
