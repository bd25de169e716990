"""Exit codes, and how errors become messages on the terminal."""

from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum
from typing import assert_never

import typer
from rich.console import Console
from rich.markup import escape

from rackproof.errors import Conflict, FileError, LabError, NotFound, PlanError, RackproofError, SettingsError, Stopped
from rackproof.model.account import AccountRefused
from rackproof.model.verdict import Verdict

#: Everything that is not the result itself goes to standard error, so that --json on standard output stays JSON.
stderr = Console(stderr=True, soft_wrap=True)


class Exit(IntEnum):
    """What a script can rely on."""

    PASS = 0
    FAIL = 1
    BAD_INPUT = 2
    LAB_FAILED = 3


def of_verdict(verdict: Verdict) -> Exit:
    """The exit code of a campaign's verdict."""
    match verdict:
        case Verdict.PASS:
            return Exit.PASS
        case Verdict.FAIL:
            return Exit.FAIL
        case Verdict.ERROR | Verdict.TIMEOUT | Verdict.ABORTED | Verdict.INVALID:
            return Exit.LAB_FAILED
        case _:
            assert_never(verdict)


@contextmanager
def reported() -> Iterator[None]:
    """Turn Rackproof's errors into a message and an exit code; others keep their traceback, for they are bugs."""
    try:
        yield
    except (PlanError, FileError, NotFound, Conflict, SettingsError, AccountRefused) as error:
        stderr.print(f"[bold red]error:[/] {escape(str(error))}")
        raise typer.Exit(Exit.BAD_INPUT) from None
    except Stopped as stop:
        stderr.print(f"[bold yellow]{escape(str(stop))}:[/] what was finished is stored; `rackproof resume` goes on with the rest")
        raise typer.Exit(Exit.LAB_FAILED) from None
    except LabError as error:
        stderr.print(f"[bold red]the lab failed:[/] {escape(str(error))}")
        raise typer.Exit(Exit.LAB_FAILED) from None
    except RackproofError as error:
        from rackproof.client.failures import NotAllowed  # httpx is slow to import, and most commands need none of it

        stderr.print(f"[bold red]error:[/] {escape(str(error))}")
        raise typer.Exit(Exit.BAD_INPUT if isinstance(error, NotAllowed) else Exit.LAB_FAILED) from None
