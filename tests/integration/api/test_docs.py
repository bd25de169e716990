"""Do the examples of docs/api.md run as they stand?"""

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

from rackproof.model.service import Role
from tests.integration.api.seeds import Seeds

PAGE = Path(__file__).parents[3] / "docs" / "api.md"


def test_the_examples_run(served: str, tokens: dict[Role, str], seeds: Seeds, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # The stream that the page leaves to curl's clock ends here as soon as it has told what there is, however long that takes.
    monkeypatch.setattr("api.following.RIGHTS_S", -1.0)
    monkeypatch.setattr("api.routes.events.still_known", lambda _request: False)
    text = PAGE.read_text()
    assert "--max-time 2 " in text
    blocks = re.findall(r"^```sh\n(.*?)^```$", text.replace("--max-time 2 ", "--max-time 60 "), re.MULTILINE | re.DOTALL)
    assert len(blocks) >= 8
    environment = {**os.environ, "RACKPROOF": served, "TOKEN": tokens[Role.ENGINEER], "no_proxy": "127.0.0.1"}
    command = ["bash", "-euxo", "pipefail", "-c", "\n".join(blocks)]
    done = subprocess.run(command, check=False, env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "event: queued" in done.stdout
    assert json.loads((tmp_path / "submitted.json").read_text())["url"].startswith("/api/v1/campaigns/")
    assert "<testsuite " in (tmp_path / "verdict.xml").read_text()
