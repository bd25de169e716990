"""Testbeds of real parts: an inventory, its generators and its devices."""
