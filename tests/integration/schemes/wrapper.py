"""A wrapper that keeps Pantheon's protocol: sends UDP packets until it is stopped. The side that runs first is the one that FIRST names.

Beside it are files that say when each side was started (in ticks of the kernel's clock), and that something was received.
"""

import os
import signal
import socket
import sys
import time

FIRST = os.path.basename(__file__).partition("_")[0]


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    command, *where = sys.argv[1:]
    if command == "run_first":
        print(FIRST)
        return
    with open("/proc/self/stat") as status, open(f"{__file__}.{command}", "w") as begun:
        begun.write(status.read().rpartition(")")[2].split()[19])
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    if len(where) == 1:
        sock.bind(("0.0.0.0", int(where[0])))
    else:
        # Whoever runs second greets, so that the first one knows where it is.
        peer = (where[0], int(where[1]))
        sock.sendto(b"hello", peer)
    if command == "sender":
        if len(where) == 1:
            _, peer = sock.recvfrom(2000)
        print("sending to", peer[0], flush=True)
        while True:
            sock.sendto(bytes(1200), peer)
            time.sleep(0.01)
    received = 0
    while True:
        received += len(sock.recv(2000)) == 1200
        if received == 10:
            print("received 10", flush=True)
            open(f"{__file__}.received", "w").close()


if __name__ == "__main__":
    main()
