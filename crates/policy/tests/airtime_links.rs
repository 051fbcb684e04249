//! The client's airtime estimate equals the airtime of `links`' medium, at every rate.

use policy::estimate::airtime::{Exchange, Form, RETRIES};
use units::wifi::Standard;
use units::{Bitrate, Ratio};

#[test]
fn the_estimate_equals_the_mediums_airtime() {
    assert_eq!(RETRIES + 1, links::wifi::ATTEMPTS);
    for standard in [Standard::A, Standard::B, Standard::G] {
        for &kbps in standard.rates_kbps() {
            for (bytes, percent) in [
                (52, 0),
                (576, 10),
                (1_500, 30),
                (1_500, 60),
                (1_500, 90),
                (40, 99),
            ] {
                let (rate, loss) = (
                    Bitrate::from_kbps(kbps.into()),
                    Ratio::from_fraction(percent, 100),
                );
                let here = Exchange::legacy(standard, rate, bytes).airtime(Form::PerDelivered, loss);
                let there = links::wifi::per_delivered(standard, rate, bytes, loss.as_f64());
                let apart = here.unwrap().abs_diff(there.unwrap());
                assert!(
                    apart.as_nanos() <= 1,
                    "{standard:?} {rate} {bytes} B {loss}: {here:?} and {there:?}"
                );
            }
        }
    }
}

#[test]
fn a_dead_link_is_dead_in_both() {
    let rate = Bitrate::from_mbps(54);
    let here = Exchange::legacy(Standard::G, rate, 1_500).airtime(Form::PerDelivered, Ratio::ONE);
    assert_eq!(
        (here, links::wifi::per_delivered(Standard::G, rate, 1_500, 1.0)),
        (None, None)
    );
}
