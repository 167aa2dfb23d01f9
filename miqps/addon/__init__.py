"""The mitmproxy addon: records page loads, and rewrites them by the learned map."""

from miqps.addon.addon import Miqps

__all__ = ["Miqps"]
