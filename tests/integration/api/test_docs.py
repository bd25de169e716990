"""Do the examples of docs/api.md run as they stand?"""

import json
import os
import re
import subprocess
from pathlib import Path

from rackproof.model.service import Role
from tests.integration.api.seeds import Seeds

PAGE = Path(__file__).parents[3] / "docs" / "api.md"


def test_the_examples_run(served: str, tokens: dict[Role, str], seeds: Seeds, tmp_path: Path) -> None:
    blocks = re.findall(r"^```sh\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    assert len(blocks) >= 8
    environment = {**os.environ, "RACKPROOF": served, "TOKEN": tokens[Role.ENGINEER], "no_proxy": "127.0.0.1"}
    command = ["bash", "-euxo", "pipefail", "-c", "\n".join(blocks)]
    done = subprocess.run(command, check=False, env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "event: queued" in done.stdout
    assert json.loads((tmp_path / "submitted.json").read_text())["url"].startswith("/api/v1/campaigns/")
    assert "<testsuite " in (tmp_path / "verdict.xml").read_text()
