"""What does a verdict or a state mean, in a sentence that leaves no doubt?"""

from collections.abc import Mapping

from rackproof.model.campaign import CampaignState
from rackproof.model.verdict import Verdict

MEANING: Mapping[str, str] = {
    Verdict.PASS: "Every criterion holds, and every trial is valid.",
    Verdict.FAIL: "The device is not what was promised.",
    Verdict.INVALID: "It ran, but the measurement cannot be trusted: it says nothing about the device, for or against.",
    Verdict.ABORTED: "It was stopped before its end: there is no verdict on the device.",
    Verdict.TIMEOUT: "Something did not end within its bound: there is no verdict on the device.",
    Verdict.ERROR: "The laboratory failed, not the device: there is no verdict on it.",
}
OF_TRIAL: Mapping[str, str] = {
    **MEANING,
    Verdict.PASS: "The trial is valid; whether the device is what was promised is judged over the campaign.",
}
OF_STATE: Mapping[str, str] = {
    CampaignState.PENDING: "It waits.",
    CampaignState.RUNNING: "It runs; nothing is judged before its end.",
    CampaignState.INTERRUPTED: "Its process is gone before the end. What was measured is kept.",
}
#: What stands in a cell of the grid of trials: told apart without colour too.
GLYPH: Mapping[str | None, str] = {
    None: "",
    Verdict.PASS: "",
    Verdict.FAIL: "×",
    Verdict.INVALID: "?",
    Verdict.ABORTED: "–",
    Verdict.TIMEOUT: "⋯",
    Verdict.ERROR: "!",
}
