"""Does the page of a campaign say which devices could not be brought back?"""

from rackproof.model.service import Role
from tests.integration.web.house import Client, Site
from tests.integration.web.test_campaigns import text_of


def test_a_device_that_could_not_be_restored_stands_on_the_campaigns_page(client: Client, site: Site) -> None:
    campaign = site.seeds.interrupted
    before = site.store.campaign(campaign).provenance
    left = {"switch-1": "as it was found", "switch-2": "could not be restored: no route to host"}
    site.store.set_provenance(campaign, {**before, "Devices afterwards": left})
    for tab in ("", "/parts/standing"):
        said = text_of(client(Role.VIEWER).get(f"/campaigns/{campaign}{tab}").text)
        assert "switch-2 could not be restored: no route to host Nothing starts on it until somebody clears it" in said
        assert "switch-1 as it was found" not in said
