"""Whether explainers can be told apart by how they look: in both themes, and by eyes without red or green cones."""

import itertools
import tomllib
from types import SimpleNamespace

import numpy as np
import pytest
from plotly.validator_cache import ValidatorCache

from heval_core.explainers import document, fa, random
from heval_core.figures import palette
from heval_core.plugins import catalogue
from heval_core.records.vocabulary import DROP_REASONS
from tests.conftest import ROOT

# Machado, Oliveira & Fernandes 2009, severity 1, on linear RGB.
EYES = {
    "all cones": np.eye(3),
    "deuteranopia": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
    "protanopia": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
}
# Measured 7.6 (the paper's four are given), 8.3 and 6.2.
ALL_FIFTEEN, WITHOUT_THE_FOUR, FROM_GROUPS = 7.5, 8.0, 6.0
# Of controls, measured 6.9: each has a symbol of its own besides.
GREYS = 6.5
GREY = {palette.look_of_control(number).colour for number in range(1, 25)}


def linear(colours):
    codes = np.array([[int(colour[start : start + 2], 16) for start in (1, 3, 5)] for colour in colours]) / 255
    return np.where(codes <= 0.04045, codes / 12.92, ((codes + 0.055) / 1.055) ** 2.4)


def oklab(rgb):
    """Ottosson 2020: (N, 3) linear RGB ▶ (N, 3), times 100."""
    cones = np.array(
        [
            [0.4122214708, 0.5363325363, 0.0514459929],
            [0.2119034982, 0.6806995451, 0.1073969566],
            [0.0883024619, 0.2817188376, 0.6299787005],
        ]
    )
    axes = np.array(
        [
            [0.2104542553, 0.7936177850, -0.0040720468],
            [1.9779984951, -2.4285922050, 0.4505937099],
            [0.0259040371, 0.7827717662, -0.8086757660],
        ]
    )
    return 100 * np.cbrt(np.clip(rgb, 0, 1) @ cones.T) @ axes.T


def closest(colours, eyes):
    seen = oklab(np.clip(linear(colours) @ EYES[eyes].T, 0, 1))
    return min(float(np.linalg.norm(one - other)) for one, other in itertools.combinations(seen, 2))


def test_distances_are_those_of_the_colour_space():
    assert oklab(linear(["#FFFFFF"]))[0] == pytest.approx([100, 0, 0], abs=1e-3)
    assert oklab(linear(["#FF0000"]))[0] == pytest.approx([62.796, 22.486, 12.585], abs=1e-2)


@pytest.mark.parametrize("eyes", EYES)
def test_colours_are_told_apart(eyes):
    assert len(set(palette.COLOURS)) == 15
    assert closest(palette.COLOURS, eyes) >= ALL_FIFTEEN
    assert closest(palette.COLOURS[4:], eyes) >= WITHOUT_THE_FOUR
    assert closest(sorted(GREY), eyes) >= GREYS


@pytest.mark.parametrize("eyes", EYES)
def test_any_two_of_many_explainers_differ_in_colour_or_in_symbol(eyes):
    """Of 60 methods, 24 controls and 30 from outside; and 165 methods are no two the same."""
    methods = [palette.look_of_method(number) for number in range(1, 166)]
    controls = [palette.look_of_control(number) for number in range(1, 25)]
    outside = sorted({palette.look(f"own{number}") for number in range(30)})
    for one, other in itertools.combinations(methods[:60] + controls + outside, 2):
        assert one.symbol != other.symbol or closest([one.colour, other.colour], eyes) >= GREYS, (one, other)
    assert len(set(methods + controls)) == 189
    assert {one.symbol for one in methods + controls + outside} <= set(
        ValidatorCache.get_validator("scatter.marker", "symbol").values
    )
    assert not {one.symbol for one in methods + controls + outside} & set(palette.VARIANTS)


def test_a_look_stays_when_others_come_and_go(monkeypatch):
    """That of a method, of one from outside, and of one that is installed no longer."""
    keys = ["fa", "document", "random", "gone", "own", "fa(target=prob)"]
    before = [palette.look(key) for key in keys]
    monkeypatch.setattr(
        catalogue, "built_in", lambda kind: {"fa": fa.PLUGIN, "document": document.PLUGIN, "random": random.PLUGIN}
    )
    assert [palette.look(key) for key in keys] == before
    # Also where its own number is another's.
    monkeypatch.setattr(
        catalogue, "_ADDED", {("explainer", "own"): (SimpleNamespace(key="own", order=2, control=False), "hash")}
    )
    assert "own" in catalogue.plugins("explainer")
    assert [palette.look(key) for key in keys] == before


@pytest.mark.parametrize("eyes", EYES)
def test_no_colour_means_two_things(eyes):
    """Groups of answers share no colour with an explainer, with each other, or with a reason; no two reasons look alike."""
    named = [palette.GROUPS[group] for group in ("C", "C1", "C2", "M")]
    assert closest(named, eyes) >= FROM_GROUPS
    for group in named:
        assert min(closest([group, own], eyes) for own in palette.COLOURS) >= FROM_GROUPS
    assert len(set(palette.GROUPS.values())) == len(palette.GROUPS)
    assert not {*palette.GROUPS.values(), *palette.DROPPED} & {*palette.COLOURS, *GREY}
    assert len({*palette.GROUPS.values(), *palette.DROPPED}) == len(palette.GROUPS) + len(palette.DROPPED)
    assert np.lcm(len(palette.DROPPED), len(palette.HATCHES)) >= len(DROP_REASONS)


def contrast(one, other):
    light, dark = sorted((palette.luminance(one), palette.luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def test_every_mark_with_its_rim_is_seen_in_both_themes():
    theme = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text(encoding="utf-8"))["theme"]
    backgrounds = [theme[name]["backgroundColor"] for name in ("light", "dark")]
    for colour, background in itertools.product([*palette.COLOURS, *palette.GROUPS.values()], backgrounds):
        assert max(contrast(colour, background), contrast(palette.RIM, background)) >= 3, (colour, background)
    assert min(contrast(colour, palette.RIM) for colour in palette.COLOURS) >= 2.5  # the rim is seen round the mark, too
    without_rim = [*GREY, *(palette._related(colour) for colour in palette.COLOURS)]
    for colour, background in itertools.product(without_rim, backgrounds):
        assert contrast(colour, background) >= 3, (colour, background)


@pytest.mark.parametrize("colour", palette.COLOURS)
def test_a_variants_colour_is_another_shade_of_its_explainers(colour):
    own, related = oklab(linear([colour, palette._related(colour)]))
    assert abs(own[0] - related[0]) >= 5
    turned = np.degrees(np.arctan2(own[2], own[1]) - np.arctan2(related[2], related[1]))
    assert abs((turned + 180) % 360 - 180) < 25


def test_the_four_of_the_paper_keep_their_order_and_hues():
    assert [palette.colour(key) for key in ("mechlight", "fa", "ig", "attn")] == ["#CC79A7", "#E69F00", "#56B4E9", "#009E73"]
    keys = ["random", "attn", "gone", "fa(target=prob)", "lexical", "mechlight", "fa", "ig"]
    assert palette.in_order(keys) == ["mechlight", "fa", "fa(target=prob)", "ig", "attn", "gone", "lexical", "random"]


def test_what_is_gone_looks_like_nothing_that_is_installed():
    installed = {palette.look(key) for key in catalogue.built_in("explainer")}
    assert len(installed) == len(catalogue.built_in("explainer"))
    assert palette.look("gone") not in installed
    assert palette.look("fa(target=prob)").symbol in palette.VARIANTS
