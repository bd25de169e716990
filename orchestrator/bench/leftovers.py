"""What a killed run may have left, and how it is cleared.

Namespaces, links and qdiscs have no names and go with the bench's process, which ends when the campaign's process does. What can outlive a
kill -9 is that process for the moment that it takes to notice, and the embedded database server.
"""

import os

import psutil

from rackproof.settings import Settings
from rackproof.store.embedded import stop_if_unused

_BENCH = "orchestrator.bench.process"
END_S = 3.0


def orphans() -> list[psutil.Process]:
    """Bench processes of this user whose campaign's process is gone."""
    found = []
    for process in psutil.process_iter():
        try:
            if _BENCH in process.cmdline() and process.uids().real == os.getuid() and process.ppid() in (0, 1):
                found.append(process)
        except psutil.Error:
            continue  # it ended while we looked, or it is not ours to see
    return found


def clean(settings: Settings) -> list[str]:
    """End orphaned bench processes, and stop an embedded database that nobody uses; what was done, one line each."""
    done = []
    left = orphans()
    for process in left:
        process.kill()  # it ignores the gentler signals, which are for the campaign's process
    psutil.wait_procs(left, timeout=END_S)
    done += [f"ended bench process {process.pid}; its namespaces, links and qdiscs went with it" for process in left]
    if settings.database_url is None and stop_if_unused(settings.data_dir):
        done.append(f"stopped the embedded database in {settings.data_dir}")
    return done
