"""`python -m rackproof.store.restart DATA_DIR`: starts the embedded server again that died while another process has a share in it."""

import sys
from pathlib import Path

from rackproof.errors import StoreError
from rackproof.store.embedded import EmbeddedServer


def main() -> None:
    """Start the server; it stays because whoever called this has a share in it."""
    try:
        with EmbeddedServer(Path(sys.argv[1])):
            pass
    except StoreError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
