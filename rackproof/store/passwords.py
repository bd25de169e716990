"""Is this the password, and may that be one? argon2id; a name that nobody has takes as long as a wrong password."""

import threading
import unicodedata
from functools import cached_property
from typing import TYPE_CHECKING

from rackproof.model.account import AccountRefused

if TYPE_CHECKING:
    from argon2 import PasswordHasher

LENGTH_MIN = 12
LENGTH_MAX = 1024
#: Each takes 64 MiB while it runs: a flood of attempts must not take the machine's memory.
_AT_ONCE = threading.BoundedSemaphore(2)


class Passwords:
    """argon2id with its library's own parameters (RFC 9106, 64 MiB), unless another hasher is given."""

    def __init__(self, hasher: "PasswordHasher | None" = None) -> None:
        self._given = hasher

    @cached_property
    def _hasher(self) -> "PasswordHasher":
        from argon2 import PasswordHasher  # most processes never see a password

        return self._given or PasswordHasher()

    @cached_property
    def _of_nobody(self) -> str:
        return self._hasher.hash(b"nobody's password")

    def hash(self, password: str, name: str) -> str:
        """The hash to keep. Raises AccountRefused where the password is too short, too long or the name."""
        if not LENGTH_MIN <= len(password) <= LENGTH_MAX:
            raise AccountRefused("password", f"{LENGTH_MIN} to {LENGTH_MAX} characters", f"{len(password)}")
        if _plain(password).casefold() == _plain(name).casefold():
            raise AccountRefused("password", "something else than the name", "the name")
        with _AT_ONCE:
            return self._hasher.hash(_bytes(password))

    def verify(self, hashed: str | None, password: str) -> bool:
        """True where it is the password; None is an account without one, and takes as long."""
        from argon2.exceptions import VerificationError

        with _AT_ONCE:
            try:
                self._hasher.verify(hashed or self._of_nobody, _bytes(password))
            except VerificationError:
                return False
        return hashed is not None

    def outdated(self, hashed: str) -> bool:
        """True where it was made with other parameters than those of today."""
        return self._hasher.check_needs_rehash(hashed)


def _plain(text: str) -> str:
    # The same letters typed on another keyboard can be other code points.
    return unicodedata.normalize("NFC", text)


def _bytes(password: str) -> bytes:
    return _plain(password).encode("utf-8", "surrogatepass")
