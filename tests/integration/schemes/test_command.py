"""`rackproof schemes` on this machine."""

import json

from typer.testing import CliRunner

from rackproof.cli.main import app
from testplans.congestion_control.schemes.registry import schemes


def test_it_says_of_every_scheme_whether_it_is_here_or_what_is_missing() -> None:
    done = CliRunner().invoke(app, ["schemes", "--json"])
    assert done.exit_code == 0, done.output
    found = json.loads(done.output)
    assert [each["id"] for each in found] == list(schemes())
    assert all(each["available"] != bool(each["missing"]) for each in found)
    sprout = next(each for each in found if each["id"] == "sprout")
    assert sprout["missing"] == [
        "the wrapper sprout is in no registry: set RACKPROOF_PANTHEON_DIR to a checkout of Pantheon where it was set up"
    ]
    trex = next(each for each in found if each["id"] == "trex-cubic")
    assert "TRex: set RACKPROOF_TREX_DIR to its folder, which has t-rex-64; docs/trex.md says how to get it" in trex["missing"]


def test_the_table_has_a_row_for_each() -> None:
    done = CliRunner().invoke(app, ["schemes"], env={"COLUMNS": "200"})
    assert done.exit_code == 0, done.output
    for scheme in schemes().values():
        assert scheme.label in done.output
