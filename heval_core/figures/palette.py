"""How explainers look, the same on every page and figure: colour, and where colour cannot do it a symbol, dash and texture.

A method's colour is the one with its declared number. The paper's four have fixed ones. Two of these reach only 2.3:1 against
white: so marks have a dark rim, `RIM`, and a name or a number beside them, and no text is ever in an explainer's colour. With
its rim every mark has 3:1 or more against both themes' backgrounds. Distances in OKLab (times 100), the smallest of those
seen with all cones, without green and without red ones: all fifteen are at least 7.6 apart, and all but the paper's four 8.3.
Controls are grey. Groups of answers have colours that are no explainer's.
"""

from __future__ import annotations

import zlib
from functools import cache
from typing import NamedTuple

from heval_core import catalogue
from heval_core.reasons import DROP_REASONS


class Look(NamedTuple):
    """In Plotly's words. symbol: of a dot. dash: of a line. texture: of a bar; empty where it is plain."""

    colour: str
    symbol: str
    dash: str
    texture: str


# Of MechLight, feature ablation, integrated gradients and attention; then of others.
_FOUR = ("#CC79A7", "#E69F00", "#56B4E9", "#009E73")
_FOUR_MORE = ("#FF3502", "#658AFB", "#FAB4C1", "#B22B94")
_BY_SHAPE_TOO = ("#49C77C", "#965054", "#53DDFC", "#2D9200", "#4269BE", "#7FE36C", "#0751FA")
COLOURS = _FOUR + _FOUR_MORE + _BY_SHAPE_TOO
METHODS = (
    *(Look(colour, "circle", "solid", "") for colour in _FOUR + _FOUR_MORE),
    *(Look(colour, "diamond", "dash", "\\") for colour in _BY_SHAPE_TOO),
)
# Round every mark in a method's colour: seen on light backgrounds, where the lightest colours are not.
RIM = "#1F2328"
CONTROLS = (
    Look("#949494", "square", "longdash", "."),
    Look("#7A7A7A", "triangle-up", "dashdot", "/"),
    Look("#666666", "x", "dot", "x"),
)
# Of variants, which may be many: their colour says whose they are.
VARIANTS = ("star", "cross", "pentagon", "hexagram", "triangle-down", "hourglass")

# Where an answer came from: blues for documents, brick for memory, stone for what no metric reads.
GROUPS = {"C": "#5F80CC", "C1": "#3C9FCA", "C2": "#B3EBEB", "M": "#C86B50", "other": "#A39B8B", "ambiguous": "#D8D2C4"}
# What an explainer's best token is; 11 apart, and 5 from every explainer and group.
PATTERN_COLOURS = {
    "answer": "#125101",
    "wrong_document": "#AE649F",
    "question": "#4F3392",
    "function_word": "#FDDFAD",
    "near_entity": "#83A861",
    "other": "#BBA9C0",
    "tied": "#744B67",
}
# Why an instance was left out: a texture and a shade for each of the reasons.
_TEXTURES, _SHADES = ("/", "\\", "x", "-", "|", "+", "."), ("#DDDDDD", "#BDBDBD", "#9A9A9A", "#7A7A7A")
DROPPED = {
    reason: (_SHADES[number // len(_TEXTURES)], _TEXTURES[number % len(_TEXTURES)])
    for number, reason in enumerate(DROP_REASONS)
}


@cache
def look(explainer: str) -> Look:
    """An explainer that is not installed gets one that no installed one has, always the same; a variant a related one."""
    name, _, options = explainer.partition("(")
    plain = _look_of(name)
    if not options:
        return plain
    return Look(_related(plain.colour), VARIANTS[zlib.crc32(options.encode()) % len(VARIANTS)], "longdashdot", "|")


def _look_of(name: str) -> Look:
    plugin = catalogue.plugins("explainer").get(name)
    if plugin is not None:
        looks = CONTROLS if plugin.control else METHODS
        return looks[(plugin.order - 1) % len(looks)]
    free = METHODS[len(catalogue.explainers()) :] or METHODS
    return free[zlib.crc32(name.encode()) % len(free)]


def colour(explainer: str) -> str:
    return look(explainer).colour


def _related(colour: str) -> str:
    """The same hue, dark where it is light and light where it is dark; as far as contrast allows."""
    parts = [_linear(int(colour[start : start + 2], 16) / 255) for start in (1, 3, 5)]
    light = luminance(colour)
    dark, bright = 0.135, 0.285
    if light > (dark + bright) / 2:
        parts = [part * dark / light for part in parts]
    else:
        white = (bright - light) / (1 - light)
        parts = [part + (1 - part) * white for part in parts]
    return "#" + "".join(f"{round(255 * _encoded(part)):02X}" for part in parts)


def luminance(colour: str) -> float:
    """0 to 1, as WCAG's contrast reads it: (lighter + 0.05) / (darker + 0.05)."""
    red, green, blue = (_linear(int(colour[start : start + 2], 16) / 255) for start in (1, 3, 5))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _linear(part: float) -> float:
    return part / 12.92 if part <= 0.04045 else float(((part + 0.055) / 1.055) ** 2.4)


def _encoded(part: float) -> float:
    return 12.92 * part if part <= 0.0031308 else float(1.055 * part ** (1 / 2.4) - 0.055)


def in_order(explainers: list[str]) -> list[str]:
    """The methods first, each followed by its variants (`fa(target=prob)`), controls last; unknown ones between them."""
    known = catalogue.plugins("explainer")

    def place(key: str) -> tuple[int, int, str]:
        plugin = known.get(key.partition("(")[0])
        return (1, 0, key) if plugin is None else (2 if plugin.control else 0, plugin.order, key)

    return sorted(explainers, key=place)


def escape(label: str) -> str:
    """Text as Plotly is to show it: it reads a little HTML in labels, and would swallow a token like <s>."""
    return label.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
