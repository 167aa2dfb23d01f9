"""Readers of what people already have: one file a format."""
