//! The parsers of WiFi messages return on any bytes from the kernel, and what they found can be put in words.

#![no_main]

#[path = "../../crates/linux/tests/wifi_messages/nl80211.rs"]
mod nl80211;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    nl80211::read(bytes);
});
