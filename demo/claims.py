"""The claims that the demo's study of citations is about: the same ones for each hand, with what the hand wrote of them."""

import json
import random
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from demo import hands
from demo.planted import EVALUATION, Planted, planted

COUNT = 150


def scenes(count: int = COUNT, seed: int = 0) -> list[Planted]:
    """Sample claims about states held out from training, with what is known of them."""
    rng = random.Random(f"claims|{seed}")
    return [planted(rng, EVALUATION, f"demo-{seed}-{number:03d}") for number in range(count)]


def records(hand: str, count: int = COUNT, seed: int = 0) -> Iterator[dict[str, Any]]:
    """Yield claims with the explanation that a hand wrote from all passages, as one's own claims are written."""
    for scene in scenes(count, seed):
        claim, written = scene.claim, hands.write(hand, scene)
        yield {
            "id": claim.id,
            "claim": claim.claim,
            "verdict": claim.verdict,
            "passages": [{"number": passage.number, "text": passage.text} for passage in claim.passages],
            "chains": claim.chains,
            "selected": written.selected,
            "writer": written.writer,
            "prompt": written.prompt,
            "explanation": written.text,
            "sources": written.sources,
        }


def write(path: Path, named: Iterable[str], count: int = COUNT, seed: int = 0) -> Path:
    """Write a file of what some hands wrote, as JSON lines. Returns its path."""
    lines = (json.dumps(record, ensure_ascii=False) for hand in named for record in records(hand, count, seed))
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path
