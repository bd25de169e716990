//! Setting LSPs up: what leaves, and what counts as up.

use rackproof_rsvp::{Hop, InterfaceTlv, Style};

use super::*;
use crate::lsp::log::Event;

#[test]
fn every_lsp_comes_up_paced_with_the_label_that_the_device_gave() {
    let mut bench = Bench::new(&signalling(3, 2));
    let sent = bench.settle(S);
    let paths = of(MessageType::Path, &sent);
    let times: Vec<i64> = paths.iter().map(|sent| sent.at_ns).collect();
    assert_eq!(times, [0, 500_000, MS, 1_500_000, 2 * MS]);
    let state = bench.engine.state();
    assert_eq!((state.up, state.phantoms, state.wanted), (5, 0, 5));
    let labels: Vec<(u16, u32)> = state.labels.into_iter().collect();
    assert_eq!(
        labels,
        [(0, 1016), (1, 1017), (2, 1018), (3, 1019), (4, 1020)]
    );
    // Confirmed are those that stay up.
    assert_eq!(of(MessageType::ResvConf, &sent).len(), 3);
    let records = bench.records();
    let kinds: Vec<u16> = records.iter().map(|record| record.port - 2001).collect();
    let first = [
        Event::PathSent,
        Event::PathReceived,
        Event::ResvSent,
        Event::ResvReceived,
        Event::ResvConf,
    ];
    assert_eq!(kinds[..5], first.map(|event| event as u16));
    let ids: std::collections::BTreeSet<u16> =
        records.iter().map(|record| record.frame_bytes).collect();
    assert_eq!(ids.len(), 5);
}

#[test]
fn messages_are_as_routers_want_them() {
    let mut bench = Bench::new(&signalling(1, 0));
    let sent = bench.settle(S);
    let (path, resv, conf) = (&sent[0], &sent[1], &sent[2]);
    assert_eq!(
        (path.ip.source, path.ip.destination),
        (Ipv4Addr::new(10, 83, 254, 1), EGRESS_ID)
    );
    assert!(path.ip.router_alert && conf.ip.router_alert && !resv.ip.router_alert);
    assert_eq!((path.ip.ttl, path.message.header.ttl), (255, 255));
    assert_eq!(resv.ip.destination, EAST);
    assert_eq!(
        path.message.hop().unwrap().address,
        Ipv4Addr::new(10, 83, 0, 2)
    );
    let route = path.message.explicit_route().unwrap();
    assert_eq!(
        route.iter().map(|hop| hop.loose).collect::<Vec<_>>(),
        [false, true]
    );
    let classes: Vec<u8> = path
        .message
        .objects
        .iter()
        .map(|object| object.class_and_type().0)
        .collect();
    assert_eq!(classes, [1, 3, 5, 20, 19, 207, 11, 12, 13]);
    assert!(
        resv.message
            .objects
            .contains(&Object::Style(Style::SHARED_EXPLICIT))
    );
    assert_eq!(conf.message.kind, MessageType::ResvConf);
}

#[test]
fn fixed_filter_routes_and_label_modes_as_asked() {
    for (mode, label) in [("implicit-null", 3), ("explicit-null", 0)] {
        let mut asked = signalling(2, 0);
        asked.style = "FF".to_owned();
        asked.labels = mode.to_owned();
        asked.routes = vec![
            vec!["10.0.0.1".to_owned()],
            vec!["10.0.0.2".to_owned(), "10.0.0.3".to_owned()],
        ];
        let sent = Bench::new(&asked).settle(S);
        let resvs = of(MessageType::Resv, &sent);
        assert!(
            resvs
                .iter()
                .all(|resv| resv.message.label() == Some(&Label::Mpls(label)))
        );
        assert!(
            resvs[0]
                .message
                .objects
                .contains(&Object::Style(Style::FIXED_FILTER))
        );
        let hops: Vec<usize> = of(MessageType::Path, &sent)
            .iter()
            .map(|sent| sent.message.explicit_route().unwrap().len())
            .collect();
        assert_eq!(hops, [1, 2]);
    }
}

#[test]
fn a_router_that_names_interfaces_and_gives_generalized_labels_is_understood() {
    let mut bench = Bench::new(&signalling(1, 0));
    let sent = bench.run_with(S, |bench, sent| {
        let mut other = sent.clone();
        for object in &mut other.message.objects {
            match object {
                Object::Hop(hop) => {
                    let interface = InterfaceTlv::IfIndex {
                        address: EAST,
                        interface: 5,
                    };
                    *hop = Hop {
                        interface_handle: 99,
                        interfaces: Some(vec![interface]),
                        ..hop.clone()
                    };
                }
                Object::Label(label) => *label = Label::Generalized(vec![0, 0, 1, 1]),
                _ => {}
            }
        }
        bench.pass_on(&other);
    });
    assert_eq!(
        of(MessageType::Resv, &sent)[0]
            .message
            .hop()
            .unwrap()
            .interface_handle,
        99
    );
    assert_eq!(bench.engine.state().labels[&0], 257);
}

#[test]
fn a_path_that_nobody_processed_makes_a_phantom() {
    // As a router does that forwards RSVP like any packet: RSVP_HOP and RSVP TTL stay.
    let mut bench = Bench::new(&signalling(2, 0));
    bench.run_with(S, |bench, sent| {
        let (end, from) = (1 - sent.end, sent.ip.source);
        bench.arrive(end, from, sent.ip.ttl - 1, sent.message.clone());
    });
    let state = bench.engine.state();
    assert_eq!((state.up, state.phantoms, state.labels.len()), (0, 2, 0));
    let phantoms = bench.events(Event::Phantom);
    assert_eq!(phantoms.len(), 2);
    assert_eq!(phantoms[0].2, u32::from(Ipv4Addr::new(10, 83, 0, 2)));
    assert_eq!(bench.engine.counters()["phantoms"], 2);
}

#[test]
fn a_phantom_whose_resv_finds_no_way_back_is_one_too() {
    let mut bench = Bench::new(&signalling(2, 0));
    let sent = bench.run_with(10 * S, |bench, sent| {
        if sent.message.kind == MessageType::Path {
            bench.flags = sent.message.header.flags;
            bench.arrive(
                EGRESS,
                sent.ip.source,
                sent.ip.ttl - 1,
                sent.message.clone(),
            );
        }
    });
    assert_eq!(bench.engine.state().phantoms, 2);
    assert_eq!(of(MessageType::Path, &sent).len(), 2);
    // The flag was that of the other LER, which is no neighbour.
    assert!(!bench.engine.links[EGRESS].has_reduction);
    assert_eq!(bench.engine.counters()["retransmissions"], 0);
}

#[test]
fn a_ttl_that_only_ip_has_decreased_makes_a_phantom_too() {
    let mut bench = Bench::new(&signalling(1, 0));
    bench.run_with(S, |bench, sent| {
        let mut late = sent.clone();
        late.ip.ttl = 255;
        for object in &mut late.message.objects {
            if let Object::Hop(hop) = object {
                hop.address = if sent.end == INGRESS { EAST } else { WEST };
            }
        }
        let from = if sent.end == INGRESS { EAST } else { WEST };
        bench.arrive(1 - sent.end, from, 254, late.message);
    });
    assert_eq!(bench.engine.state().phantoms, 1);
}

#[test]
fn two_lers_back_to_back_are_no_phantoms() {
    let mut asked = signalling(4, 0);
    (asked.egress.address, asked.egress.neighbour) = (
        asked.ingress.neighbour.clone(),
        asked.ingress.address.clone(),
    );
    let spec = Spec::new(&asked).unwrap();
    let mut engine = Engine::new(spec, [[2; 6], [4; 6]], 1, 1000).unwrap();
    engine.start(0);
    for now in 0..100 {
        engine.advance(now * MS);
        let frames: Vec<(usize, Vec<u8>)> = engine
            .out()
            .frames()
            .map(|(end, frame)| (end, frame.to_vec()))
            .collect();
        engine.out().clear();
        for (end, frame) in frames {
            engine.receive(now * MS, 1 - end, &frame);
        }
    }
    let state = engine.state();
    assert_eq!((state.up, state.phantoms), (4, 0));
    assert_eq!(state.destination_mac, Some([4; 6]));
}

#[test]
fn nothing_leaves_before_both_neighbours_are_found() {
    let spec = Spec::new(&signalling(1, 0)).unwrap();
    let mut engine = Engine::new(spec, [[2; 6], [4; 6]], 1, 1000).unwrap();
    engine.start(0);
    for now in [0, 100 * MS, 200 * MS] {
        engine.advance(now);
    }
    let frames: Vec<usize> = engine
        .out()
        .frames()
        .map(|(end, frame)| {
            assert_eq!(frame[12..14], [8, 6]);
            end
        })
        .collect();
    assert_eq!(frames, [0, 1, 0, 1]);
}
