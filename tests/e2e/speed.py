"""`python -m tests.e2e.speed --store FOLDER`: how fast the explorer is on a large synthetic store, with a real browser.

180,000 instances of 150 tokens (5 models × 3 datasets × 6 regimes × 2,000), four explainers each: 720,000 attributions.
The store is built once and kept. Server times are those of the script run behind each view; no test, nothing here asserts.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from heval_core.records import DUAL_REGIMES, REGIMES
from heval_core.store.publish import publish
from heval_core.store.reader import Filter, Reader, current_file
from heval_core.store.shards import ShardStore
from tests.e2e.browser import explorer, page_of, settle, visit

MODELS, DATASETS, EXPLAINERS = 5, 3, ("fa", "ig", "attn", "mechlight")
COUNT, TOKENS = 2000, 150
HEADS = (4, 8)


def build(folder: Path) -> None:
    """The store: shards of 2,000 instances, then published."""
    store = ShardStore(folder)
    store.create()
    done = store.entries()
    words = [f" word{number}" for number in range(400)]
    for model in range(MODELS):
        store.note("model", model=f"made-up-{model}", revision="1", layers=HEADS[0], heads=HEADS[1], parameters=0)
        for dataset in range(DATASETS):
            for regime in REGIMES:
                rng = np.random.default_rng([model, dataset, REGIMES.index(regime)])
                where = {"model": f"made-up-{model}", "revision": "1", "dataset": f"data-{dataset}", "regime": regime}
                if f"{model}{dataset}{regime}" in done:
                    continue
                rows = [_instance(where, number, regime, words, rng) for number in range(COUNT)]
                for explainer in EXPLAINERS:
                    scores = [_attribution(row, explainer, rng) for row in rows]
                    store.write(_entry(where, "attribution", explainer), scores)
                store.write(_entry(where, "instance", ""), rows)
                print(f"made {where['model']} {where['dataset']} {regime}", flush=True)
    publish(folder, progress=lambda text: print(text, flush=True))


def _entry(where: dict[str, str], kind: str, explainer: str) -> dict[str, Any]:
    key = f"{where['model'][-1]}{where['dataset'][-1]}{where['regime']}{explainer}"
    return {
        "key": key,
        "kind": kind,
        **where,
        "fingerprint": "1",
        "explainer": explainer,
        "start": 0,
        "stop": COUNT,
        "failed": 0,
    }


def _instance(
    where: dict[str, str], number: int, regime: str, words: list[str], rng: np.random.Generator
) -> dict[str, Any]:
    dual = regime in DUAL_REGIMES
    length = int(rng.integers(TOKENS - 20, TOKENS + 21))
    tokens = [words[index] for index in rng.integers(0, len(words), length)]
    half = (length - 15) // 2
    spans = [(0, half), (half, length - 15)] if dual else [(0, length - 15)]
    groups = ["C1", "C2", "M"] if dual else ["C", "M"]
    gold = [[int(rng.integers(start, end))] for start, end in spans]
    names = groups[:-1] + ["M"]
    return {
        **where, "instance_id": f"{where['model'][-1]}{where['dataset'][-1]}{REGIMES.index(regime)}{number:06d}",
        "technique": "regular", "place": number, "fact_id": f"f{number}", "subject": f"subject {number}",
        "relation": f"relation {number % 7}", "question": "Which word?", "true_answer": "word1", "prompt": "".join(tokens),
        "tokens": tokens, "first_ranked": 0, "document_starts": [s for s, _ in spans], "document_ends": [e for _, e in spans],
        "question_start": length - 15, "question_end": length, "document_answers": ["word"] * len(spans),
        "document_kinds": ["conflicting"] * len(spans), "document_origins": ["shipped"] * len(spans),
        "document_sources": [None] * len(spans), "answer_tokens": gold, "first_mention": gold, "memory_answer": "word1",
        "candidate_groups": names, "candidate_texts": names, "candidate_ids": list(range(len(names))),
        "candidate_logits": [0.0] * len(names), "candidate_probabilities": [0.3] * len(names), "predicted_text": " word",
        "predicted_id": 0, "predicted_probability": float(rng.random()), "group": str(rng.choice(groups)),
        "expected_group": None, "dropped_because": None,
    }  # fmt: skip


def _attribution(row: dict[str, Any], explainer: str, rng: np.random.Generator) -> dict[str, Any]:
    scores = rng.standard_normal(len(row["tokens"])).astype(np.float32)
    heads = explainer in ("attn", "mechlight")
    if heads:
        scores = np.exp(scores) / np.exp(scores).sum()
    used = {"C": 0, "C1": 0, "C2": 1}.get(row["group"])
    if used is not None:
        scores[row["answer_tokens"][used]] += np.abs(scores).max() * rng.random()
    return {
        "instance_id": row["instance_id"], "explainer": explainer, "scores": scores.tolist(), "seconds": 0.1, "settings": "",
        "layer": 1 if heads else None, "head": 2 if heads else None,
        "head_scores": rng.standard_normal(HEADS[0] * HEADS[1]).tolist() if explainer == "mechlight" else None,
        "details": json.dumps({"runner_up": "L0H1", "margin": 0.5, "foil": "candidate M"}),
    }  # fmt: skip


VIEWS = {
    "one instance": "instances?instance={instance}",
    "next instance": "instances?instance={other}",
    "head": "mechlight_head?instance={instance}",
    "context or memory": "context_or_memory",
    "which document": "which_document",
    "which token": "which_token",
    "faithfulness": "faithfulness",
    "failures": "failures",
    "datasets": "datasets",
    "overview": "",
    "live slice of one cell": "which_token?model=made-up-1&dataset=data-1&regime=mixed&relation=relation+3",
    "live slice of a model and dataset": "which_token?model=made-up-1&dataset=data-1&relation=relation+3",
    "length curve of one cell": "length_and_position?model=made-up-1&dataset=data-1&regime=mixed",
    "comparison of one cell": "compare?model=made-up-1&dataset=data-1&regime=mixed",
}


def measure(folder: Path) -> None:
    ids = Reader(current_file(folder)).instance_ids(Filter(model=("made-up-1",), regime=("mixed",)))
    with tempfile.NamedTemporaryFile() as timing:
        started = time.perf_counter()
        with explorer(HEVAL_STORE=str(folder), HEVAL_TIMING=timing.name) as url, page_of() as page:
            visit(page, url)
            page.wait_for_selector("h1")
            print(f"first page after start: {time.perf_counter() - started:.1f} s")
            for name, path in VIEWS.items():
                before = _times(timing.name)
                began = time.perf_counter()
                visit(page, f"{url}/{path.format(instance=ids[0], other=ids[1])}")
                seconds = time.perf_counter() - began
                runs = _times(timing.name)[len(before) :]
                print(
                    f"{name}: {sum(runs):.2f} s on the server, {seconds:.1f} s until the browser is still", flush=True
                )
            print(f"memory of the browsing process: {_memory():.0f} MB")
            _four(page, url, timing.name, ids)
            print(f"memory after four browsers: {_memory():.0f} MB")


def _four(first: Any, url: str, timing: str, ids: list[str]) -> None:
    """The same instance views from one browser, and from four people's at once."""
    pages = [first.context.browser.new_context().new_page() for _ in range(4)]
    for count in (1, 4):
        before = _times(timing)
        for step in range(5):
            for number, page in enumerate(pages[:count]):
                page.goto(f"{url}/instances?instance={ids[10 * number + step]}", wait_until="commit")
            for page in pages[:count]:
                settle(page)
        runs = _times(timing)[len(before) :]
        print(f"{count} browsers at once: {statistics.median(runs):.2f} s a view on the server (median of {len(runs)})")


def _times(file: str) -> list[float]:
    return [json.loads(line)["seconds"] for line in Path(file).read_text().splitlines()]


def _memory() -> float:
    """Resident megabytes of the Streamlit server started here."""
    found = subprocess.run(["pgrep", "-f", "streamlit run app.py"], capture_output=True, text=True).stdout.split()
    sizes = [int(Path(f"/proc/{pid}/statm").read_text().split()[1]) for pid in found if Path(f"/proc/{pid}").exists()]
    return max(sizes) * os.sysconf("SC_PAGE_SIZE") / 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--store", type=Path, required=True)
    options = parser.parse_args()
    if current_file(options.store) is None:
        began = time.perf_counter()
        build(options.store)
        print(f"built in {time.perf_counter() - began:.0f} s")
    measure(options.store)


if __name__ == "__main__":
    main()
