//! HELLO (RFC 3209, 5): always answered, originated where asked for.

use rackproof_rsvp::ip::Ipv4Header;
use rackproof_rsvp::{Hello, HelloKind, Message, Object};

use super::engine::{Engine, Timer};

/// Intervals without an answer after which the neighbour is missed (RFC 3209, 5.3), in halves.
const MISSED_HALVES: i64 = 7;

impl Engine {
    /// Asks the neighbour of an end whether it is there.
    pub(super) fn say_hello(&mut self, now: i64, end: usize) {
        let every_ns = self.spec.hello_ns;
        let link = &mut self.links[end];
        let is_silent = now - link.hello.heard_ns > every_ns * MISSED_HALVES / 2;
        if link.hello.peer != 0 && is_silent && !link.hello.is_lost {
            link.hello.is_lost = true;
            self.counts.hello_losses += 1;
        }
        let neighbour = link.addresses.neighbour;
        let hello = Hello {
            kind: HelloKind::Request,
            source_instance: link.hello.instance,
            destination_instance: link.hello.peer,
        };
        let message = self.spec.hello(hello);
        self.send(end, neighbour, message);
        self.timer(now + every_ns, Timer::Hello(end));
    }

    pub(super) fn take_hello(&mut self, now: i64, end: usize, ip: &Ipv4Header, message: &Message) {
        for object in &message.objects {
            let Object::Hello(heard) = object else {
                continue;
            };
            let own = &mut self.links[end].hello;
            if own.peer != 0 && own.peer != heard.source_instance {
                self.counts.neighbour_restarts += 1;
            }
            own.peer = heard.source_instance;
            own.heard_ns = now;
            own.is_lost = false;
            if heard.kind == HelloKind::Request {
                let answer = Hello {
                    kind: HelloKind::Ack,
                    source_instance: own.instance,
                    destination_instance: own.peer,
                };
                let message = self.spec.hello(answer);
                self.send(end, ip.source, message);
            }
        }
    }
}
