"""Downloads of a page's table: their names say the filter, and their columns what keys are called."""

import io
import re

import pandas as pd
import pytest

from heval_core.present.drawing import Drawing
from heval_core.store.filters import Filter
from heval_core.ui import exports


@pytest.fixture
def files(few, monkeypatch):
    """A function: the files that are offered of a table under a filter, by their names' endings."""

    def offered(frame, chosen):
        given = {}
        monkeypatch.setattr(exports, "download", lambda label, content, name, key: given.update({name: content}))
        exports.table_exports(few, frame, "mrr", {"filter": str(chosen)})
        return given

    return offered


LONG = {"relation": tuple(f"relation-{number}" for number in range(30))}


@pytest.mark.parametrize(("chosen", "written"), [
    (Filter(explained=True), ""), (Filter(("demo-gpt2",), ("nq",)), "-model=demo-gpt2_dataset=nq"),
    (Filter(answer_at=(0, 0.5)), "-answer_at=0-to-0.5"),
])  # fmt: skip
def test_a_files_name_says_the_filter_that_was_set_and_nothing_where_none_was(few, files, chosen, written):
    names = [*files(pd.DataFrame({"explainer": ["fa"]}), chosen)]
    assert names == [f"heval-mrr{written}-{few.snapshot_id[:8]}.{kind}" for kind in ("csv", "parquet", "tex")]


@pytest.mark.parametrize("pair", [
    (Filter(**LONG, head="L2H1"), Filter(**LONG, head="L2H2")), (Filter(search="a b"), Filter(search="a|b")),
    (Filter(search="$"), Filter()),
    (Filter(relation=("a|b",)), Filter(relation=("a/b",))), (Filter(group=("C",)), Filter(relation=("C",))),
])  # fmt: skip
def test_files_of_two_filters_never_have_one_name(files, pair):
    one, other = (next(iter(files(pd.DataFrame(), chosen))) for chosen in pair)
    assert one != other
    assert len(one) < 120


MODELS = ["SmolLM2-135M-Instruct.Q4_1"] * 2


def test_a_figure_as_a_file_says_of_what_it_is(few, monkeypatch):
    given = {}
    monkeypatch.setattr(exports, "download", lambda label, content, name, key, about: given.update({name: content}))
    drawing = lambda: Drawing(200, 40, "")  # noqa: E731
    exports.picture(few, drawing, "board", Filter(("SmolLM2-135M-Instruct.Q4_1",), regime=("mixed",)), MODELS)
    ((name, content),) = given.items()
    assert name == f"heval-board-model=SmolLM2-135M-Instruct.Q4_1_regime=mixed-{few.snapshot_id[:8]}.svg"
    lines = re.findall(r"<text[^>]*>(.*?)</text>", content())
    assert " ".join(lines) == f"SmolLM2 135M (4-bit) · regime: mixed · HEval, snapshot {few.snapshot_id}"
    assert len(lines) > 1  # within the figure's width


def test_keys_have_their_titles_beside_them(files):
    frame = pd.DataFrame({"explainer": ["fa", "cgim"], "dataset": ["nq", "world_capital"], "value": [0.5, 1.0]})
    given = files(frame, Filter())
    (csv,) = (content for name, content in given.items() if name.endswith("csv"))
    read = pd.read_csv(io.StringIO(csv()))
    assert read["explainer_title"].tolist() == ["Feature ablation", "Contrastive GIM (ours)"]
    assert read["explainer_ours"].tolist() == [False, True]
    assert read["dataset_title"].tolist() == ["Natural Questions", "World Capital"]
