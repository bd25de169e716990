"""The site of the tests on a port, for looking at it by hand: python -m tests.integration.web.demo [PORT] [CAMPAIGNS MORE]."""

import itertools
import signal
import sys
import tempfile
import time
from pathlib import Path

import uvicorn

from rackproof.settings import Settings
from rackproof.store import Store
from tests.integration.accounts.serving import PASSWORD
from tests.integration.web.seeds import filler, seeded
from web.site import create_site


def main(port: int = 8420, more: int = 120) -> None:
    """Serve until Ctrl-C or SIGTERM, which both take the database away."""
    signal.signal(signal.SIGTERM, lambda _number, _frame: sys.exit())
    with tempfile.TemporaryDirectory(prefix="rackproof-demo-") as folder:
        settings = Settings.load(data_dir=Path(folder))
        with Store.open(settings) as store:
            begun = time.monotonic()
            filler(store, more)
            seeds = seeded(store, settings)
            print(f"filled in {time.monotonic() - begun:.1f} s: {seeds}")
            print(f"http://127.0.0.1:{port} as viewer, engineer or admin, password: {PASSWORD}")
            uvicorn.run(create_site(settings, store), host="127.0.0.1", port=port, log_level="warning")


if __name__ == "__main__":
    main(*itertools.islice(map(int, sys.argv[1:]), 2))
