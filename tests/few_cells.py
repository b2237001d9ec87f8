"""A few cells of the bundled results, as a store: what a page, the board or the report needs one of, published in seconds.

Whole cells, so that the values that come along for MDL, NMutInf and the probe are theirs. Two models under conflicting and
mixed documents by every explainer, with faithfulness and timings; all regimes of one of them on the other dataset; two more
models under a decoy, one at a length; techniques. No citations: `tests/citations/published.py` has planted ones."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from heval_core.records import REGIMES, TECHNIQUE

QWEN, GPT2, INSTRUCT, LONG = "demo-qwen2", "demo-gpt2", "demo-instruct", ("demo-qwen2-long", "demo-gpt_neox-long")
PROFILES, CAPITALS, STATES = "country_profiles", "world_capital", "invented_states"
KINDS_OF_CONTEXT = ("gold", "conflicting", "irrelevant", "off_topic")
# Model, dataset, technique ▶ its regimes; "" for what is of all of them: what was remembered, trials.
FEW = {
    (QWEN, PROFILES, TECHNIQUE): REGIMES,
    (QWEN, CAPITALS, TECHNIQUE): (*KINDS_OF_CONTEXT, "double_conflicting", "mixed", "mixed_swap"),
    (GPT2, CAPITALS, TECHNIQUE): ("conflicting", "irrelevant", "mixed", "mixed_swap"),
    (GPT2, PROFILES, TECHNIQUE): ("mixed",),
    (QWEN, STATES, TECHNIQUE): ("gold",),
    (LONG[0], CAPITALS, TECHNIQUE): ("mixed.d1", "mixed.256-first"),
    (LONG[1], CAPITALS, TECHNIQUE): ("mixed.d1",),
    **{(QWEN, CAPITALS, technique): KINDS_OF_CONTEXT for technique in ("acd", "coiecd")},
    **{(INSTRUCT, CAPITALS, technique): KINDS_OF_CONTEXT for technique in (TECHNIQUE, "multi_agent")},
}
_MODELS = {model for model, _, _ in FEW}


def _wanted(line: dict[str, Any]) -> bool:
    if line.get("kind") == "source":  # planted ones are better known: `tests/evaluation/test_sources.py`
        return False
    if not line["technique"]:
        return any(key[:2] == (line["model"], line["dataset"]) for key in FEW)
    return line["regime"] in (*FEW.get((line["model"], line["dataset"], line["technique"]), ()), "")


def cut(source: Path, folder: Path) -> None:
    """Make the store beside the shards of another one, which it links to."""
    folder.mkdir(parents=True)
    shutil.copy(source / "format.json", folder)
    for name in ("shards", "packed", "evaluated"):
        if (source / name).exists():
            (folder / name).symlink_to(source / name)
    for name, wanted in (("manifest", _wanted), ("journal", lambda line: line.get("model", QWEN) in _MODELS)):
        lines = (source / f"{name}.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
        kept = [line for line in lines if wanted(json.loads(line))]
        (folder / f"{name}.jsonl").write_text("".join(kept), encoding="utf-8")
