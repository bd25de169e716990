"""The label switching router `soft-lsr` of the bench: what it is like (options.py), and its label table in XDP (lsr.bpf.c)."""
