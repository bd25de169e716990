"""How Alembic runs: on the connection that it is given, in that connection's transaction."""

from typing import Any, Literal

from alembic import context

from rackproof.store import schema_service  # noqa: F401  # its tables belong to Base too
from rackproof.store.columns import Plain, Words
from rackproof.store.schema import Base


def _plainly(kind: str, item: Any, _: Any) -> str | Literal[False]:
    """A migration names PostgreSQL's types, not ours: ours may change, and what a migration did may not."""
    match kind, item:
        case "type", Words():
            return "sa.Text()"
        case "type", Plain():
            return "sa.dialects.postgresql.JSONB()"
        case _:
            return False


connection = context.config.attributes["connection"]
context.configure(connection=connection, target_metadata=Base.metadata, compare_server_default=True, render_item=_plainly)
context.run_migrations()
