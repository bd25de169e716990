"""WebRTC media between two headless browsers: `webrtc.py receiver BIND PORT FOLDER`, then `webrtc.py sender PEER PORT FOLDER`.

The receiver serves the page that both run, and hands over offer and answer. FOLDER is for the browser's profile. More arguments are field
trials (NAME/VALUE/), or the sender's largest bit rate [bit/s] where the browser's own limit shall not hold.
"""

import http.server
import signal
import subprocess
import sys
import threading
from pathlib import Path

PAGE = Path(__file__).with_name("webrtc.html")


class Handler(http.server.BaseHTTPRequestHandler):
    """GET gives the page or what was posted; 404 says that it is not there yet."""

    posted: dict[str, bytes] = {}  # noqa: RUF012 - what all requests share

    def do_GET(self) -> None:
        content = PAGE.read_bytes() if self.path == "/" else self.posted.get(self.path)
        self.send_response(200 if content is not None else 404)
        self.send_header("Content-Type", "text/html" if self.path == "/" else "application/json")
        self.end_headers()
        self.wfile.write(content or b"")

    def do_POST(self) -> None:
        self.posted[self.path] = self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(204)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as the class above calls it
        """Say nothing."""


def main() -> None:
    """Serve where this is the receiver, and run the browser until it ends."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    side, host, port, folder, *more = sys.argv[1:]
    trials, limits = [each for each in more if "/" in each], [each for each in more if "/" not in each]
    origin = f"http://{host}:{port}"
    if side == "receiver":
        server = http.server.ThreadingHTTPServer((host, int(port)), Handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
    browser = [
        "chromium",
        "--headless",
        "--no-sandbox",  # it runs as root of its namespaces, where the sandbox cannot
        f"--user-data-dir={folder}",
        f"--unsafely-treat-insecure-origin-as-secure={origin}",  # microphones are for secure origins
        "--use-fake-device-for-media-stream",
        "--use-fake-ui-for-media-stream",
        "--autoplay-policy=no-user-gesture-required",
        "--disable-features=WebRtcHideLocalIpsWithMdns",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-dev-shm-usage",
        "--disable-gpu",
        "--no-first-run",
        "--enable-logging=stderr",
        "--vmodule=goog_cc_network_control=1,scream_v2=1",  # whichever is in use says so, again and again
        *(f"--force-fieldtrials={trial}" for trial in trials),
        f"{origin}/#{','.join([side, *limits])}",
    ]
    sys.exit(subprocess.run(browser, check=False).returncode)


if __name__ == "__main__":
    main()
