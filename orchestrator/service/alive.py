"""Does the worker of that name live? `python -m orchestrator.service.alive NAME` ends with 0 where it does, for health checks."""

import sys

from rackproof.errors import RackproofError
from rackproof.settings import Settings
from rackproof.store import Store


def main() -> None:
    """Ask the database, which is what other workers and the API go by."""
    (name,) = sys.argv[1:]
    try:
        with Store.open(Settings.load()) as store:
            alive = any(worker.alive for worker in store.workers.list() if worker.name == name)
    except RackproofError as error:
        sys.exit(str(error))
    sys.exit(None if alive else f"worker {name} does not live")


if __name__ == "__main__":
    main()
