"""Does the kernel take this congestion control on a socket? Exit status 0: yes, 3: no. Where it is a module, asking root loads it."""

import errno
import socket
import sys

with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as sock:
    try:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, sys.argv[1].encode())
    except OSError as error:
        # EPERM: it is there, but not everybody's; within a network namespace of one's own it may be used.
        if error.errno != errno.EPERM:
            sys.exit(3 if error.errno == errno.ENOENT else f"{sys.argv[1]}: {error.strerror}")
