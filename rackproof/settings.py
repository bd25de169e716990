"""What a machine's owner sets: where data is kept and which database holds it.

Every setting is read from the environment (RACKPROOF_DATA_DIR, RACKPROOF_DATABASE_URL, ...), or from a file of that name in lower case in
the folder that RACKPROOF_SECRETS_DIR names: secrets belong there.
"""

import os
from pathlib import Path
from typing import Self

import platformdirs
from pydantic import Field, SecretStr, ValidationError, field_validator, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from rackproof.errors import SettingsError
from rackproof.model.service import Role

_PREFIX = "RACKPROOF_"
_WHOLE_UID_RANGE = 2**32 - 1


def is_machine_root() -> bool:
    """True for the machine's root; False for the root of a user namespace, which is an ordinary user with a mask on."""
    if os.geteuid() != 0:
        return False
    try:
        inside, outside, length = map(int, Path("/proc/self/uid_map").read_text().split())
    except (OSError, ValueError):
        return False
    return (inside, outside, length) == (0, 0, _WHOLE_UID_RANGE)


def default_data_dir() -> Path:
    """/var/lib/rackproof for the machine's root, the XDG data folder for everybody else."""
    return Path("/var/lib/rackproof") if is_machine_root() else platformdirs.user_data_path("rackproof", appauthor=False)


class Settings(BaseSettings):
    """All settings; frozen, absolute paths. Raises SettingsError by way of load() only."""

    model_config = SettingsConfigDict(env_prefix=_PREFIX, extra="forbid", frozen=True, env_ignore_empty=True)

    data_dir: Path = Field(default_factory=default_data_dir, description="Everything that Rackproof keeps on this machine.")
    database_url: SecretStr | None = Field(default=None, description="A PostgreSQL URL; without it a server of its own, in data_dir.")
    samples_dir: Path = Field(default=Path(), description="Raw samples; data_dir/samples by default.")
    reports_dir: Path = Field(default=Path(), description="Finished reports; data_dir/reports by default.")
    samples_url: str | None = Field(default=None, description="An object store for samples (s3://bucket/prefix) in place of samples_dir.")
    keep_samples_days: int | None = Field(default=None, ge=1, description="Samples older than this go; without it they stay.")
    public_url: str | None = Field(default=None, description="Where people reach the service; links in mails begin with it.")
    smtp_url: SecretStr | None = Field(default=None, description="smtp://user:password@host:port or smtps://...; digests go there.")
    mail_from: str = Field(default="rackproof@localhost", description="The sender of digests.")
    oidc_issuer: str | None = Field(default=None, description="An OpenID provider's issuer URL; people may then sign in there.")
    oidc_client_id: str | None = Field(default=None, description="What the provider calls this service.")
    oidc_client_secret: SecretStr | None = Field(default=None, description="What proves to the provider that it is this service.")
    oidc_role: Role = Field(default=Role.VIEWER, description="The role of somebody whom the provider sends for the first time.")
    otlp_endpoint: str | None = Field(default=None, description="Where traces go (OTLP over HTTP); without it none are made.")
    programs_dir: Path | None = Field(default=None, description="Programs of congestion-control schemes, searched before the PATH.")
    pantheon_dir: Path | None = Field(default=None, description="A checkout of Pantheon, whose wrappers run schemes that nothing else has.")
    pantheon_python: str = Field(default="python2", description="The interpreter of Pantheon's wrappers.")
    indigo_weights: Path | None = Field(default=None, description="The file of Indigo's trained weights.")
    trex_dir: Path | None = Field(default=None, description="TRex's folder, which has t-rex-64, for schemes that are TRex's own TCP.")
    worker_timeout_s: float = Field(default=30.0, gt=0, description="How long a worker may be silent until others adopt its campaigns [s].")

    @field_validator("data_dir", "samples_dir", "reports_dir")
    @classmethod
    def _absolute(cls, path: Path) -> Path:
        # An empty samples_dir or reports_dir is filled in below.
        return path if path == Path() else path.expanduser().absolute()

    @field_validator("data_dir")
    @classmethod
    def _a_folder(cls, path: Path) -> Path:
        if path == Path():
            raise ValueError("expected a folder, found an empty path")
        if path.exists() and not path.is_dir():
            raise ValueError(f"expected a folder, found a file: {path}")
        return path

    @field_validator("database_url")
    @classmethod
    def _postgresql(cls, url: SecretStr | None) -> SecretStr | None:
        if url is None:
            return None
        from sqlalchemy import make_url  # only who names a database waits for its import
        from sqlalchemy.exc import ArgumentError

        try:
            parsed = make_url(url.get_secret_value())
        except ArgumentError:
            raise ValueError("expected postgresql://user:password@host:port/database, found something else") from None
        if parsed.get_backend_name() not in {"postgresql", "postgres"}:
            raise ValueError(f"expected postgresql://..., found {parsed.get_backend_name()}://...: results are kept in PostgreSQL")
        if not parsed.database:
            raise ValueError("expected the name of a database at the end (postgresql://host/NAME), found none")
        return SecretStr(parsed.set(drivername="postgresql+psycopg").render_as_string(hide_password=False))

    @model_validator(mode="before")
    @classmethod
    def _fill_in(cls, values: dict[str, object]) -> dict[str, object]:
        filled = dict(values)
        data_dir = Path(str(filled.get("data_dir") or default_data_dir()))
        filled["data_dir"] = data_dir
        for name in ("samples", "reports"):
            filled.setdefault(f"{name}_dir", data_dir / name)
        return filled

    @classmethod
    def load(cls, **overrides: object) -> Self:
        """Read the settings; overrides win over the environment. Raises SettingsError."""
        try:
            secrets = os.environ.get(f"{_PREFIX}SECRETS_DIR") or None
            return cls(_secrets_dir=secrets, **overrides)  # type: ignore[arg-type]  # pydantic checks them
        except ValidationError as error:
            lines = [
                f"{_PREFIX}{'_'.join(map(str, fault['loc'])).upper()}: {fault['msg'].removeprefix('Value error, ')}"
                for fault in error.errors(include_input=False, include_url=False)
            ]
            raise SettingsError("\n".join(["a setting cannot be used", *(f"  {line}" for line in lines)])) from None
