"""How does Pantheon call a scheme, and how do we?"""

#: What it is under in the provenance of an imported scheme.
PANTHEONS_NAME = "Pantheon's name"
#: Where the two differ by more than _ and -: January 2018's name of the host's own TCP, and the QUIC of Chromium.
_IDS = {"default_tcp": "cubic", "quic": "quic-cubic"}
_NAMES = {"quic-cubic": "quic"}
#: As Pantheon prints them (the seventeen of January 2018, and later ones).
LABELS = {
    "bbr": "TCP BBR",
    "copa": "Copa",
    "cubic": "TCP Cubic",
    "fillp": "FillP",
    "fillp-sheep": "FillP-Sheep",
    "indigo": "Indigo",
    "ledbat": "LEDBAT",
    "pcc": "PCC",
    "pcc-experimental": "PCC-Expr",
    "quic-cubic": "QUIC Cubic",
    "scream": "SCReAM",
    "sprout": "Sprout",
    "taova": "TaoVA-100x",
    "vegas": "TCP Vegas",
    "verus": "Verus",
    "vivace": "PCC-Vivace",
    "vivace-latency": "Vivace-latency",
    "vivace-loss": "Vivace-loss",
    "vivace-lte": "Vivace-LTE",
    "webrtc": "WebRTC media",
}


def scheme_id(name: str) -> str:
    """Our id of a scheme of Pantheon."""
    return _IDS.get(name, name.lower().replace("_", "-"))


def pantheon_name(scheme: str) -> str:
    """Pantheon's name of a scheme of ours, in its later layout; what is not Pantheon's own gets one in its style."""
    return _NAMES.get(scheme, scheme.replace("-", "_"))
