"""The colours (Okabe-Ito): one per explainer, greys for controls, the same on every page and figure."""

from __future__ import annotations

COLOURS = {
    "fa": "#E69F00",
    "ig": "#56B4E9",
    "attn": "#009E73",
    "mechlight": "#CC79A7",
    "random": "#9A9A9A",
    "position": "#7A7A7A",
    "lexical": "#B8B8B8",
}
# Greys are told apart by more than their shade: texture of a bar, dash of a line, sign of a dot.
TEXTURES = {"random": "x", "position": "/", "lexical": "."}
# Over the bar's own colour, so that a narrow one is still a bar.
HATCHED = {"fillmode": "overlay", "fgcolor": "#4A4A4A", "size": 6, "solidity": 0.25}
DASHES = {"random": "dot", "position": "dashdot", "lexical": "longdash"}
SIGNS = {"random": "x", "position": "triangle-up", "lexical": "square"}
_SPARE = ("#D55E00", "#0072B2", "#F0E442")
ORDER = ("mechlight", "fa", "ig", "attn", "lexical", "position", "random")


# Where an answer came from: blues for documents, vermilion for memory, greys for what no metric reads.
GROUPS = {
    "C": "#0072B2",
    "C1": "#0072B2",
    "C2": "#7FB8DA",
    "M": "#D55E00",
    "other": "#8C8C8C",
    "ambiguous": "#B3B3B3",
}


def colour(explainer: str) -> str:
    """An explainer's colour; one that is not in the palette gets a spare one, always the same."""
    return COLOURS.get(explainer) or _SPARE[sum(map(ord, explainer)) % len(_SPARE)]


def in_order(explainers: list[str]) -> list[str]:
    """The methods first, each followed by its variants (`fa(target=prob)`), controls last; unknown ones between them."""

    def place(key: str) -> tuple[float, str]:
        name = key.partition("(")[0]
        return (ORDER.index(name) if name in ORDER else 3.5, key)

    return sorted(explainers, key=place)


def escape(label: str) -> str:
    """Text as Plotly is to show it: it reads a little HTML in labels, and would swallow a token like <s>."""
    return label.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
