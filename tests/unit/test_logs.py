"""Are logs readable by machines, complete, and free of secrets?"""

import json
import subprocess
import sys
from datetime import datetime
from typing import Any

import pytest

from rackproof.logs import redacted

SAYS = """
import logging, sys, warnings
import structlog
{before}
from rackproof.logs import configure
configure(service={service})
{says}
"""


def said(says: str, service: bool = True, before: str = "") -> str:
    """What a process that says this writes to standard error; standard output must stay free."""
    script = SAYS.format(says=says, service=service, before=before)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=300, check=True)
    assert done.stdout == ""
    return done.stderr


def lines(says: str, before: str = "") -> list[dict[str, Any]]:
    return [json.loads(line) for line in said(says, before=before).splitlines()]


def test_a_line_is_json_with_time_level_logger_message_and_what_was_bound() -> None:
    (line,) = lines(
        "structlog.contextvars.bind_contextvars(campaign=7, trial=3, request='abc')\n"
        "logging.getLogger('rackproof.store').warning('no room for %d bytes', 5, extra={'path': '/tmp'})"
    )
    assert datetime.fromisoformat(line.pop("time")).utcoffset().total_seconds() == 0  # type: ignore[union-attr]
    assert line == {
        "level": "warning",
        "logger": "rackproof.store",
        "message": "no room for 5 bytes",
        "campaign": 7,
        "trial": 3,
        "request": "abc",
        "path": "/tmp",
    }


def test_structlog_and_warnings_go_the_same_way() -> None:
    first, second = lines("structlog.get_logger('api').info('a request', status=200)\nwarnings.warn('old')")
    assert (first["message"], first["status"], first["logger"], first["level"]) == ("a request", 200, "api", "info")
    assert "old" in second["message"]
    assert second["logger"] == "py.warnings"


def test_an_exception_is_one_line() -> None:
    (line,) = lines("try: 1 / 0\nexcept ZeroDivisionError: logging.getLogger('a').exception('it broke')")
    assert line["message"] == "it broke"
    assert "ZeroDivisionError" in line["exception"]


def test_libraries_with_handlers_of_their_own_say_it_once() -> None:
    before = "import uvicorn.config, logging.config\nlogging.config.dictConfig(uvicorn.config.LOGGING_CONFIG)\nimport dbos"
    found = lines("logging.getLogger('uvicorn.error').info('started')\nlogging.getLogger('dbos').error('lost')", before=before)
    assert [(line["logger"], line["message"]) for line in found] == [("uvicorn.error", "started"), ("dbos", "lost")]


def test_plain_lines_are_short() -> None:
    text = said("structlog.get_logger('a').info('ready', port=8642)\nlogging.getLogger('b').error('no')", service=False)
    first, second = text.splitlines()
    assert first[8:] == " ready port=8642"
    assert second[8:] == " error: no"


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("cannot reach postgresql+psycopg://mira:hunter2@db:5432/rackproof", "postgresql+psycopg://mira:[hidden]@db:5432/rackproof"),
        ("Authorization: Bearer rp_abcdefgh12345678", "Authorization: Bearer [hidden]"),
        ('{"password": "hunter2", "name": "mira"}', '"name": "mira"'),
        ("client_secret=hunter2&grant=code", "grant=code"),
        ("RACKPROOF_SMTP_PASSWORD=hunter2 set", "set"),
        ("smtp://u:hunter2@mail:25", "mail:25"),
        ("the 3 tokens of the plan: 5 trials", "the 3 tokens of the plan: 5 trials"),
        ("user mira signed in from 10.0.0.1:443", "user mira signed in from 10.0.0.1:443"),
    ],
)
def test_secrets_are_hidden_in_texts(text: str, kept: str) -> None:
    assert "hunter2" not in redacted(text)
    assert "rp_abcdefgh" not in redacted(text)
    assert kept in redacted(text)


def test_secrets_are_hidden_wherever_they_are() -> None:
    found = said(
        "logging.getLogger('a').error('cannot reach %s', 'postgresql://u:hunter2@h/d')\n"
        "structlog.get_logger('a').info('x', token='hunter2', sent={'Authorization': 'Basic hunter2', 'a': ['password=hunter2']})\n"
        "try: raise ValueError('postgresql://u:hunter2@h/d')\nexcept ValueError: logging.getLogger('a').exception('b')\n"
        "structlog.contextvars.bind_contextvars(database_url='hunter2')\nlogging.getLogger('a').info('c', extra={'csrf': 'hunter2'})"
    )
    assert "hunter2" not in found
    assert len(found.splitlines()) == 4
