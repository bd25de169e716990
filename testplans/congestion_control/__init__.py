"""Comparison of congestion-control schemes over a path, after Pantheon (Yan and others, 2018)."""

from testplans.congestion_control.kind import CongestionControl
from testplans.kind import Kind

KIND: Kind = CongestionControl()
