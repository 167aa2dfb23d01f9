"""The charts of a report: SVG in its HTML, without script or address, for either colour scheme."""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Sequence

import pygal
from markupsafe import Markup
from pygal.style import Style

from miqps.report.findings import SiteFindings

# The library looks for plug-ins by a hook of a form that Python warns of at every later import. It
# has none that are needed here.
sys.meta_path[:] = [each for each in sys.meta_path if type(each) is not pygal.PluginImportFixer]

_MOST_BARS = 12
_SCRIPT = re.compile(r"<script\b.*?</script>|<!--.*?-->", re.DOTALL)
_STYLE = Style(
    background="transparent",
    plot_background="transparent",
    foreground="currentColor",
    foreground_strong="currentColor",
    foreground_subtle="currentColor",
    font_family="system-ui, sans-serif",
    label_font_size=13,
    value_font_size=13,
    legend_font_size=13,
    colors=("#8a94a6", "#2f6fde"),
)


def seen_and_left(sites: Sequence[SiteFindings]) -> Markup:
    """Distinct URLs of each site, as they were seen and after cleaning."""
    shown = sites[:_MOST_BARS]
    return _bars(
        [site.site for site in shown],
        {"seen": [site.urls for site in shown], "after cleaning": [site.cleaned for site in shown]},
    )


def duplicates_by_parameter(sites: Sequence[SiteFindings]) -> Markup:
    """The parameters that most URLs have and need not have."""
    total = Counter[str]()
    for site in sites:
        total.update(dict(site.duplicates))
    shown = total.most_common(_MOST_BARS)
    return _bars([name for name, _ in shown], {"URLs": [number for _, number in shown]})


def _bars(labels: Sequence[str], series: dict[str, list[int]]) -> Markup:
    """Horizontal bars, the first at the top; nothing without any."""
    if not labels:
        return Markup("")
    chart = pygal.HorizontalBar(
        js=(),
        style=_STYLE,
        disable_xml_declaration=True,
        show_legend=len(series) > 1,
        legend_at_bottom=True,
        width=720,
        height=90 + 40 * len(labels),
        print_values=len(series) == 1,
        show_x_guides=False,
        show_y_guides=False,
        truncate_label=28,
        value_formatter=lambda value: f"{value:,.0f}",
    )
    chart.x_labels = list(reversed(labels))
    for name, values in series.items():
        chart.add(name, list(reversed(values)))
    # The library escapes what it is given; its own script is for tooltips.
    return Markup(_SCRIPT.sub("", chart.render(is_unicode=True)))
