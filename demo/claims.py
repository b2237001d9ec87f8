"""The claims that the demo's study of citations is about: the same ones for each hand, with what the hand wrote of them."""

import dataclasses
import json
import random
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from demo import hands
from demo.planted import EVALUATION, Planted, planted
from heval_core.citations.records import Claim

COUNT = 150


def scenes(count: int = COUNT, seed: int = 0) -> list[Planted]:
    """Claims about states held out from training, with what is known of them."""
    rng = random.Random(f"claims|{seed}")
    return [planted(rng, EVALUATION, f"demo-{seed}-{number:03d}") for number in range(count)]


def claims(hand: str, count: int = COUNT, seed: int = 0) -> list[Claim]:
    """Claims held out from training, each with the explanation that a hand of `hands.HANDS` wrote from all passages."""
    return [dataclasses.replace(scene.claim, written=(hands.write(hand, scene),)) for scene in scenes(count, seed)]


def lines(made: Iterable[Claim]) -> Iterator[str]:
    """The claims as JSON lines, an explanation each."""
    for claim in made:
        for written in claim.written:
            record: dict[str, Any] = {
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
            yield json.dumps(record, ensure_ascii=False)


def write(path: Path, named: Iterable[str], count: int = COUNT, seed: int = 0) -> Path:
    """A file of what some hands wrote; its path."""
    written = [line for hand in named for line in lines(claims(hand, count, seed))]
    path.write_text("".join(f"{line}\n" for line in written), encoding="utf-8")
    return path
