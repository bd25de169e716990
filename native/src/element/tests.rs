//! The three paths, and what must not happen on them.

use super::fixture::*;
use super::output::ENCAPSULATION_BYTES;
use super::pipeline::Pipeline;
use super::spec::{AccessRule, Policer, Tables};

/// Ports and frames that leave, where `frame` comes in at `port` and at `now_ns`.
fn forward_at(
    pipeline: &mut Pipeline,
    port: &str,
    frame: &[u8],
    now_ns: u64,
) -> Vec<(String, Vec<u8>)> {
    let ingress = pipeline.ports().position(|name| name == port);
    let mut out = Vec::new();
    pipeline.forward(ingress, frame, now_ns, &mut out);
    let names: Vec<&str> = pipeline.ports().collect();
    out.iter()
        .map(|output| (names[output.port].to_owned(), output.bytes(frame)))
        .collect()
}

fn forward(port: &str, frame: &[u8]) -> Vec<(String, Vec<u8>)> {
    forward_at(&mut Pipeline::new(&tables()).unwrap(), port, frame, 1)
}

/// The only drop that is counted, where the frame does not leave.
fn dropped(tables: &Tables, port: &str, frame: &[u8]) -> String {
    let mut pipeline = Pipeline::new(tables).unwrap();
    assert_eq!(forward_at(&mut pipeline, port, frame, 1), []);
    let counters = pipeline.counters();
    let drops = counters
        .iter()
        .filter(|(name, n)| name.starts_with("drop.") && **n > 0);
    let drops: Vec<_> = drops.map(|(name, n)| format!("{name} {n}")).collect();
    drops.join(", ")
}

fn to(port: &str, frame: &[u8]) -> (String, Vec<u8>) {
    (port.to_owned(), frame.to_vec())
}

#[test]
fn a_customers_frame_is_encapsulated_and_keeps_its_own_priority() {
    let frame = customer(FAR, 0x700a); // priority 3, drop eligible, VLAN 10
    let mut expected = network(NEXT, 0xd065, 0x7001_0001, &frame); // priority 6, VLAN 101
    expected[6..12].copy_from_slice(&octets(HERE));
    assert_eq!(expected.len(), frame.len() + ENCAPSULATION_BYTES);
    assert_eq!(forward("u1", &frame), [to("east", &expected)]);
}

#[test]
fn a_frame_for_a_neighbour_is_delivered_unchanged() {
    let frame = customer(NEAR, 10);
    assert_eq!(forward("u1", &frame), [to("u2", &frame)]);
    assert_eq!(dropped(&tables(), "u2", &frame), "drop.back 1");
}

#[test]
fn transit_is_decided_by_address_and_backbone_vlan() {
    let inside = customer(FAR, 10);
    let frame = network(NEXT, 0xe065, I_SID, &inside);
    assert_eq!(forward("west", &frame), [to("east", &frame)]);
    assert_eq!(dropped(&tables(), "east", &frame), "drop.back 1");
    let other_vlan = network(NEXT, 102, I_SID, &inside);
    assert_eq!(dropped(&tables(), "west", &other_vlan), "drop.no_route 1");
}

#[test]
fn a_frame_for_this_element_is_decapsulated() {
    let inside = customer(NEAR, 10);
    let frame = network(HERE, B_VLAN, I_SID, &inside);
    assert_eq!(forward("east", &frame), [to("u2", &inside)]);
    for (frame, why) in [
        (network(HERE, 102, I_SID, &inside), "drop.b_vlan 1"),
        (network(HERE, B_VLAN, 9, &inside), "drop.no_service 1"),
        (
            network(HERE, B_VLAN, I_SID, &customer(NEAR, 20)),
            "drop.c_vlan 1",
        ),
        (
            network(HERE, B_VLAN, I_SID, &customer(FAR, 10)),
            "drop.no_station 1",
        ),
        (
            network(HERE, B_VLAN, I_SID, &inside[..17]),
            "drop.malformed 1",
        ),
        (network(HERE, B_VLAN, I_SID, &[1; 60]), "drop.no_c_tag 1"),
    ] {
        assert_eq!(dropped(&tables(), "east", &frame), why);
    }
}

#[test]
fn multicast_goes_to_the_service_and_never_back() {
    let frame = customer(ALL, 10);
    let mut pushed = network(GROUP, B_VLAN, I_SID, &frame);
    pushed[6..12].copy_from_slice(&octets(HERE));
    let expected = [to("u2", &frame), to("west", &pushed), to("east", &pushed)];
    assert_eq!(forward("u1", &frame), expected);
    assert_eq!(dropped(&tables(), "west", &pushed), "drop.loop 1");
    let from_next = network(GROUP, B_VLAN, I_SID, &frame);
    let expected = [to("u1", &frame), to("u2", &frame), to("east", &from_next)];
    assert_eq!(forward("west", &from_next), expected);
    let for_this = network(HERE, B_VLAN, I_SID, &frame);
    let expected = [to("u1", &frame), to("u2", &frame)];
    assert_eq!(forward("west", &for_this), expected);
}

#[test]
fn another_tenant_has_neither_stations_nor_ports_of_this_one() {
    let frame = customer(NEAR, 20);
    assert_eq!(dropped(&tables(), "u1", &frame), "drop.no_station 1");
    let to_group = network(GROUP, B_VLAN + 1, I_SID, &customer(ALL, 10));
    assert_eq!(dropped(&tables(), "west", &to_group), "drop.no_route 1");
    assert_eq!(
        dropped(&tables(), "u1", &customer(NEAR, 30)),
        "drop.no_service 1"
    );
}

#[test]
fn the_first_rule_that_matches_decides() {
    let mut tables = tables();
    let rule = |permit: bool, destination: Option<&str>| AccessRule {
        i_sid: I_SID,
        permit,
        source: Some(NEAR.to_owned()),
        destination: destination.map(str::to_owned),
        ethertype: Some(0x88b5),
    };
    tables.access = vec![rule(true, Some(NEAR)), rule(false, None)];
    assert_eq!(dropped(&tables, "u1", &customer(FAR, 10)), "drop.access 1");
    let mut pipeline = Pipeline::new(&tables).unwrap();
    assert_eq!(
        forward_at(&mut pipeline, "u1", &customer(NEAR, 10), 1).len(),
        1
    );
    assert_eq!(pipeline.counters()["table.1,2.65537/0.frames"], 1);
    assert_eq!(pipeline.counters()["table.1,2.65537/0.octets"], 64);
}

#[test]
fn a_policer_lets_its_burst_and_its_rate_through() {
    let mut tables = tables();
    tables.policers = vec![Policer {
        i_sid: I_SID,
        rate_bps: 512_000, // one frame of 64 octets in 1 ms
        burst_bytes: 128,
    }];
    let mut pipeline = Pipeline::new(&tables).unwrap();
    let frame = customer(NEAR, 10);
    let mut passed = |now_ns: u64| forward_at(&mut pipeline, "u1", &frame, now_ns).len();
    assert_eq!(
        [5, 6, 7, 1_000_004, 1_000_005].map(&mut passed),
        [1, 1, 0, 0, 1]
    );
    let counters = pipeline.counters();
    assert_eq!(counters["table.1,3.65537.exceeded"], 2);
    assert_eq!(counters["table.1,3.65537.frames"], 3);
}

#[test]
fn oam_frames_are_recognised_and_counted() {
    let mut pipeline = Pipeline::new(&tables()).unwrap();
    let cfm = |mut frame: Vec<u8>, at: usize| {
        frame[at..at + 2].copy_from_slice(&[0x89, 0x02]);
        frame
    };
    let inside = customer(FAR, 10);
    let tagged = cfm(inside.clone(), 16);
    let for_all = network("01:80:c2:00:00:35", B_VLAN, I_SID, &inside);
    let through = cfm(network(NEXT, B_VLAN, I_SID, &inside), 16);
    let by_uca = network(NEXT, B_VLAN, I_SID | 0x0800_0000, &inside);
    for (port, frame, leaves) in [
        ("u1", &tagged, 0),
        ("u1", &customer("01:80:c2:00:00:3f", 10), 0),
        ("west", &for_all, 0),
        ("west", &through, 1),
        ("west", &by_uca, 1),
    ] {
        assert_eq!(forward_at(&mut pipeline, port, frame, 1).len(), leaves);
    }
    assert_eq!(pipeline.counters()["oam.local"], 3);
    assert_eq!(pipeline.counters()["oam.forwarded"], 2);
}

#[test]
fn what_is_not_for_a_port_ends_there() {
    let inside = customer(FAR, 10);
    assert_eq!(dropped(&tables(), "lo", &inside), "drop.port 1");
    assert_eq!(dropped(&tables(), "u1", &inside[..17]), "drop.malformed 1");
    assert_eq!(dropped(&tables(), "west", &inside), "drop.not_xcf 1");
    let pushed = network(NEXT, B_VLAN, I_SID, &inside);
    assert_eq!(dropped(&tables(), "u1", &pushed), "drop.no_c_tag 1");
    let mut long = inside;
    long.resize(2014 - ENCAPSULATION_BYTES + 1, 0);
    assert_eq!(dropped(&tables(), "u1", &long), "drop.too_long 1");
}

#[test]
fn changed_tables_keep_the_counts_of_what_stays() {
    let mut pipeline = Pipeline::new(&tables()).unwrap();
    let frame = customer(NEAR, 10);
    forward_at(&mut pipeline, "u1", &frame, 1);
    let mut fewer = tables();
    fewer.stations.clear();
    pipeline.change(Pipeline::new(&fewer).unwrap());
    assert_eq!(forward_at(&mut pipeline, "u1", &frame, 2), []);
    let counters = pipeline.counters();
    assert_eq!(counters["table.1,1.u1/10.frames"], 2);
    assert!(!counters.contains_key("table.1,4.65537/02:52:50:00:00:01.frames"));
    assert_eq!(counters["drop.no_station"], 1);
}

#[test]
fn tables_that_cannot_be_are_refused() {
    let mut unknown = tables();
    unknown.stations[0].port = Some("u9".to_owned());
    assert_eq!(
        Pipeline::new(&unknown).unwrap_err(),
        "the element has no port u9"
    );
    let mut short = tables();
    short.address = "02:52".to_owned();
    assert!(Pipeline::new(&short).unwrap_err().contains("02:52"));
}
