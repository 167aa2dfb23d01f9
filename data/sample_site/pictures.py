"""Draws the pictures: a thing in its colour for each product, a landscape for each article.

The number of a product or an article seeds the proportions, so each has its own picture and the
same one each time. Pictures are SVG, 200 x 150 units.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from markupsafe import Markup, escape

INK = "#23303a"
SHADE = "#00000026"
SKIES = ("#cfe3ee", "#f6d9c0", "#e9dff0", "#d5e8da", "#f3e6b8", "#c7d3e6")
LANDS = ("#5d7f73", "#7b6a58", "#4c6a86", "#8a7a4f", "#6f5d78", "#52755a")


def product(number: int, kind: str, color: str, label: str) -> Markup:
    """Gives the drawing of product `number` of this kind in a CSS color, named by `label`."""
    random = Random(number)
    floor = f'<ellipse cx="100" cy="134" rx="{random.randint(56, 74)}" ry="5" fill="{SHADE}"/>'
    return _svg("#eceae4", floor + DRAWINGS[kind](color, random), label)


def scene(number: int, label: str) -> Markup:
    """Gives the landscape of article `number`, named by `label`."""
    random = Random(number)
    x, y, size = random.randint(25, 175), random.randint(25, 60), random.randint(9, 17)
    sun = _circle(x, y, size, "#f4c95d")
    hills = "".join(
        _hill(random, 85 + 18 * step, land) for step, land in enumerate(random.sample(LANDS, 3))
    )
    houses = "".join(_house(random) for _ in range(random.randint(2, 6)))
    return _svg(random.choice(SKIES), sun + hills + houses, label)


def _svg(ground: str, shapes: str, label: str) -> Markup:
    return Markup(
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 200 150" role="img" '
        f'aria-label="{escape(label)}">{_rect(0, 0, 200, 150, ground)}{shapes}</svg>'
    )


def _rect(x: float, y: float, width: float, height: float, fill: str, corner: float = 0) -> str:
    place = f'x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}"'
    rounded = f' rx="{corner:g}"' if corner else ""
    return f'<rect {place}{rounded} fill="{fill}"/>'


def _circle(x: float, y: float, radius: float, fill: str) -> str:
    return f'<circle cx="{x:g}" cy="{y:g}" r="{radius:g}" fill="{fill}"/>'


def _path(route: str, fill: str = "none", stroke: str = "none", width: float = 4) -> str:
    line = f' stroke="{stroke}" stroke-width="{width:g}" stroke-linecap="round"'
    return f'<path d="{route}" fill="{fill}"{line if stroke != "none" else ""}/>'


def _hill(random: Random, top: int, fill: str) -> str:
    ends, bend = (top + random.randint(-9, 9) for _ in range(2)), random.randint(-28, 22)
    left, right = ends
    return _path(f"M0 {left}Q{random.randint(50, 150)} {top + bend} 200 {right}V150H0Z", fill)


def _house(random: Random) -> str:
    x, y, wide, high = (
        random.randint(8, 170),
        random.randint(104, 124),
        random.randint(10, 22),
        random.randint(10, 18),
    )
    roof = _path(
        f"M{x - 2} {y}l{wide / 2 + 2:g} -9l{wide / 2 + 2:g} 9Z", random.choice(("#9c4a33", INK))
    )
    return roof + _rect(x, y, wide, high, "#f4efe4") + _rect(x + wide / 2 - 2, y + 4, 4, 5, INK)


def _chair(color: str, random: Random) -> str:
    wide, back, seat = random.randint(44, 60), random.randint(22, 40), random.randint(82, 90)
    left, bars = 100 - wide / 2, random.randint(0, 3)
    legs = _path(
        f"M{left + 4:g} {seat}L{left - 2:g} 133M{left + wide - 4:g} {seat}L{left + wide + 2:g} 133",
        stroke=INK,
    )
    posts = _path(
        f"M{left + 3:g} {seat}V{back + 8}M{left + wide - 3:g} {seat}V{back + 8}", stroke=INK
    )
    slats = "".join(_rect(left, back + 27 + 9 * bar, wide, 3, color) for bar in range(bars))
    return (
        legs
        + posts
        + slats
        + _rect(left, back, wide, 22, color, 8)
        + _rect(left - 3, seat - 5, wide + 6, 10, color, 4)
    )


def _lamp(color: str, random: Random) -> str:
    top, wide, shade = random.randint(20, 40), random.randint(56, 84), random.randint(28, 42)
    neck, low = random.randint(18, 40), top + shade
    half = wide / 2
    light = _path(
        f"M{100 - half:g} {low}L{80 - half:g} 132H{120 + half:g}L{100 + half:g} {low}Z", "#fff3c455"
    )
    hood = _path(f"M{100 - neck / 2:g} {top}h{neck}L{100 + half:g} {low}H{100 - half:g}Z", color)
    return light + _rect(98, low, 4, 130 - low, INK) + _rect(78, 128, 44, 6, INK, 3) + hood


def _table(color: str, random: Random) -> str:
    wide, top, lean = random.randint(112, 160), random.randint(62, 84), random.randint(-8, 10)
    left, right = 100 - wide / 2, 100 + wide / 2
    leg = _path(f"M{left + 14:g} {top}L{left + 14 - lean:g} 132", stroke=INK, width=5)
    other = _path(f"M{right - 14:g} {top}L{right - 14 + lean:g} 132", stroke=INK, width=5)
    rail = _rect(left + 16, top + 8, wide - 32, random.randint(4, 12), color, 2)
    shade = _rect(left + 16, top + 8, wide - 32, 3, SHADE)
    return leg + other + rail + shade + _rect(left, top, wide, 9, color, 4)


def _shelf(color: str, random: Random) -> str:
    wide, boards = random.randint(70, 120), random.randint(3, 4)
    left, step = 100 - wide / 2, 102 / boards
    books = ""
    for board in range(boards):
        x, floor = left + 8 + random.randint(0, 30), 28 + step * (board + 1)
        for _ in range(random.randint(2, 5)):
            high = random.uniform(0.4, 0.75) * step
            books += _rect(x, round(floor - high, 1), 6, round(high, 1), random.choice(LANDS))
            x += 7
    planks = "".join(
        _rect(left, round(28 + step * board, 1), wide, 4, color) for board in range(boards + 1)
    )
    return (
        books + planks + _rect(left, 28, 4, 106, color) + _rect(left + wide - 4, 28, 4, 106, color)
    )


def _mug(color: str, random: Random) -> str:
    wide, top = random.randint(54, 74), random.randint(48, 70)
    left, right, ear = 100 - wide / 2, 100 + wide / 2, random.randint(18, 30)
    handle = _path(
        f"M{right - 2:g} {top + 16}q{ear} 0 {ear} {ear * 0.7:g}t-{ear} {ear * 0.7:g}",
        stroke=color,
        width=7,
    )
    body = _path(f"M{left:g} {top}H{right:g}V120q0 13 -13 13H{left + 13:g}q-13 0 -13 -13Z", color)
    stripe = _rect(left, top + random.randint(14, 36), wide, random.randint(2, 9), SHADE)
    return (
        handle
        + body
        + stripe
        + f'<ellipse cx="100" cy="{top}" rx="{wide / 2:g}" ry="7" fill="{INK}"/>'
    )


def _vase(color: str, random: Random) -> str:
    neck, belly, top, waist = (
        random.randint(10, 22),
        random.randint(34, 62),
        random.randint(56, 68),
        random.randint(78, 102),
    )
    twigs = "".join(
        _path(
            f"M100 {top}Q{100 + lean // 2} 40 {100 + lean} {random.randint(12, 32)}",
            stroke="#6b8a5e",
            width=2.5,
        )
        for lean in random.sample(range(-44, 45, 8), 3)
    )
    slim, wide = (100 - neck, 100 + neck), (100 - belly, 100 + belly)
    left = f"M{slim[0]} {top}C{slim[0]} {top + 16} {wide[0]} {waist - 16} {wide[0]} {waist}"
    foot = f"C{wide[0]} {waist + 22} 82 126 82 134H118C118 126 {wide[1]} {waist + 22}"
    right = f" {wide[1]} {waist}C{wide[1]} {waist - 16} {slim[1]} {top + 16} {slim[1]} {top}Z"
    return twigs + _path(left + foot + right, color)


def _clock(color: str, random: Random) -> str:
    radius, hour, minute = random.randint(42, 56), random.randint(-25, 25), random.randint(-34, 34)
    marks = "".join(
        f'<g transform="rotate({30 * mark} 100 76)">{_rect(99, 89 - radius, 2, 6, INK)}</g>'
        for mark in range(0, 12, random.choice((1, 3)))
    )
    face = _circle(100, 76, radius, color) + _circle(100, 76, radius - 7, "#fffdf8")
    hands = _path(f"M100 76l{hour} -12M100 76l{minute // 2} 26", stroke=INK, width=3)
    return face + marks + hands + _circle(100, 76, 5, INK) + _circle(100, 76, 3, color)


def _rug(color: str, random: Random) -> str:
    wide, top = random.randint(120, 160), random.randint(34, 50)
    left, gap = 100 - wide / 2, random.randint(9, 20)
    fringe = _path(
        "".join(f"M{left - 5:g} {y}h{wide + 10}" for y in range(top + 3, 130, 6)),
        stroke="#d8cfbd",
        width=2,
    )
    bands = "".join(
        _rect(left + 8, y, wide - 16, random.randint(2, 6), random.choice(("#ffffff80", SHADE)))
        for y in range(top + 8, 118, gap)
    )
    return fringe + _rect(left, top, wide, 130 - top, color, 2) + bands


DRAWINGS: dict[str, Callable[[str, Random], str]] = {
    "chair": _chair,
    "lamp": _lamp,
    "table": _table,
    "shelf": _shelf,
    "mug": _mug,
    "vase": _vase,
    "clock": _clock,
    "rug": _rug,
}
