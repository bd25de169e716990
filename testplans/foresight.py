"""What the rehearsals of kinds share: device models that a testbed has not, and the scale of rates that it carries."""

import math
from collections.abc import Iterable, Iterator

from rackproof.ports import Limits

#: Less sent than can be carried by this much: a testbed has worse hours, and a calibration finds a little less than the one before.
HEADROOM = 0.9


def neat(value: float) -> float:
    """The value rounded down to two digits, the second of which is 0 or 5: 0.137 gives 0.1, 0.17 gives 0.15."""
    if not 0 < value < math.inf:
        return 0.0
    step = 5 * 10.0 ** (math.floor(math.log10(value)) - 1)
    return round(math.floor(value / step + 1e-9) * step, 12)


def models_refused(where: str, models: Iterable[str], options: Iterable[str], limits: Limits) -> Iterator[str]:
    """Models that the testbed does not have or cannot use here, and options that they do not know; where: the place in the plan."""
    for model in dict.fromkeys(models):
        if model not in limits.device_models:
            known = ", ".join(sorted(limits.device_models)) or "none"
            yield f"{where}: expected a device model of this testbed ({known}), found {model}"
            continue
        why = limits.device_models[model]
        if why:
            yield f"{where}: the model {model} cannot be used here: {why}"
        known_options = limits.options.get(model, frozenset())
        for option in sorted(set(options) - known_options):
            yield f"{where}: expected options of {model} ({', '.join(sorted(known_options)) or 'it has none'}), found {option}"
