"""What KOM RSVP asks a routing daemon on port 2613, answered from the networks of its own addresses: wayfinder.py ROUTER_ID ADDRESS...

A question is its length [1 byte], its number [1 byte] and addresses; so is the answer, without addresses where there is none.
"""

import socket
import socketserver
import sys
from ipaddress import IPv4Address, IPv4Interface

PORT = 2613
#: Numbers of questions; those below the first are messages that want no answer.
FIRST_QUESTION = 128
#: "This interface has no other address, and no number."
NONE = bytes(8)


def answer(question: int, about: bytes, router_id: str, own: dict[IPv4Address, IPv4Interface]) -> bytes:
    """What follows the two bytes of the answer."""
    match question:
        case 129:  # which interface has an address
            return about[:4] if IPv4Address(about[:4]) in own else b""
        case 130:  # which data address and number an interface has
            return NONE
        case 131:  # by which interface a hop is reached
            there = IPv4Address(about[:4])
            return next((address.packed for address, interface in own.items() if there in interface.network and there != address), b"")
        case 133:
            return socket.inet_aton(router_id)
        case _:
            return b""


class _Asked(socketserver.StreamRequestHandler):
    def handle(self) -> None:
        router_id, *addresses = sys.argv[1:]
        own = {IPv4Address(address): IPv4Interface(f"{address}/30") for address in addresses}
        while len(head := self.rfile.read(2)) == 2:
            about = self.rfile.read(head[0] - 2)
            if head[1] >= FIRST_QUESTION:
                found = answer(head[1], about, router_id, own)
                self.wfile.write(bytes((2 + len(found), head[1])) + found)


class _Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True


if __name__ == "__main__":
    _Server(("127.0.0.1", PORT), _Asked).serve_forever()
