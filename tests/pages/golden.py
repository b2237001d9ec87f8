"""What the pages say, word for word, in one file a page: `python -m tests.pages.golden [PAGE …]` writes them again, a test
compares.
Numbers are `#`, and tables their headings: other tests compare these with what is stored. A sentence is mended in one
place."""

from __future__ import annotations

import html
import os
import re
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

from streamlit.testing.v1 import AppTest

from tests.citations import published as citations
from tests.conftest import ROOT, published_few
from tests.pages.opening import open_page
from tests.planted import noise, plant, published

FOLDER = ROOT / "tests" / "golden"
MARK = ["mechlight", "demo-gpt2", "world_capital", "mixed_swap", "C1"]


def made_up(folder: Path) -> Path:
    """A small published store: its groups are too small for most values, and it compares no techniques."""
    plant(folder, lambda *given: noise(*given).round(1), regimes=("conflicting", "mixed"), count=6)  # some scores are tied
    published(folder)
    return folder


STORES: dict[str, Callable[[Path], Path]] = {
    "few cells": published_few,
    "made up": made_up,
    "citations": lambda folder: citations.plant(folder).path.parent,
}
# Page ▶ what is asked of it, in which store.
VIEWS: dict[str, list[tuple[str, dict[str, Any]]]] = {
    "overview": [("few cells", {}), ("few cells", {"model": "demo-gpt2"}), ("made up", {})],
    "instances": [
        ("few cells", {}), ("few cells", {"regime": "conflicting", "group": "C2"}), ("few cells", {"search": "("}),
        ("few cells", {"instance": "x'); drop table instance;--"}), ("made up", {}),
    ],
    "your_prompt": [("few cells", {})],
    "about": [
        ("few cells", {}), ("made up", {}), ("citations", {}), ("few cells", {"tab": "data"}),
        ("few cells", {"tab": "methods"}), ("made up", {"tab": "data"}),
        ("few cells", {"tab": "data", "model": "demo-gpt2", "dataset": "nothing"}),
    ],
    "leaderboard": [
        *(("few cells", {"tab": tab}) for tab in ("source", "overall", "regime", "faithful", "failures", "against")),
        ("few cells", {"model": "demo-gpt2", "dataset": "world_capital"}), ("few cells", {"regime": "conflicting"}),
        ("few cells", {"mark": ["fa", "RQ9", "*"]}), ("few cells", {"mark": ["fa", "RQ3", "*"]}),
        ("few cells", {"tab": "gone"}),
        ("few cells", {"tab": "regime", "question": "document", "unit": "native"}),
        ("few cells", {"tab": "regime", "question": "document", "document": "Instance margin", "cell": MARK}),
        ("few cells", {"tab": "regime", "question": "memory", "memory": "NMutInf", "regime": "mixed"}),
        ("few cells", {"tab": "regime", "question": "memory", "cell": MARK[:2]}),
        ("few cells", {"tab": "failures", "explainer": "mechlight", "pattern": "question", "while_right": "fa"}),
        ("few cells", {"tab": "against", "pair": ["fa", "mechlight", "demo-qwen2", "world_capital", "RQ3"]}),
        *(("made up", {"tab": tab}) for tab in ("source", "overall", "regime", "failures", "against")),
    ],
    "techniques": [("few cells", {}), ("few cells", {"right": "20", "pay": "training"}), ("made up", {})],
    "citations": [*(("citations", {"tab": tab}) for tab in ("overview", "claim")), ("few cells", {})],
    "annotate": [("few cells", {})],
}  # fmt: skip


def told(page: str, stores: dict[str, Path]) -> str:
    """All views of a page; of each what no view before it has said."""
    parts: dict[str, None] = {}
    for store, query in VIEWS[page]:
        os.environ["HEVAL_STORE"] = str(stores[store])
        with patch("heval_core.ui.prompt_options.has_bfloat16", lambda: True):  # whatever the processor
            app = open_page(page, **query)
        asked = " ".join(f"{name}={value}" for name, value in query.items())
        parts |= dict.fromkeys([f"## {store}: {asked}".strip(), *said(app)])
    return "\n".join(parts) + "\n"


def said(app: AppTest) -> list[str]:
    """A line for each element that has words."""
    elements = [text for root in (app.sidebar, app.main) for text in _of(root)]
    lines = [re.sub(r"\s+", " ", line).strip() for text in elements for line in re.split(r"\n{2,}|\v", text)]
    lines = [re.sub(r"\b(?=[a-f]*\d)[0-9a-f]{8,16}\b|(?<![\w#])[−-]?\.?\d(?:[\d,.]*\d)?", "#", line) for line in lines]
    return [line for line in lines if re.search("[a-z]", line)]


def _of(node: Any) -> Iterator[str]:
    if label := getattr(node, "label", "") or getattr(getattr(node, "proto", None), "label", ""):
        yield label
    for child in getattr(node, "children", {}).values():
        yield from _of(child)
    if hasattr(node, "children"):
        return
    if node.type == "html":
        shown = re.sub(r"<(style|script|svg|tbody).*?</\1>", " ", node.proto.body, flags=re.DOTALL)
        shown = re.sub(r"</?(?:p|div|li|article|h\d|tr|t[dh]|section|a|summary|details)\b[^>]*>", "\v", shown)
        yield html.unescape(re.sub(r"<[^>]*>", "", shown))
    elif node.type == "dataframe":
        yield "table: " + ", ".join(map(str, node.value.columns))
    elif hasattr(node.proto, "body"):
        yield node.proto.body


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        stores = {name: make(Path(folder) / name) for name, make in STORES.items()}
        for page in sys.argv[1:] or VIEWS:
            (FOLDER / f"{page}.txt").write_text(told(page, stores), encoding="utf-8")


if __name__ == "__main__":
    main()
