"""Delay over chains of packet forwarding elements, after the 5G-Crosshaul packet forwarding element (XPFE)."""

from testplans.kind import Kind
from testplans.xpfe_delay.kind import XpfeDelay

KIND: Kind = XpfeDelay()
