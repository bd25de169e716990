"""The forwarding element `xpfe` of the bench: its tables (tables.py) in XDP (element.py, xpfe.bpf.c)."""
