"""How explainers look, the same on every page and figure: colour, and where colour cannot do it a symbol.

A method's look is that of its declared number, whatever else is there. The paper's four have fixed colours. Two of these
reach only 2.3:1 against white: so marks have a dark rim, `RIM`, and a name or a number beside them, and no text is ever in an
explainer's colour. With its rim every mark has 3:1 or more against both themes' backgrounds. Distances in OKLab (times 100),
the smallest of those seen with all cones, without green and without red ones: all fifteen colours are at least 7.6 apart, and
all but the paper's four 8.3. From the sixteenth method on colours come again, with other symbols: 165 methods and 24 controls
differ. Controls are grey. What comes from outside this program, and so has no number among its explainers, has a look by its
name. Groups of answers have colours that are no explainer's.
"""

import zlib
from typing import NamedTuple

from heval_core.plugins import catalogue
from heval_core.present.names import TRUTH, Names, annotator_name


class MethodLook(NamedTuple):
    """symbol: of a dot, in Plotly's words."""

    colour: str
    symbol: str


# Of MechLight, feature ablation, integrated gradients and attention; then of others.
_FOUR = ("#CC79A7", "#E69F00", "#56B4E9", "#009E73")
_FOUR_MORE = ("#FF3502", "#658AFB", "#FAB4C1", "#B22B94")
_BY_SHAPE_TOO = ("#49C77C", "#965054", "#53DDFC", "#2D9200", "#4269BE", "#7FE36C", "#0751FA")
COLOURS = _FOUR + _FOUR_MORE + _BY_SHAPE_TOO
_GREYS = ("#949494", "#7A7A7A", "#666666")
# The numbers of these and of colours have no common divisor, so that it takes long until two come together again.
_SYMBOLS = (
    *("circle", "diamond", "triangle-left", "bowtie", "star-diamond", "triangle-right", "star-square", "circle-x"),
    *("diamond-cross", "star-triangle-up", "triangle-se"),
)
_OF_CONTROLS = ("square", "triangle-up", "x", "square-dot", "triangle-up-dot", "x-dot", "square-cross", "square-x")
# Of explainers from outside.
_OF_OTHERS = ("star-dot", "cross-dot", "pentagon-dot", "hexagram-dot", "triangle-down-dot", "hexagon-dot")
# Round every mark in a method's colour: seen on light backgrounds, where the lightest colours are not.
RIM = "#1F2328"
# Of variants, which may be many: their colour says whose they are.
VARIANTS = ("star", "cross", "pentagon", "hexagram", "triangle-down", "hourglass")

# An annotator that is an explainer has the colour of the method that reads the model in the same way.
_LIKE = {"loo": "fa", "gradient": "ig", "attention": "attn"}
_CONTEXTCITE = COLOURS[7]
# Of reader models, on light and on dark; then of an entailment model, and of people. The first two, these and explainers
# are at least 9 apart, as above.
_READERS = (("#4A63C7", "#7C83F5"), ("#9A6324", "#E0C9AE"), ("#6A3FA0", "#B9A2FF"), ("#5B6B2A", "#B7C46A"))
_ENTAILMENT, _PEOPLE, _CONTROL = ("#A3123F", "#FF4D5E"), ("#1F2328", "#FFFFFF"), ("#7A7A7A", "#868C94")

# Where an answer came from: blues for documents, brick for memory, stone for what no metric reads.
GROUPS = {"C": "#5F80CC", "C1": "#3C9FCA", "C2": "#B3EBEB", "M": "#C86B50"}
GROUPS |= {"other": "#A39B8B", "ambiguous": "#D8D2C4", "denied": "#857C6E"}
# Why an instance was left out. Sandy, so that no reason is taken for the grey of a group.
DROPPED = ("#E9DCC9", "#D3BD9F", "#B99C78", "#F4EDE2", "#9C7F5C", "#E0CDB4", "#C7AC8A", "#84694A")
# Of these where they can be zoomed; no two come together again before the 57th.
HATCHES = ("/", "\\", "x", "-", "|", "+", ".")


# A technique's family has a shape, not a hue; Regular alone has the page's own colour.
SHAPES = {
    "none": "regular",
    "decoding": "circle",
    "prompt": "square",
    "heads": "diamond",
    "training": "triangle",
    "calls": "plus",
}


def look(explainer: str) -> MethodLook:
    """Return a look.

    An explainer that is no part of this program looks like none that is, installed or not; a variant like its method.
    """
    name, _, options = explainer.partition("(")
    plain = _look_of(name)
    if not options:
        return plain
    return MethodLook(_related(plain.colour), VARIANTS[zlib.crc32(options.encode()) % len(VARIANTS)])


def _look_of(name: str) -> MethodLook:
    plugin = catalogue.built_in("explainer").get(name)
    if plugin is not None:
        return look_of_control(plugin.order) if plugin.control else look_of_method(plugin.order)
    turn, hue = divmod(zlib.crc32(name.encode()), len(COLOURS))
    return MethodLook(COLOURS[hue], _OF_OTHERS[turn % len(_OF_OTHERS)])


def look_of_method(number: int) -> MethodLook:
    """Return the look of a method. number: from 1.

    A symbol is of the first eight colours, the next one of the other seven.
    """
    turn, hue = divmod(number - 1, len(COLOURS))
    sign = 2 * turn + (hue >= len(_FOUR + _FOUR_MORE))
    return MethodLook(COLOURS[hue], _SYMBOLS[sign % len(_SYMBOLS)])


def look_of_control(number: int) -> MethodLook:
    """Return the look of a control. number: from 1."""
    return MethodLook(_GREYS[(number - 1) % len(_GREYS)], _OF_CONTROLS[(number - 1) % len(_OF_CONTROLS)])


def colour(explainer: str) -> str:
    return look(explainer).colour


def annotator_colour(key: str, names: Names) -> str:
    """Return a colour in the words of a stylesheet: one of a theme's own where they differ."""
    if key == TRUTH:
        return _both(_PEOPLE)
    family = names.family(key)
    if family == "explainer":
        option, _, more = key.partition("(")[2].removesuffix(")").partition(",")
        like = _LIKE.get(option.removeprefix("method="))
        return colour(f"{like}({more})" if more else like) if like else _CONTEXTCITE
    if family in ("control", "people"):
        return _both(_CONTROL if family == "control" else _PEOPLE)
    if annotator_name(key) == "nli":
        return _both(_ENTAILMENT)
    readers = [
        one for one in names.in_order(names.annotators) if names.family(one) == "reader" and annotator_name(one) != "nli"
    ]
    return _both(_READERS[readers.index(key) % len(_READERS) if key in readers else 0])


def _both(colours: tuple[str, str]) -> str:
    return f"light-dark({colours[0]}, {colours[1]})"


def _related(colour: str) -> str:
    """Return the same hue, dark where it is light and light where it is dark; as far as contrast allows."""
    parts, light = _parts(colour), luminance(colour)
    dark, bright = 0.135, 0.285
    if light > (dark + bright) / 2:
        parts = [part * dark / light for part in parts]
    else:
        white = (bright - light) / (1 - light)
        parts = [part + (1 - part) * white for part in parts]
    encoded = (12.92 * part if part <= 0.0031308 else 1.055 * part ** (1 / 2.4) - 0.055 for part in parts)
    return "#" + "".join(f"{round(255 * part):02X}" for part in encoded)


def luminance(colour: str) -> float:
    """Compute luminance, 0 to 1, as WCAG's contrast reads it: (lighter + 0.05) / (darker + 0.05)."""
    red, green, blue = _parts(colour)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _parts(colour: str) -> list[float]:
    """Return red, green and blue as light adds up."""
    parts = [int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5)]
    return [part / 12.92 if part <= 0.04045 else float(((part + 0.055) / 1.055) ** 2.4) for part in parts]


def in_order(explainers: list[str]) -> list[str]:
    """Return the methods first, each followed by its variants (`fa(target=prob)`), controls last; unknown ones
    between them.
    """
    known = catalogue.plugins("explainer")

    def position(key: str) -> tuple[int, int, str]:
        plugin = known.get(key.partition("(")[0])
        return (1, 0, key) if plugin is None else (2 if plugin.control else 0, plugin.order, key)

    return sorted(explainers, key=position)
