"""The core of Rackproof: values, plan files, ports, store, statistics and the command line."""

__version__ = "0.1.0"
