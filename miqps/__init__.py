"""Learns which query parameters of a URL matter, and strips the rest."""

from miqps.normalizer import Normalizer

__all__ = ["Normalizer", "__version__"]

__version__ = "0.1.0"
