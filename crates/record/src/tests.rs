//! Any fact is read as it was written; any damage is an error.

use super::*;
use crate::bytes::Reader;
use crate::codec::Codec;
use policy::{Config, ConnEvent, ConnId, Input, LinkEvent, LinkId, LinkKind, LinkSpec, Policy, Role};
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::time::Duration;
use units::{Dbm, Instant, Rng};

/// Whatever bytes are a fact. Most are small, so that many are.
fn fact(rng: &mut Rng) -> Option<Input> {
    let most = [3, 24][rng.next_u64() as usize % 2];
    let byte = |rng: &mut Rng| match rng.next_u64() {
        large if large & 15 == 0 => (large >> 8) as u8,
        small => (small >> 8) as u8 % most,
    };
    let bytes: Vec<u8> = (0..64).map(|_| byte(rng)).collect();
    Input::decode(&mut Reader::new(&bytes)).ok()
}

fn read_back(input: &Input) -> Input {
    let mut bytes = Vec::new();
    input.encode(&mut bytes);
    let mut reader = Reader::new(&bytes);
    let read = Input::decode(&mut reader).unwrap();
    assert_eq!(
        reader.at(),
        bytes.len(),
        "{input:?} is longer than what was read of it"
    );
    read
}

#[test]
fn every_kind_of_fact_is_read_as_it_was_written() {
    let mut rng = Rng::named(1, "facts");
    let mut missing: BTreeSet<String> = kinds().into_iter().collect();
    assert!(missing.len() > 40, "{missing:?}");
    for _ in 0..200_000 {
        if let Some(input) = fact(&mut rng) {
            assert_eq!(read_back(&input), input);
            missing.remove(&kind(&input));
        }
    }
    assert_eq!(missing, BTreeSet::new());
}

#[test]
fn the_largest_and_the_strangest_values_are_read_as_they_were_written() {
    let spec = LinkSpec {
        name: "wlan0\n\0ø".to_owned(),
        kind: LinkKind::Wifi,
        role: Role::Never,
        channel: Some(u16::MAX),
    };
    let answered = LinkEvent::ProbeAnswered {
        probe: u32::MAX,
        rtt: Duration::MAX,
    };
    for event in [
        LinkEvent::Appeared(spec),
        answered,
        LinkEvent::Beacon(Dbm::from_mbm(i32::MIN)),
    ] {
        let input = Input::Link(LinkId(u16::MAX), event);
        assert_eq!(read_back(&input), input);
    }
}

fn config() -> Config {
    Config {
        policy: Policy::Slowhand,
        peer_subflows: 2,
    }
}

/// An engine that was told some facts, as a world would.
fn recording(seed: u64, texts: bool) -> Vec<u8> {
    let buffer = Buffer::default();
    let asked = Recording {
        about: "any facts".to_owned(),
        seed: Some(seed),
        texts,
        out: Box::new(buffer.clone()),
    };
    let (mut engine, mut rng, mut now) = (
        Recorded::new(config(), Some(asked)),
        Rng::named(seed, "facts"),
        Instant::ZERO,
    );
    engine.handle(now, Input::Conn(ConnId(1), ConnEvent::Opened));
    for link in 0..2 {
        let spec = LinkSpec {
            name: format!("eth{link}"),
            kind: LinkKind::Cable,
            role: Role::Primary,
            channel: None,
        };
        let events = [
            LinkEvent::Appeared(spec),
            LinkEvent::Carrier(true),
            LinkEvent::Usable(true),
        ];
        events
            .into_iter()
            .for_each(|event| engine.handle(now, Input::Link(LinkId(link), event)));
    }
    while engine.poll().is_some() {}
    for _ in 0..200 {
        now += Duration::from_micros(rng.next_u64() % 20_000);
        match (0..20).find_map(|_| fact(&mut rng)) {
            Some(input) => engine.handle(now, input),
            None => engine.tick(now),
        }
        while engine.poll().is_some() {}
    }
    drop(engine);
    buffer.take()
}

#[test]
fn what_was_recorded_replays_identically() {
    for (seed, texts) in [(1, true), (2, false), (3, true)] {
        let bytes = recording(seed, texts);
        let replayed = replay(&bytes).unwrap();
        assert!(
            replayed.is_identical(),
            "{:?}",
            replayed.acts.map(|difference| difference.to_string())
        );
        assert!(replayed.calls > 200 && replayed.actions > 4, "{replayed:?}");
        assert_eq!(File::read(&bytes).unwrap().header().config, config());
        assert_eq!(with_new_sentences(&bytes).unwrap(), bytes);
    }
}

/// A recording whose entries `change` has changed.
fn changed(bytes: &[u8], change: impl FnOnce(&mut Vec<Entry>)) -> Vec<u8> {
    let file = File::read(bytes).unwrap();
    let mut entries: Vec<Entry> = file.entries().map(Result::unwrap).collect();
    change(&mut entries);
    let buffer = Buffer::default();
    let mut recorder = Recorder::new(file.header(), Box::new(buffer.clone()));
    entries.iter().for_each(|entry| recorder.keep(entry));
    drop(recorder);
    buffer.take()
}

#[test]
fn another_sentence_is_told_apart_from_another_action() {
    let bytes = recording(1, true);
    let with = |change: fn(&mut Polled)| {
        let bytes = changed(&bytes, |entries| {
            let acted = entries.iter_mut().find_map(|entry| match entry {
                Entry::Polled(polled) if polled.text.contains("note") => Some(polled),
                _ => None,
            });
            change(acted.expect("something is decided"));
        });
        (replay(&bytes).unwrap(), bytes)
    };
    let (same, _) = with(|_| ());
    assert!(same.is_identical());
    let (reworded, bytes) = with(|polled| polled.sentences ^= 1);
    assert!(reworded.acts.is_none() && reworded.sentences.is_some() && reworded.reworded == 1);
    assert!(
        replay(&with_new_sentences(&bytes).unwrap())
            .unwrap()
            .is_identical()
    );
    for change in [
        |polled: &mut Polled| polled.acts ^= 1,
        |polled: &mut Polled| polled.actions += 1,
        |polled: &mut Polled| polled.wake_at = None,
    ] {
        let (other, _) = with(change);
        let difference = other.acts.expect("a difference").to_string();
        assert!(
            difference.starts_with("call 7 at 0.000000 s: Link(LinkId(1), Usable(true))\n"),
            "{difference}"
        );
        assert!(
            difference.contains("\n  recorded: ") && difference.contains("\n  now: "),
            "{difference}"
        );
    }
}

#[test]
fn a_world_that_polls_seldom_is_recorded_too() {
    let buffer = Buffer::default();
    let asked = Recording {
        about: String::new(),
        seed: None,
        texts: true,
        out: Box::new(buffer.clone()),
    };
    let mut engine = Recorded::new(config(), Some(asked));
    for at in 0..3 {
        engine.handle(Instant::from_millis(at), Input::Resumed);
    }
    for _ in 0..2 {
        while engine.poll().is_some() {}
    }
    drop(engine);
    let bytes = buffer.take();
    let polls = File::read(&bytes)
        .unwrap()
        .entries()
        .filter(|entry| matches!(entry, Ok(Entry::Polled(_))));
    assert_eq!((polls.count(), replay(&bytes).unwrap().calls), (1, 3));
}

#[test]
fn a_failed_write_leaves_a_file_that_is_refused() {
    struct Full(usize, Buffer);
    impl std::io::Write for Full {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0 = self
                .0
                .checked_sub(bytes.len())
                .ok_or(std::io::ErrorKind::StorageFull)?;
            self.1.write(bytes)
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let buffer = Buffer::default();
    let out = Box::new(Full(60, buffer.clone()));
    let asked = Recording {
        about: String::new(),
        seed: None,
        texts: false,
        out,
    };
    let mut engine = Recorded::new(config(), Some(asked));
    for at in 0..100 {
        engine.handle(Instant::from_millis(at), Input::Resumed);
        while engine.poll().is_some() {}
    }
    drop(engine);
    assert_eq!(File::read(&buffer.take()).unwrap_err(), ReadError::Checksum);
}

#[test]
fn what_is_no_recording_is_refused_with_a_remedy() {
    let bytes = recording(1, false);
    let said = |bytes: &[u8]| File::read(bytes).unwrap_err().to_string();
    for other in [&b""[..], b"slowhand", b"{\"schema\": \"slowhand.trace/1\"}"] {
        assert_eq!(
            said(other),
            "no recording: it does not begin with `slowhand-record`; name a file that `--record` wrote"
        );
    }
    let mut newer = bytes.clone();
    newer[MAGIC.len()] = 2;
    assert_eq!(
        said(&newer),
        "format 2 of recordings; this program reads format 1: replay it with the slowhand that wrote it"
    );
    assert_eq!(
        said(&bytes[..bytes.len() - 1]),
        "damaged or cut off: the checksum in its last 8 bytes does not match; record it again"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn damage_is_an_error(cut in 0usize..20_000, flipped in 0usize..20_000, bit in 0u8..8) {
        let bytes = recording(4, true);
        prop_assert!(File::read(&bytes[..cut % bytes.len()]).is_err());
        let mut damaged = bytes.clone();
        damaged[flipped % bytes.len()] ^= 1 << bit;
        prop_assert!(File::read(&damaged).is_err());
    }

    /// Also with a correct checksum: whoever forges a file can forge that, too.
    #[test]
    fn no_bytes_make_reading_panic_or_grow(flips in prop::collection::vec((16usize..20_000, any::<u8>()), 1..6)) {
        let mut bytes = recording(5, true);
        for (place, value) in flips {
            let place = place % bytes.len();
            bytes[place] = value;
        }
        if let Ok(file) = File::read_unchecked(&bytes) {
            let entries: Vec<_> = file.entries().collect();
            prop_assert!(entries.len() <= bytes.len());
            prop_assert!(entries.iter().rev().skip(1).all(Result::is_ok));
        }
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let bytes = [&MAGIC[..], &[1], &bytes].concat();
        if let Ok(file) = File::read_unchecked(&bytes) {
            prop_assert!(file.entries().count() <= bytes.len());
        }
    }
}
