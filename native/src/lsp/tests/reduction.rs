//! Refresh reduction (RFC 2961): only with neighbours that have it.

use rackproof_rsvp::{Acknowledgement, Bundle, Header, MessageId, MessageIdList};

use super::*;
use crate::lsp::log::Event;

fn ids(sent: &Sent) -> Vec<&MessageId> {
    sent.message
        .objects
        .iter()
        .filter_map(|object| match object {
            Object::MessageId(id) => Some(id),
            _ => None,
        })
        .collect()
}

fn said(acknowledgement: Acknowledgement, id: &MessageId) -> Message {
    let objects = vec![Object::MessageIdAck(
        acknowledgement,
        MessageId { flags: 0, ..*id },
    )];
    Message {
        header: Header::default(),
        kind: MessageType::Ack,
        objects,
    }
}

/// A router that has it, and acknowledges everything.
fn capable(stable: u32, flapped: u32) -> Bench {
    let mut bench = Bench::new(&signalling(stable, flapped));
    bench.flags = Header::REFRESH_REDUCTION;
    bench
}

fn acknowledge(bench: &mut Bench, sent: &Sent) {
    let neighbour = if sent.end == INGRESS { WEST } else { EAST };
    for id in ids(sent) {
        bench.arrive(sent.end, neighbour, 255, said(Acknowledgement::Ack, id));
    }
    bench.pass_on(sent);
}

#[test]
fn no_identifiers_for_who_does_not_want_them() {
    let mut bench = Bench::new(&signalling(2, 0));
    let sent = bench.settle(100 * S);
    assert!(sent.iter().all(|sent| ids(sent).is_empty()));
    assert!(
        sent.iter()
            .all(|sent| sent.message.header.flags == Header::REFRESH_REDUCTION)
    );
    let mut asked = signalling(2, 0);
    asked.refresh_reduction = false;
    let mut bench = Bench::new(&asked);
    bench.flags = Header::REFRESH_REDUCTION;
    let sent = bench.settle(100 * S);
    assert!(
        sent.iter()
            .all(|sent| ids(sent).is_empty() && sent.message.header.flags == 0)
    );
}

#[test]
fn what_is_acknowledged_is_refreshed_in_summary() {
    let mut bench = capable(20, 0);
    bench.run_with(100 * S, acknowledge);
    let sent = bench.run_with(160 * S, acknowledge);
    assert!(of(MessageType::Path, &sent).is_empty() && of(MessageType::Resv, &sent).is_empty());
    let summaries = of(MessageType::Srefresh, &sent);
    let listed: usize = summaries
        .iter()
        .flat_map(|sent| &sent.message.objects)
        .map(|object| match object {
            Object::MessageIdList(list) => list.identifiers.len(),
            _ => 0,
        })
        .sum();
    // Both sides, 20 LSPs, 60 s of 30 s each.
    assert!((60..100).contains(&listed), "{listed}");
    assert!(summaries.len() < listed);
    assert_eq!(bench.engine.counters()["retransmissions"], 0);
}

#[test]
fn what_was_torn_down_is_in_no_summary() {
    let mut bench = capable(0, 20);
    bench.run_with(60 * S, acknowledge);
    let lists = |sent: &[Sent]| {
        of(MessageType::Srefresh, sent)
            .iter()
            .filter(|sent| sent.end == INGRESS)
            .count()
    };
    // Until one is gathered that has not left.
    while bench.engine.links[INGRESS].refreshed.is_empty() {
        let until_ns = bench.now + 100 * MS;
        bench.run_with(until_ns, acknowledge);
    }
    bench.engine.tear_all(bench.now);
    let sent = bench.run_with(bench.now + 100 * S, acknowledge);
    assert_eq!(lists(&sent), 0);
    assert_eq!(bench.engine.counters()["stale_refreshes"], 0);
}

#[test]
fn what_is_not_acknowledged_is_sent_four_times_at_growing_gaps() {
    let mut bench = capable(1, 0);
    bench.settle(S);
    let tear_ns = bench.now;
    bench.records();
    bench.engine.tear_all(tear_ns);
    let sent = bench.run_with(S + 900 * MS, |bench, sent| {
        if sent.at_ns > tear_ns + 600 * MS {
            bench.pass_on(sent);
        }
    });
    let tears = of(MessageType::PathTear, &sent);
    assert_eq!(
        tears
            .iter()
            .map(|sent| (sent.at_ns - tear_ns) / MS)
            .collect::<Vec<_>>(),
        [0, 500]
    );
    assert_eq!(ids(tears[0]), ids(tears[1]));
    let sent = bench.run(20 * S);
    let all = [of(MessageType::PathTear, &sent)].concat();
    let by_first: Vec<i64> = all
        .iter()
        .filter(|sent| ids(sent) == ids(tears[0]))
        .map(|sent| (sent.at_ns - tear_ns) / MS)
        .collect();
    assert_eq!(by_first, [1500, 3500]);
    assert!(bench.engine.counters()["retransmissions"] >= 3);
}

#[test]
fn identifiers_of_the_neighbour_are_acknowledged_and_its_summaries_keep_states_up() {
    let mut bench = capable(1, 0);
    let id = MessageId {
        flags: MessageId::ACK_DESIRED,
        epoch: 5,
        identifier: 9,
    };
    let sent = bench.run_with(S, |bench, sent| {
        let mut with_id = sent.clone();
        with_id
            .message
            .objects
            .retain(|object| !matches!(object, Object::MessageId(_)));
        let (end, address) = if sent.end == INGRESS {
            (EGRESS, EAST)
        } else {
            (INGRESS, WEST)
        };
        with_id.message.objects.iter_mut().for_each(|object| {
            if let Object::Hop(hop) = object {
                hop.address = address
            }
        });
        with_id.message.objects.insert(0, Object::MessageId(id));
        if [MessageType::Path, MessageType::Resv].contains(&sent.message.kind) {
            bench.arrive(end, address, 255, with_id.message);
        }
    });
    let acks = of(MessageType::Ack, &sent);
    let expected = Object::MessageIdAck(Acknowledgement::Ack, MessageId { flags: 0, ..id });
    let expected = [expected];
    assert!(acks[..2].iter().all(|ack| ack.message.objects == expected));
    let list = MessageIdList {
        flags: 0,
        epoch: 5,
        identifiers: vec![9, 10],
    };
    let summary = Message {
        header: Header::default(),
        kind: MessageType::Srefresh,
        objects: vec![Object::MessageIdList(list)],
    };
    for period in 1..40 {
        bench.run(period * 30 * S);
        bench.arrive(EGRESS, EAST, 255, summary.clone());
        bench.arrive(INGRESS, WEST, 255, summary.clone());
    }
    assert_eq!(bench.engine.state().up, 1);
    assert_eq!(bench.engine.counters()["expired"], 0);
    // 10 is nobody's, at both ends each time.
    bench.run(bench.now + MS);
    assert_eq!(bench.engine.counters()["nacks_tx"], 78);
}

#[test]
fn a_state_that_the_neighbour_has_lost_is_sent_whole() {
    let mut bench = capable(1, 0);
    bench.run_with(200 * S, acknowledge);
    let summary = bench
        .sent
        .iter()
        .rfind(|sent| sent.end == INGRESS && sent.message.kind == MessageType::Srefresh)
        .unwrap()
        .clone();
    let Object::MessageIdList(list) = &summary.message.objects[0] else {
        panic!("no list")
    };
    let id = MessageId {
        flags: 0,
        epoch: list.epoch,
        identifier: list.identifiers[0],
    };
    bench.arrive(INGRESS, WEST, 255, said(Acknowledgement::Nack, &id));
    let sent = bench.run_with(bench.now + MS, acknowledge);
    assert_eq!(of(MessageType::Path, &sent).len(), 1);
    assert_eq!(ids(&sent[0])[0].identifier, id.identifier);
}

#[test]
fn a_bundle_is_as_good_as_what_is_in_it() {
    let mut bench = Bench::new(&signalling(2, 0));
    let mut paths = vec![];
    bench.run_with(S / 2, |_, sent| paths.push(sent.clone()));
    let messages: Vec<Message> = paths
        .iter()
        .map(|sent| {
            let mut message = sent.message.clone();
            message.objects.iter_mut().for_each(|object| {
                if let Object::Hop(hop) = object {
                    hop.address = EAST
                }
            });
            message
        })
        .collect();
    let header = Header {
        flags: Header::REFRESH_REDUCTION,
        ttl: 255,
        ..Header::default()
    };
    let mut payload = vec![];
    Packet::Bundle(Bundle { header, messages })
        .encode(&mut payload)
        .unwrap();
    let ip = Ipv4Header {
        source: EAST,
        destination: bench.engine.links[EGRESS].addresses.own,
        ttl: 255,
        tos: 0,
        identification: 0,
        router_alert: false,
    };
    let mut frame = vec![2; 12];
    frame.extend([8, 0]);
    ip.encode(&payload, &mut frame).unwrap();
    bench.engine.receive(bench.now, EGRESS, &frame);
    assert_eq!(bench.events(Event::PathReceived).len(), 2);
    assert_eq!(bench.engine.counters()["bundles_rx"], 1);
    assert!(bench.engine.links[EGRESS].has_reduction);
}
