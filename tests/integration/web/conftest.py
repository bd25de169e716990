"""The site of house.py for the tests of this folder."""

from tests.integration.web.house import client, house, quiet, quiet_site, seeds, site

__all__ = ["client", "house", "quiet", "quiet_site", "seeds", "site"]
