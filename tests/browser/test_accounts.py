"""Can people get in, keep their tokens and passwords, and an admin the accounts of others?"""

import re
from collections.abc import Iterator

import httpx
import pytest
from playwright.sync_api import Browser, expect

from rackproof.model.service import Role
from rackproof.settings import Settings
from rackproof.store import Store
from tests.browser.conftest import BOUND_MS, Opener, through
from tests.integration.accounts.serving import PASSWORD, serving
from tests.integration.web.house import Site
from tests.integration.web.seeds import cheap
from web.site import create_site

NEW = "eleven geese and one heron"


@pytest.fixture
def fresh(settings: Settings, store: Store) -> Iterator[tuple[str, Store]]:
    """A site that was never used."""
    with serving(create_site(settings, cheap(store))) as address:
        yield address, store


def test_the_first_account_is_made_with_the_code(fresh: tuple[str, Store], browser: Browser) -> None:
    address, store = fresh
    code = store.accounts.setup_code()
    assert code is not None
    page = browser.new_page()
    page.set_default_timeout(BOUND_MS)
    page.goto(f"{address}/")
    expect(page.get_by_role("heading", level=1)).to_have_text("The first account")
    expect(page.get_by_label("Code")).to_be_focused()
    page.get_by_label("Code").fill("wrong-wrong-wrong-wrong")
    page.get_by_label("Name").fill("root")
    page.get_by_label("Password").fill(NEW)
    page.get_by_role("button", name="Make the account").click()
    expect(page.get_by_role("alert")).to_contain_text("the setup code is wrong")
    page.get_by_label("Code").fill(code)
    page.get_by_label("Name").fill("no spaces please")
    page.get_by_role("button", name="Make the account").click()
    expect(page.locator('[data-field="name"]')).to_contain_text("expected")
    page.get_by_label("Name").fill("root")
    page.get_by_role("button", name="Make the account").click()
    page.wait_for_url(f"{address}/")
    assert store.accounts.by_name("root").role is Role.ADMIN
    page.close()


def test_signing_in_leads_where_one_wanted_to_go(opened: Opener, site: Site) -> None:
    page = opened(site, None, lenient=True).go("/schedules?zone=UTC")
    expect(page.get_by_role("heading", level=1)).to_have_text("Sign in")
    page.get_by_label("Name").fill("engineer")
    page.get_by_label("Password").fill("not the password")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("name or password is wrong")
    page.get_by_label("Password").fill(PASSWORD)
    page.keyboard.press("Enter")
    page.wait_for_url(f"{site.address}/schedules?zone=UTC")
    page.locator("summary", has_text="engineer").click()
    page.get_by_role("button", name="Sign out").click()
    page.wait_for_url(f"{site.address}/sign-in")
    page.goto(f"{site.address}/schedules")
    expect(page.get_by_role("heading", level=1)).to_have_text("Sign in")


def test_a_token_is_shown_once_works_and_is_revoked(opened: Opener, site: Site) -> None:
    page = opened(site, Role.ENGINEER, lenient=True).go("/account")
    page.on("dialog", lambda dialog: dialog.accept())
    page.get_by_label("What for").fill("nightly CI")
    page.get_by_label("Read everything").uncheck()
    page.get_by_role("button", name="Make the token").click()
    expect(page.locator('[data-field="scopes"]')).to_contain_text("expected")
    page.get_by_label("Read everything").check()
    page.get_by_role("button", name="Make the token").click()
    shown = page.get_by_label("The new token")
    expect(shown).to_be_focused()
    secret = shown.input_value()

    def status() -> int:
        return httpx.get(f"{site.address}/api/v1/session", headers={"Authorization": f"Bearer {secret}"}, timeout=60).status_code

    assert status() == 200
    expect(page.get_by_role("region", name="Tokens")).to_contain_text("nightly CI")
    page.reload()
    assert secret not in page.content()
    expect(page.locator("#made")).to_be_hidden()
    through(page.get_by_role("button", name="Revoke nightly CI"))
    expect(page.get_by_role("region", name="Tokens")).to_contain_text("revoked")
    assert status() == 401


def test_a_password_is_changed_with_the_old_one(opened: Opener, site: Site) -> None:
    page = opened(site, Role.ENGINEER, lenient=True).go("/account")
    password = page.get_by_role("region", name="Password")
    password.get_by_label("The old one").fill("not the password")
    password.get_by_label("The new one").fill(NEW)
    password.get_by_role("button", name="Change it").click()
    expect(password.get_by_role("alert")).to_contain_text("the old password is wrong")
    password.get_by_label("The old one").fill(PASSWORD)
    # The browser would not let it through; the service says so, too.
    password.get_by_label("The new one").fill("tooshort")
    password.get_by_label("The new one").evaluate("(field) => field.removeAttribute('minlength')")
    password.get_by_role("button", name="Change it").click()
    expect(password.locator('[data-field="password"]')).to_contain_text("expected")
    password.get_by_label("The new one").fill(NEW)
    password.get_by_role("button", name="Change it").click()
    expect(page.locator(".callout").first).to_contain_text("The password was changed.")
    assert site.store.accounts.sign_in("engineer", NEW, "127.0.0.1") is not None


def test_an_admin_makes_changes_and_removes_a_user(opened: Opener, site: Site) -> None:
    page = opened(site, Role.ADMIN, lenient=True).go("/users")
    page.on("dialog", lambda dialog: dialog.accept())
    page.get_by_label("Name", exact=True).fill("engineer")
    page.get_by_role("button", name="Make the user").click()
    expect(page.get_by_role("alert")).to_contain_text("there is a user engineer already")
    page.get_by_label("Name", exact=True).fill("grace")
    page.get_by_label("Full name").fill("Grace Hopper")
    page.get_by_label("Role").select_option("viewer")
    through(page.get_by_role("button", name="Make the user"))
    expect(page.get_by_role("heading", level=1)).to_have_text("Grace Hopper")
    expect(page.locator(".facts")).to_contain_text("nothing yet: set a password")
    page.get_by_label("Password", exact=True).fill(NEW)
    page.get_by_role("button", name="Set it").click()
    expect(page.locator("#notices")).to_contain_text("The password was set.")
    assert site.store.accounts.sign_in("grace", NEW, "127.0.0.1") is not None
    page.get_by_label("Full name").fill("")
    page.get_by_label("Role").select_option("engineer")
    through(page.get_by_role("button", name="Save"))
    expect(page.get_by_role("heading", level=1)).to_have_text("grace")
    assert site.store.accounts.by_name("grace").role is Role.ENGINEER
    through(page.get_by_role("button", name="Disable"))
    expect(page.get_by_role("button", name="Enable")).to_be_visible()
    assert site.store.accounts.by_name("grace").disabled
    through(page.get_by_role("button", name="Enable"))
    expect(page.get_by_role("button", name="Disable")).to_be_visible()
    through(page.get_by_role("button", name="Remove"))
    expect(page).to_have_url(f"{site.address}/users")
    assert "grace" not in [user.name for user in site.store.accounts.users()]

    page.goto(f"{site.address}/audit")
    expect(page.get_by_role("region", name="Audit lines")).to_contain_text("user.delete")
    page.get_by_role("link", name="user.credentials").first.click()
    page.wait_for_url(re.compile(r"/audit\?action=user\.credentials$"))
    expect(page.get_by_label("Action")).to_have_value("user.credentials")
    expect(page.get_by_role("region", name="Audit lines")).not_to_contain_text("user.delete")
