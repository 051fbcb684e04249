//! A run that is over leaves nothing behind, whatever state its connections were in.

mod plans;
mod witness;

use lab::stop::Stop;
use lab::world::{Play, play};
use linux::netns::Netns;
use linux::rtnl::Rtnl;
use std::time::Duration;
use trace::PolicyName;
use witness::Witnesses;

#[test]
fn soon_after_a_run_its_namespaces_are_gone() {
    // Dead links leave connections that nobody can close in order.
    let fault = "[[faults]]\nat_s = 1\nlinks = [\"left\", \"right\"]\nkind = \"blackhole\"\n";
    let plan = plans::two_cables(3, &format!("{}{fault}", plans::DOWNLOAD));
    let home = Netns::new().expect("this test needs root");
    let mut rtnl = home.run(Rtnl::open).unwrap().unwrap();
    let mut witnesses = None;
    play(&Play::new(&plan, PolicyName::Mptcp), &Stop::new(), &mut |event| {
        if witnesses.is_none() && event.t_ns > 1_500_000_000 {
            witnesses = Some(Witnesses::place(
                &mut rtnl,
                std::process::id(),
                Some(home.id().unwrap()),
            ));
        }
    })
    .unwrap();
    let witnesses = witnesses.expect("something happened after a second and a half");
    assert_eq!(witnesses.len(), 2, "a client and a server");
    witnesses.watch_until_gone(&mut rtnl, Duration::from_secs(20));
}
