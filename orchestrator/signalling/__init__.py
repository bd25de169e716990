"""The emulated LERs of LSPs: what a process with the engine does, and what the campaign's process asks of it."""
