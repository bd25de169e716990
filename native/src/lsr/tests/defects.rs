//! Each defect does what it says, and is the same in every run.

use rackproof_rsvp::{MessageType, Style};

use super::fixture::*;
use crate::lsr::router::{Action, Router};
use crate::lsr::spec::Options;

fn entries(router: &mut Router, now_ns: i64) -> Vec<(u32, Option<u32>)> {
    let all = did(router, now_ns).into_iter();
    all.filter_map(|one| match one {
        Did::Programmed(label, entry) => Some((label, entry.and_then(|entry| entry.out))),
        Did::Sent(..) => None,
    })
    .collect()
}

#[test]
fn dropped_tears_leave_the_state() {
    let lost = || {
        let mut router = router(Options {
            drop_tears: 0.3,
            ..Options::default()
        });
        for lsp_id in 1..=200 {
            let at_ns = i64::from(lsp_id) * 10 * MS;
            established(&mut router, at_ns, lsp_id);
            let before = counter(&router, "lsps");
            for attempt in 2..4 {
                let now_ns = at_ns + attempt * MS;
                give(&mut router, now_ns, MessageType::PathTear, tear(lsp_id));
                let has_gone_on = kinds(&mut router, now_ns).contains(&MessageType::PathTear);
                assert!(!has_gone_on || (attempt == 2 && counter(&router, "lsps") < before));
            }
        }
        counter(&router, "lsps")
    };
    assert!((40..=80).contains(&lost()), "{}", lost());
    assert_eq!(lost(), lost());
}

#[test]
fn a_stale_label_stays() {
    let mut router = router(Options {
        stale_label: true,
        ..Options::default()
    });
    established(&mut router, 0, 1);
    give(&mut router, MS, MessageType::PathTear, tear(1));
    assert_eq!(entries(&mut router, MS), []);
    assert_eq!(counter(&router, "rsvp.labels"), 0);
}

#[test]
fn resv_leaves_before_forwarding_is_there() {
    let mut router = router(Options {
        early_resv_ms: 5.0,
        ..Options::default()
    });
    established(&mut router, 0, 1);
    assert_eq!(entries(&mut router, 5 * MS - 1), []);
    assert_eq!(entries(&mut router, 5 * MS).len(), 1);
    established(&mut router, 10 * MS, 2);
    give(&mut router, 12 * MS, MessageType::PathTear, tear(2));
    assert_eq!(entries(&mut router, 20 * MS), []);
}

#[test]
fn a_share_of_lsps_leaves_with_another_label() {
    let mut router = router(Options {
        wrong_label: 0.2,
        ..Options::default()
    });
    let mut wrong = 0;
    for lsp_id in 1..=200 {
        give(&mut router, 0, MessageType::Path, path(lsp_id));
        let wanted = resv(lsp_id, 500, Style::FIXED_FILTER);
        give(&mut router, 0, MessageType::Resv, wanted);
        let [(_, Some(out))] = entries(&mut router, 0)[..] else {
            panic!("one entry");
        };
        assert!(out == 500 || out == 501);
        wrong += u32::from(out == 501);
    }
    assert!((20..=60).contains(&wrong), "{wrong}");
}

#[test]
fn without_router_alert_path_is_an_ip_packet() {
    let mut router = router(Options {
        ignore_router_alert: true,
        ..Options::default()
    });
    let came = packet(MessageType::Path, path(1), BEFORE);
    router.receive(0, 0, &came);
    router.advance(0);
    let actions = router.take_actions();
    let [Action::Send { hop, packet }] = &actions[..] else {
        panic!("one packet: {actions:?}");
    };
    assert_eq!(hop.address, AFTER);
    assert_eq!(packet[8], came[8] - 1);
    assert_eq!(packet[24..], came[24..]);
    assert_eq!(counter(&router, "lsps"), 0);
}
