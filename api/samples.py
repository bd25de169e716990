"""Where are the samples of a trial, if they are still there?"""

from api.problems import Refusal
from rackproof.errors import NotFound
from rackproof.model.campaign import SamplesFile
from rackproof.store import Store, samples


def stored(store: Store, campaign: int, index: int) -> tuple[SamplesFile, int]:
    """The file in store.samples_place, and how long it is [byte]. Raises Refusal (410 where they were removed), NotFound, StoreError."""
    trial = store.browse.trial_samples(campaign, index)
    if trial.gone is not None:
        raise Refusal(410, f"the samples of campaign {campaign} were removed at {trial.gone.isoformat(timespec='seconds')}")
    if trial.file is None:
        raise NotFound(f"trial {index} of campaign {campaign} has no samples")
    try:
        return trial.file, samples.size(store.samples_place, trial.file.path)
    except NotFound:
        raise NotFound(f"the samples of trial {index} of campaign {campaign} are not where they were stored") from None
