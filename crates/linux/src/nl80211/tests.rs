use super::able::{Able, Around, finding, places_beside, stations_beside};
use super::rfkill::{Switch, switches, wifi_interfaces};
use super::*;
use crate::netlink::{Attrs, Messages};
use proptest::prelude::*;
use units::{Bitrate, Bytes, Dbm, Duration, MacAddr};

/// The attributes that `fill` writes.
fn attributes(fill: impl FnOnce(&mut Builder)) -> Vec<u8> {
    let mut builder = Builder::new();
    builder.start(0, 0);
    fill(&mut builder);
    builder.as_bytes()[16..].to_vec()
}

fn flags(types: &[IfType]) -> impl FnOnce(&mut Builder) + '_ {
    move |nest| {
        for kind in types {
            nest.attr(*kind as u16, &[]);
        }
    }
}

#[test]
fn a_radio_is_joined_from_the_parts_of_a_split_dump() {
    let first = attributes(|all| {
        all.u32(attr::WIPHY, 3)
            .str0(attr::WIPHY_NAME, "phy3")
            .nested(
                attr::SUPPORTED_IFTYPES,
                flags(&[IfType::Station, IfType::Monitor]),
            )
            .nested(attr::SOFTWARE_IFTYPES, flags(&[IfType::Monitor]));
    });
    let second = attributes(|all| {
        all.u32(attr::WIPHY, 3).nested(attr::WIPHY_BANDS, |bands| {
            bands.nested(0, |band| {
                band.nested(1, |list| {
                    list.nested(0, |one| {
                        one.u32(1, 2_437);
                    });
                    list.nested(1, |one| {
                        one.u32(1, 2_484).attr(2, &[]).attr(3, &[]);
                    });
                });
            });
        });
    });
    let third = attributes(|all| {
        all.u32(attr::WIPHY, 3)
            .nested(attr::INTERFACE_COMBINATIONS, |list| {
                list.nested(1, |one| {
                    one.nested(1, |limits| {
                        limits.nested(1, |limit| {
                            limit.u32(1, 4).nested(2, flags(&[IfType::Station]));
                        });
                    })
                    .u32(2, 4)
                    .u32(4, 1);
                });
            });
    });
    let other = attributes(|all| {
        all.u32(attr::WIPHY, 4);
    });
    let parts = [&first, &second, &other, &third].map(|part| Wiphy::parse(Attrs::new(part)).unwrap());
    let whole = wiphys_of(parts.to_vec());
    assert_eq!(whole.len(), 2);
    let radio = &whole[0];
    assert_eq!((radio.index, radio.name.as_str()), (3, "phy3"));
    let channels: Vec<(u32, bool, bool)> = radio
        .frequencies
        .iter()
        .map(|channel| (channel.mhz, channel.disabled, channel.listen_first))
        .collect();
    assert_eq!(channels, [(2_437, false, false), (2_484, true, true)]);
    assert_eq!(
        radio.combinations,
        [combination(&[(4, &[IfType::Station])], 4, 1)]
    );
    assert!(radio.supports(IfType::Station) && !radio.supports(IfType::Mesh));
}

#[test]
fn an_interface_has_its_channel_and_network() {
    let bytes = attributes(|all| {
        all.u32(attr::IFINDEX, 7)
            .str0(attr::IFNAME, "wlan0")
            .u32(attr::WIPHY, 1)
            .u32(attr::IFTYPE, 2)
            .attr(attr::MAC, &[2, 0, 0, 0, 0, 9])
            .attr(attr::SSID, b"cafe")
            .u32(attr::WIPHY_FREQ, 5_180);
    });
    let interface = Interface::parse(Attrs::new(&bytes)).unwrap();
    assert_eq!(interface.kind, Some(IfType::Station));
    assert_eq!(
        (interface.wiphy, interface.ifindex, interface.mhz),
        (1, Some(7), Some(5_180))
    );
    assert_eq!(interface.ssid.as_deref(), Some(&b"cafe"[..]));
    assert_eq!(interface.mac, Some(MacAddr::new([2, 0, 0, 0, 0, 9])));
    assert_eq!(Interface::parse(Attrs::new(&[])), None);
}

#[test]
fn a_network_has_the_name_in_its_elements_unless_it_hides_it() {
    let named = |elements: &[u8]| {
        let bytes = attributes(|all| {
            all.nested(attr::BSS, |bss| {
                bss.attr(1, &[2, 0, 0, 0, 0, 9]).attr(6, elements);
            });
        });
        bss::named(Attrs::new(&bytes))
    };
    let (bssid, ssid) = named(&[1, 1, 0x82, 0, 4, b'c', b'a', b'f', b'e', 3, 1, 6]).unwrap();
    assert_eq!(
        (bssid, &ssid[..]),
        (MacAddr::new([2, 0, 0, 0, 0, 9]), &b"cafe"[..])
    );
    for hidden in [&[0, 0, 3, 1, 6][..], &[0, 3, 0, 0, 0], &[0, 9, b'x'], &[3], &[]] {
        assert_eq!(named(hidden), None, "{hidden:?}");
    }
    assert_eq!(bss::named(Attrs::new(&[])), None);
}

#[test]
fn a_station_has_its_counters() {
    let bytes = attributes(|all| {
        all.attr(attr::MAC, &[2, 0, 0, 0, 0, 1])
            .nested(attr::STA_INFO, |info| {
                info.u32(2, 1_000)
                    .attr(23, &5_000_000_000_u64.to_ne_bytes())
                    .u8(7, (-52_i8).cast_unsigned())
                    .u8(30, 0)
                    .attr(29, &77_u64.to_ne_bytes())
                    .u32(11, 12)
                    .u32(12, 3)
                    .nested(8, |rate| {
                        rate.u16(1, 3_000)
                            .u32(5, 3_000)
                            .u8(2, 15)
                            .attr(3, &[])
                            .attr(4, &[]);
                    })
                    .nested(14, |rate| {
                        rate.u16(1, 540);
                    });
            });
    });
    let station = Station::parse(Attrs::new(&bytes)).unwrap();
    assert_eq!(station.received, Bytes::new(5_000_000_000));
    assert_eq!(
        (station.signal, station.beacon_signal),
        (Some(Dbm::from_dbm(-52)), None)
    );
    assert_eq!(
        (station.beacons, station.tx_retries, station.tx_failed),
        (Some(77), 12, 3)
    );
    let tx = station.tx_rate.unwrap();
    assert_eq!(
        (tx.rate, tx.modern, tx.wide, tx.short_guard),
        (Bitrate::from_mbps(300), true, true, true)
    );
    let rx = station.rx_rate.unwrap();
    assert_eq!((rx.rate, rx.modern), (Bitrate::from_mbps(54), false));
}

#[test]
fn a_survey_has_the_busy_time_of_its_channel() {
    let bytes = attributes(|all| {
        all.nested(attr::SURVEY_INFO, |info| {
            info.u32(1, 2_412)
                .attr(3, &[])
                .attr(4, &1_000_u64.to_ne_bytes())
                .attr(5, &250_u64.to_ne_bytes());
        });
    });
    let survey = Survey::parse(Attrs::new(&bytes)).unwrap();
    assert!(survey.in_use && survey.mhz == 2_412);
    assert_eq!(survey.busy, Some(Duration::from_millis(250)));
}

fn event(command: u8, fill: impl FnOnce(&mut Builder)) -> Option<Event> {
    Event::parse(&[&[command, 0, 0, 0][..], &attributes(fill)].concat())
}

#[test]
fn events_say_what_changed() {
    let index = |all: &mut Builder| {
        all.u32(attr::IFINDEX, 5);
    };
    assert_eq!(
        event(4, |all| _ = all.u32(attr::WIPHY, 2)),
        Some(Event::RadioGone(2))
    );
    assert_eq!(event(47, index), Some(Event::Roamed(5)));
    assert_eq!(
        event(48, |all| _ = all
            .u32(attr::IFINDEX, 5)
            .u16(attr::REASON_CODE, 3)
            .attr(attr::DISCONNECTED_BY_AP, &[])),
        Some(Event::Disconnected {
            ifindex: 5,
            reason: 3,
            by_access_point: true
        })
    );
    assert_eq!(
        event(46, |all| _ = all.u32(attr::IFINDEX, 5).u16(attr::STATUS_CODE, 17)),
        Some(Event::Connected {
            ifindex: 5,
            status: 17
        })
    );
    assert_eq!(
        event(88, |all| _ =
            all.u32(attr::IFINDEX, 5).u32(attr::WIPHY_FREQ, 2_462)),
        Some(Event::Switched {
            ifindex: 5,
            mhz: Some(2_462)
        })
    );
    let lost = |all: &mut Builder| {
        all.u32(attr::IFINDEX, 5)
            .nested(attr::CQM, |cqm| _ = cqm.attr(8, &[]));
    };
    assert_eq!(event(64, lost), Some(Event::Quality(5, Quality::BeaconsLost)));
    assert_eq!(event(36, |_| {}), Some(Event::Regulatory));
    assert_eq!(event(200, index), None);
    assert_eq!(Event::parse(&[48]), None);
}

#[test]
fn channels_have_their_numbers_and_no_two_bands_share_one() {
    let numbers = [2_412, 2_472, 2_484, 5_180, 5_825, 5_955, 7_115, 58_320];
    let expected = [1, 13, 14, 36, 165, 5_955, 7_115];
    let found: Vec<u16> = numbers.into_iter().filter_map(channel_number).collect();
    assert_eq!(found, expected);
}

fn combination(limits: &[(u32, &[IfType])], most: u32, channels: u32) -> Combination {
    let limit = |&(most, types): &(u32, &[IfType])| Limit {
        most,
        types: Types::of(types),
    };
    Combination {
        limits: limits.iter().map(limit).collect(),
        most,
        channels,
    }
}

fn radio(combinations: Vec<Combination>, software: &[IfType]) -> Wiphy {
    Wiphy {
        name: "phy0".into(),
        types: Types::of(&[IfType::Station, IfType::Monitor]),
        software: Types::of(software),
        combinations,
        visits: true,
        ..Wiphy::default()
    }
}

use IfType::{AccessPoint, AdHoc, Mesh, Monitor, P2pClient, P2pDevice, P2pOwner, Station as Sta};

/// Combinations of `iwlwifi` (`mvm/mac80211.c`): two tables that differ in channels.
fn intel() -> Wiphy {
    let p2p: &[IfType] = &[AccessPoint, P2pClient, P2pOwner];
    let limits: &[(u32, &[IfType])] = &[(1, &[Sta]), (1, p2p), (1, &[P2pDevice])];
    radio(vec![combination(limits, 3, 2)], &[Monitor])
}

/// Combinations of `ath9k` (`init.c`).
fn ath9k() -> Wiphy {
    let many: &[IfType] = &[Sta];
    let limits: &[(u32, &[IfType])] = &[
        (2_048, many),
        (8, &[AccessPoint, Mesh]),
        (1, &[P2pClient, P2pOwner]),
    ];
    radio(vec![combination(limits, 2_048, 1)], &[Monitor])
}

/// Combinations of `mt7921` (`mt792x`).
fn mt7921() -> Wiphy {
    let limits: &[(u32, &[IfType])] = &[(2, &[Sta]), (1, &[AccessPoint])];
    let several: &[(u32, &[IfType])] = &[(2, &[Sta, AccessPoint])];
    radio(
        vec![combination(limits, 2, 1), combination(several, 2, 2)],
        &[Monitor],
    )
}

/// Combinations of `mac80211_hwsim` with one channel.
fn hwsim() -> Wiphy {
    let limits: &[(u32, &[IfType])] = &[
        (1, &[AdHoc]),
        (2_048, &[Sta, P2pClient, AccessPoint, Mesh, P2pOwner]),
    ];
    radio(vec![combination(limits, 2_048, 1)], &[Monitor])
}

const WLAN0: Around<'_> = Around {
    interfaces: &["wlan0"],
    others: &[],
    managed: false,
    switches: &[],
    country: None,
};

#[test]
fn the_country_of_a_card_is_named() {
    let said = |country| {
        let around = Around {
            country: Some(country),
            ..WLAN0
        };
        let words = finding(&ath9k(), around).unwrap();
        let (_, country) = words.split_once("beside them: yes; ").unwrap();
        country.to_owned()
    };
    assert_eq!(said("DE"), "country: DE");
    assert_eq!(said("00"), "country: not set, so only what all countries allow");
    assert_eq!(said("99"), "country: 99, which is the rules of no single country");
}

#[test]
fn what_cards_can_do_is_said_in_words() {
    let words = |wiphy: Wiphy| finding(&wiphy, WLAN0);
    assert_eq!(
        words(intel()).unwrap_err(),
        "phy0 (wlan0): 1 access point at a time; one channel at a time; visits to others: yes; monitor beside it: yes. the driver \
         allows one station interface; a second adapter, named as `radio`, joins one beside your own connection"
    );
    let many = "phy0 (wlan0): 8 access points at once on one channel, the most that slowhand joins; one channel at a time; visits to others: yes; \
                monitor beside them: yes";
    assert_eq!(words(ath9k()).unwrap(), many);
    assert_eq!(words(hwsim()).unwrap(), many);
    assert_eq!(
        words(mt7921()).unwrap(),
        "phy0 (wlan0): 2 access points at once on one channel; 2 channels at a time; visits to others: yes; \
         monitor beside them: yes"
    );
}

#[test]
fn what_stands_in_the_way_comes_with_its_remedy() {
    let plain = radio(Vec::new(), &[]);
    let able = Able::of(&plain);
    assert_eq!((able.stations, able.channels, able.monitor), (1, 1, false));
    let words = finding(&plain, Around::default()).unwrap_err();
    assert!(
        words.starts_with("phy0: 1 access point at a time")
            && words.contains("losses and airtime are unknown"),
        "{words}"
    );
    let switch = |soft, hard| Switch {
        name: "phy0".into(),
        soft,
        hard,
    };
    let switched = |switches: &[Switch]| {
        let around = Around {
            switches,
            ..Around::default()
        };
        finding(&hwsim(), around)
    };
    let soft = switched(&[switch(true, false)]).unwrap_err();
    assert!(
        soft.ends_with("it is blocked; run `rfkill unblock wifi`"),
        "{soft}"
    );
    let hard = switched(&[switch(true, true)]).unwrap_err();
    assert!(
        hard.ends_with("a switch on the device turns it off; turn it on there"),
        "{hard}"
    );
    let mut forbidden = hwsim();
    forbidden.frequencies = vec![Frequency {
        mhz: 2_412,
        disabled: true,
        listen_first: false,
        radar: false,
    }];
    let words = finding(&forbidden, Around::default()).unwrap_err();
    assert!(words.ends_with("set the country with `iw reg set`"), "{words}");
    let mut deaf = hwsim();
    (deaf.types, deaf.combinations) = (Types::of(&[AccessPoint]), Vec::new());
    assert!(
        finding(&deaf, Around::default())
            .unwrap_err()
            .ends_with("use another card")
    );
}

#[test]
fn stations_stay_within_every_limit_that_has_their_type() {
    use IfType::{AccessPoint, P2pClient, Station as Sta};
    let limits: &[(u32, &[IfType])] = &[(4, &[Sta, AccessPoint]), (2, &[Sta, P2pClient])];
    assert_eq!(Able::of(&radio(vec![combination(limits, 6, 1)], &[])).stations, 2);
    assert_eq!(
        Able::of(&radio(vec![combination(&limits[..1], 3, 1)], &[])).stations,
        3
    );
}

#[test]
fn stations_and_channels_come_from_one_combination() {
    let many = combination(&[(4, &[Sta])], 4, 1);
    let wide = combination(&[(2, &[Sta, Mesh])], 2, 2);
    let card = radio(vec![many, wide], &[]);
    assert_eq!(places_beside(&card, &[]), (4, 1));
    assert_eq!(places_beside(&card, &[Mesh]), (1, 2), "the first one has no mesh");
    let one = radio(vec![combination(&[(1, &[Sta]), (1, &[Mesh])], 2, 2)], &[]);
    assert_eq!(places_beside(&one, &[]), (1, 1), "one station is on one channel");
    assert_eq!(
        places_beside(&one, &[Mesh]),
        (1, 2),
        "the other interface may be on another one"
    );
    assert_eq!(places_beside(&one, &[Mesh, Mesh]), (0, 2));
}

#[test]
fn interfaces_of_others_take_places_of_their_limits() {
    let both = |most| {
        radio(
            vec![combination(&[(most, &[Sta, Mesh])], most + 1, 1)],
            &[Monitor],
        )
    };
    let left = |wiphy: &Wiphy, others: &[IfType]| stations_beside(wiphy, others);
    assert_eq!(left(&both(2), &[Sta]), 1);
    assert_eq!(left(&both(2), &[Sta, Mesh]), 0);
    assert_eq!(left(&both(2), &[Monitor, Monitor]), 2, "monitors count nowhere");
    assert_eq!(left(&both(2), &[AccessPoint]), 0, "the combination has none");
    assert_eq!(left(&both(2), &[Mesh, Mesh, Mesh]), 0, "more than the limit");
    let plain = radio(Vec::new(), &[]);
    assert_eq!([left(&plain, &[]), left(&plain, &[Sta])], [1, 0]);
    let said = |others: &[(&str, IfType)]| finding(&both(2), Around { others, ..WLAN0 });
    assert!(said(&[]).is_ok());
    let one = said(&[("wlan0", Sta)]).unwrap_err();
    assert!(
        one.ends_with(
            "other interfaces that are up (wlan0) take places of the driver: slowhand can join 1 access point at a time; \
             set one down (first `nmcli device set NAME managed no`, if NetworkManager has it)"
        ),
        "{one}"
    );
    let heard = said(&[("wlan0", Sta), ("slowhand0", Monitor)]).unwrap_err();
    assert_eq!(heard, one, "a monitor takes no place");
    let none = said(&[("wlan0", Sta), ("mesh0", Mesh)]).unwrap_err();
    assert!(
        none.contains("(wlan0, mesh0)") && none.contains("nothing is left"),
        "{none}"
    );
}

#[test]
fn a_monitor_may_be_part_of_a_combination() {
    let shared = radio(vec![combination(&[(2, &[Sta, Monitor])], 2, 1)], &[]);
    let separate = radio(vec![combination(&[(1, &[Sta]), (1, &[Monitor])], 2, 1)], &[]);
    let alone = radio(vec![combination(&[(1, &[Sta, Monitor])], 1, 1)], &[]);
    let beside = [shared, separate, alone].map(|wiphy| Able::of(&wiphy).monitor);
    assert_eq!(beside, [true, true, false]);
}

#[test]
fn switches_and_interfaces_are_found_in_sysfs() {
    let root = std::env::temp_dir().join(format!("slowhand-rfkill-{}", std::process::id()));
    let write = |file: &str, text: &str| {
        let path = root.join("sys/class").join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    for (name, kind, soft) in [("rfkill0", "bluetooth", "1"), ("rfkill1", "wlan", "1")] {
        write(&format!("rfkill/{name}/type"), &format!("{kind}\n"));
        write(&format!("rfkill/{name}/name"), "phy0\n");
        write(&format!("rfkill/{name}/soft"), &format!("{soft}\n"));
        write(&format!("rfkill/{name}/hard"), "0\n");
    }
    write("net/eth0/uevent", "INTERFACE=eth0\n");
    write("net/wlan0/uevent", "DEVTYPE=wlan\nINTERFACE=wlan0\n");
    let found = switches(&root);
    assert_eq!((found.len(), found[0].soft, found[0].hard), (1, true, false));
    assert_eq!(wifi_interfaces(&root), ["wlan0"]);
    std::fs::remove_dir_all(&root).unwrap();
}

proptest! {
    #[test]
    fn no_bytes_make_a_parser_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = Wiphy::parse(Attrs::new(&bytes));
        let _ = Interface::parse(Attrs::new(&bytes));
        let _ = Station::parse(Attrs::new(&bytes));
        let _ = Survey::parse(Attrs::new(&bytes));
        let _ = Event::parse(&bytes);
        for message in Messages::new(&bytes) {
            let _ = Event::parse(message.payload);
        }
    }
}
