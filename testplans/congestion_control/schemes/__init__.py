"""Congestion-control schemes as data: one YAML file each in this folder, found by the registry."""
