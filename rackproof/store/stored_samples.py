"""The raw samples of a campaign's trials, for whoever draws them: read when asked for, in whichever process asks."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from rackproof.errors import StoreError
from rackproof.model.campaign import CampaignRecord, SamplesFile
from rackproof.model.traffic import Samples
from rackproof.store import samples

log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True, slots=True)
class StoredSamples:
    """Where the samples are, by the index of the trial."""

    place: samples.Place
    files: Mapping[int, SamplesFile]

    @classmethod
    def of(cls, campaign: CampaignRecord, place: samples.Place) -> Self:
        """Those of a campaign; place: Store.samples_place."""
        return cls(place=place, files={each.trial.index: each.samples for each in campaign.trials if each.samples is not None})

    def __call__(self, trial: int) -> Samples | None:
        """The samples of a trial; None where there are none, where retention removed them, or where they cannot be read."""
        file = self.files.get(trial)
        if file is None:
            return None
        try:
            return samples.read(self.place, file)
        except StoreError as error:
            log.warning("%s", error)
            return None
