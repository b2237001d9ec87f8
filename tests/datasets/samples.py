"""What samples of datasets are made of; tests of adapters to files have their own. Nothing in them is anybody's data."""

from __future__ import annotations

import csv
import dataclasses
import importlib.util
import json
from pathlib import Path
from typing import Any

from heval_core.datasets._reading import BadRecord, Unusable
from heval_core.plugins import catalogue
from heval_core.plugins.protocols import Dataset
from heval_core.records import Fact

CITIES = {"Kenya": "Nairobi", "Peru": "Lima", "Chad": "N'Djamena", "Norway": "Oslo", "Italy": "Rome", "Japan": "Tokyo"}
FALSE = ("Lisbon", "Bergen", "Quito")


def passage(country: str, city: str) -> str:
    return f"In {country} the seat of government is {city}, and {city} has a large library."


def own(country: str, number: int = 0, **more: Any) -> dict[str, Any]:
    """A record of one's own data."""
    city = FALSE[number % 3]
    return {
        "id": f"{country}-{number}", "subject": country, "relation": "capital",
        "question": f"What is the capital of {country}?", "memory_answer": CITIES[country],
        "conflicting": {"text": passage(country, city), "answer": city}, **more,
    }  # fmt: skip


def write_json(path: Path, records: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(records, ensure_ascii=False), encoding="utf-8")
    return path


def write_lines(path: Path, records: list[Any]) -> Path:
    """One record a line; a text or bytes stands as it is."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [r if isinstance(r, bytes) else (r if isinstance(r, str) else json.dumps(r)).encode() for r in records]
    path.write_bytes(b"\n".join(lines) + b"\n")
    return path


def write_csv(path: Path, header: list[str], rows: list[list[str]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([header, *rows])
    return path


def write_table(path: Path, records: list[dict[str, Any]], columns: tuple[str, ...], ends: str = "\n") -> Path:
    """Some columns of records, between tabs. ends: what a line ends with."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, columns, delimiter="\t", extrasaction="ignore", lineterminator=ends)
        writer.writeheader()
        writer.writerows(records)
    return path


def sorted_out(dataset: Dataset, path: Path | None = None) -> tuple[list[Fact], list[BadRecord], list[Unusable]]:
    """The records of a dataset by what became of them. path: of its file, where it is given one."""
    records = list((dataset if path is None else dataclasses.replace(dataset, path=str(path))).facts())
    return tuple([r for r in records if isinstance(r, kind)] for kind in (Fact, BadRecord, Unusable))


def sample_of(key: str, data: Path) -> Dataset:
    """The dataset over the sample that its own test makes in a data folder; or as it comes along, without a file."""
    if importlib.util.find_spec(f"tests.datasets.test_{key}") is None:
        return catalogue.find("dataset", key)
    test = importlib.import_module(f"tests.datasets.test_{key}")
    dataset: Dataset = test.sample(data)
    return dataset
