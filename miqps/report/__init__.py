"""A report of what was found out, as one file that needs nothing else: numbers, verdicts, pictures.

Everything shown is data of strangers - names, values, titles - and is escaped; the file has no
address that anything could be loaded from, and says so to the browser (a policy in its head).
"""

from __future__ import annotations

from jinja2 import Environment, PackageLoader, StrictUndefined

from miqps.report.charts import duplicates_by_parameter, seen_and_left
from miqps.report.findings import Findings

__all__ = ["Findings", "as_html"]


def as_html(findings: Findings) -> str:
    """The report."""
    environment = Environment(
        loader=PackageLoader("miqps.report", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("report.html").render(
        found=findings,
        seen_and_left=seen_and_left(findings.sites),
        duplicates=duplicates_by_parameter(findings.sites),
    )
