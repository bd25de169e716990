"""The virtual bench: a testbed that Rackproof builds on this machine out of network namespaces, with real packets."""
