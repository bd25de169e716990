"""Are secrets found where references say, and shown nowhere?"""

import copy
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

from orchestrator.secrets import VAULT_PASSWORD_FILE, Secret, follow, of_credentials, redacted
from rackproof.errors import LabError
from rackproof.model.inventory import Credentials
from tests.lab.planting import leaks


def test_environment_and_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAB_PASSWORD", "from the environment ")
    (tmp_path / "key").write_text("-----BEGIN\nfrom a file\n-----END\n")
    found = of_credentials(Credentials(user="root", password="env:LAB_PASSWORD", private_key=f"file:{tmp_path}/key"))
    assert found.keys() == {"password", "private_key"}
    assert found["password"].reveal() == "from the environment "
    assert found["private_key"].reveal() == "-----BEGIN\nfrom a file\n-----END"


def test_vault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "password").write_text("opens it\n")
    vault = tmp_path / "lab.yml"
    vault.write_text("switches: from the vault\nnumber: 7\n")
    program = Path(sys.executable).parent / "ansible-vault"
    subprocess.run([program, "encrypt", "--vault-password-file", tmp_path / "password", vault], check=True, capture_output=True)
    with pytest.raises(LabError, match=f"expected the file of the vault's password in {VAULT_PASSWORD_FILE}, found nothing"):
        follow(f"vault:{vault}#switches")
    monkeypatch.setenv(VAULT_PASSWORD_FILE, str(tmp_path / "password"))
    assert follow(f"vault:{vault}#switches").reveal() == "from the vault"
    for key in ("routers", "number"):
        with pytest.raises(LabError, match=f"expected a mapping with the text {key} in the vault, found none"):
            follow(f"vault:{vault}#{key}")
    (tmp_path / "password").write_text("opens nothing\n")
    with pytest.raises(LabError, match=r"expected a file that the password .* opens, found another"):
        follow(f"vault:{vault}#switches")


@pytest.mark.parametrize("reference", ["env:NOT_SET_ANYWHERE", "file:/nowhere/at/all", "vault:/nowhere/at/all#key"])
def test_what_is_missing_is_named(reference: str) -> None:
    with pytest.raises(LabError, match=f"^{reference}: expected "):
        follow(reference)


def test_a_secret_shows_nothing() -> None:
    secret = Secret("geheim")
    assert f"{secret} {secret!r} {[secret]}" == "*** *** [***]"
    for take in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="a secret is not pickled"):
            take(secret)


def test_texts_are_redacted_however_the_secret_is_written() -> None:
    secret = 'it\'s "a" \\ päss'
    key = "-----BEGIN KEY-----\nb3BlbnNzaC1rZXktdjEAAAAABG5vbmU\nshort\n-----END KEY-----"
    told = f"plain {secret}, as Python {[secret]!r}, a line of the key b3BlbnNzaC1rZXktdjEAAAAABG5vbmU, a word that stays: short"
    clean = redacted(told, [Secret(secret), Secret(key), Secret("")])
    assert clean == "plain ***, as Python ['***'], a line of the key ***, a word that stays: short"
    assert leaks(secret, texts={"told": told}) == ["text told"]
    assert leaks(secret, texts={"clean": clean}) == []
