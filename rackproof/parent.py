"""How does a process end with the one that started it, however that one ends? `python -m rackproof.parent SIGNAL COMMAND...` does.

The wish to be told of the parent's end survives the exec of another program, so that program need not know of it.
"""

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1
#: The process that a child must not outlive, for a child that comes into being after its parent has ended.
VARIABLE = "RACKPROOF_PARENT"


def end_with_parent(number: signal.Signals = signal.SIGTERM) -> None:
    """Be sent a signal when the parent ends, kill -9 included. Ends this process where the parent that VARIABLE names is gone already.

    The kernel counts the thread that started this process as the parent: it must live as long as this process shall.
    """
    if ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, int(number), 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    # Asked after, because the parent may have ended between the start and the call.
    expected = os.environ.pop(VARIABLE, "")
    if expected and os.getppid() != int(expected):
        sys.exit(f"the process that started this one ({expected}) is gone")


def main() -> None:
    """Become the command."""
    end_with_parent(signal.Signals[sys.argv[1]])
    os.execvp(sys.argv[2], sys.argv[2:])  # noqa: S606


if __name__ == "__main__":
    main()
