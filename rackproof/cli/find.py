"""Which campaign is meant on the command line?"""

from rackproof.errors import NotFound
from rackproof.model.campaign import CampaignRecord
from rackproof.store import Store


def find(store: Store, campaign: str) -> CampaignRecord:
    """A campaign by its number or `latest`. Raises NotFound."""
    if campaign == "latest":
        return store.campaign(store.latest())
    if not campaign.isdecimal():
        raise NotFound(f"campaign: expected a number or `latest`, found {campaign!r}")
    return store.campaign(int(campaign))
