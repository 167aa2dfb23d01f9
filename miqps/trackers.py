"""Names that mean a campaign or a click wherever they are seen: a prior, never a verdict.

They are believed where nothing else can be checked: on a path on which no parameter was ever seen
to matter, a page of content cannot be told from a wall that shows the same to everybody. There only
these may go, when their removal made no difference. Names that are something else on other sites
(`ref`, `source`, `sid`, `cid`) are left out on purpose.

The names are facts from the vendors' own documentation of their link tagging.
"""

from __future__ import annotations

import re

_KNOWN = frozenset(
    [
        "gclid",
        "gclsrc",
        "dclid",
        "gbraid",
        "wbraid",
        "srsltid",
        "fbclid",
        "msclkid",
        "yclid",
        "ysclid",
        "twclid",
        "ttclid",
        "igshid",
        "igsh",
        "li_fat_id",
        "epik",
        "sccid",
        "rdt_cid",
        "wickedid",
        "mc_cid",
        "mc_eid",
        "mkt_tok",
        "_ga",
        "_gl",
        "_hsenc",
        "_hsmi",
        "__hstc",
        "__hssc",
        "__hsfp",
        "hsctatracking",
        "vero_id",
        "vero_conv",
        "oly_anon_id",
        "oly_enc_id",
        "dm_i",
        "ml_subscriber",
        "ml_subscriber_hash",
        "_openstat",
        "ns_mchannel",
        "ns_campaign",
    ]
)
_FAMILIES = re.compile(r"(?:utm|mtm|pk|piwik|matomo|itm)_[a-z_]+\Z")


def is_tracker(name: str) -> bool:
    """Whether a name is a tag of a campaign or a click, by its vendor's word.

    >>> [is_tracker(name) for name in ("utm_source", "gclid", "ref", "id", "UTM_ID")]
    [True, True, False, False, True]
    """
    lower = name.lower()
    return lower in _KNOWN or _FAMILIES.match(lower) is not None
