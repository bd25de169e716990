"""Is every deed written down with the deed, by name, and for good?"""

import pytest

from rackproof.errors import Conflict, StoreError
from rackproof.model.service import Role
from rackproof.store import Store
from tests.integration.accounts.conftest import MakeUser


def test_a_line_stays_with_its_name_when_the_user_is_gone(store: Store, user: MakeUser) -> None:
    ada, root = user("ada"), user("root", Role.ADMIN)
    store.audit.record(user=ada, user_name="ada", action="campaign.submit", target="campaign:1", detail={"name": "x"}, address="192.0.2.1")
    store.audit.record(user=root, user_name="root", action="user.delete", target="user:1")
    store.audit.record(user=None, user_name="root on this machine", action="user.create")
    assert store.accounts.delete_user(ada.id) == ada
    lines = store.audit.list()
    assert [line.action for line in lines] == ["user.create", "user.delete", "campaign.submit"]
    first = lines[-1]
    assert (first.user_id, first.user_name, first.detail, first.address) == (None, "ada", {"name": "x"}, "192.0.2.1")
    assert [line.id for line in store.audit.list(user_name="root")] == [lines[1].id]
    assert [line.id for line in store.audit.list(target="campaign:1", action="campaign.submit")] == [first.id]
    assert store.audit.list(target="campaign:1", action="user.create") == []
    assert store.audit.list(lines[1].id, 1) == [first]


def test_the_line_is_kept_with_the_deed_or_not_at_all(store: Store, user: MakeUser) -> None:
    root = user("root", Role.ADMIN)
    with pytest.raises(Conflict), store.transactions.together("test"):
        store.audit.record(user=root, user_name="root", action="user.delete")
        store.accounts.delete_user(root.id)
    assert store.audit.list() == []
    with pytest.raises(StoreError, match="audit trail could not be written"), store.transactions.together("test"):
        store.accounts.update_user(root.id, full_name="changed")
        store.audit.record(user=root, user_name=None, action="user.change")  # type: ignore[arg-type]
    assert store.accounts.user(root.id) == root


@pytest.mark.parametrize("key", ["password", "New_Password", "client_secret", "csrf", "set-cookie", "password_hash"])
def test_a_secret_does_not_get_in(store: Store, key: str) -> None:
    with pytest.raises(ValueError, match="without secrets"):
        store.audit.record(user=None, user_name="x", action="y", detail={key: "z"})
    assert store.audit.list() == []
