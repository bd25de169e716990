"""Drivers of traffic generators, one file each."""
