"""The figure of a question's tab as a static drawing, for papers: the same means with their intervals, without the cells."""

from __future__ import annotations

from collections.abc import Sequence

from heval_core.figures.measured_panels import Measured, in_unit, told
from heval_core.present.names import ALL, Names, part_words, regime_title
from heval_core.records import REGIMES
from heval_core.regime_keys import ordered_regimes
from heval_core.report.charts import DotPanel, dot_panels
from heval_core.report.drawing import as_svg


def picture_of(found: Measured, drawn: Sequence[str], names: Names) -> str:
    """As SVG. drawn: the explainers in it. A row has a line for each part of a cell."""
    means = in_unit(found.parts, found.scaled)
    means = means[means["explainer"].isin(list(drawn))]
    lanes = {part: lane if found.in_parts else 0 for lane, part in enumerate(found.measure.parts)}
    dots = means[["explainer", "regime"]].assign(
        lane=means["part"].map(lanes),
        value=means["at"],
        low=means["at_low"],
        high=means["at_high"],
        chance=means["at_chance"],
        tip=[
            f"{names.explainer(row['explainer'])}, {names.place(ALL, ALL, row['regime'], row['part'])}: {told(row, found)}"
            for row in means.to_dict("records")
        ],
    )
    unit = "from chance (0) to best (1)" if found.scaled else found.measure.unit
    panels = [
        DotPanel(regime_title(regime), dots[dots["regime"] == regime], unit)
        for regime in ordered_regimes(set(dots["regime"]), REGIMES)
    ]
    title = found.measure.title
    if found.in_parts:
        title += f": {', then '.join(part_words(part) for part in found.measure.parts)}"
    titles = {key: names.explainer(key) for key in drawn}
    return as_svg(dot_panels(title, panels, titles, set(names.controls), shared=True))
