"""Bridges to other programs; each needs its own optional extra."""
