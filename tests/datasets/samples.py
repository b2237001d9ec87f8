"""Small files in every dataset's own form, made for these tests: nothing in them is anybody's data."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

CITIES = {"Kenya": "Nairobi", "Peru": "Lima", "Chad": "N'Djamena", "Norway": "Oslo", "Italy": "Rome", "Japan": "Tokyo"}
FALSE = ("Lisbon", "Bergen", "Quito")


def passage(country: str, city: str) -> str:
    return f"In {country} the seat of government is {city}, and {city} has a large library."


def fakepedia() -> list[dict[str, Any]]:
    """Six countries with three false capitals each, so that every question has natural second documents."""
    return [
        {
            "subject": country, "rel_lemma": "has-capital", "object": city, "rel_p_id": "P36",
            "query": f"The capital of {country} is", "fact_paragraph": passage(country, city),
            "fact_parent": {"subject": country, "object": true, "fact_paragraph": None},
        }
        for country, true in CITIES.items()
        for city in FALSE
    ]  # fmt: skip


def rome() -> list[dict[str, Any]]:
    return [
        {
            "case_id": number,
            "requested_rewrite": {
                "prompt": "The capital of {} is", "relation_id": "P36", "subject": country,
                "target_true": {"str": true, "id": "Q1"}, "target_new": {"str": FALSE[number % 3], "id": "Q2"},
            },
        }
        for number, (country, true) in enumerate(CITIES.items())
    ]  # fmt: skip


def known() -> list[dict[str, Any]]:
    return [
        {"known_id": n, "subject": country, "attribute": true, "relation_id": "P36", "template": "The capital of {} is",
         "prompt": f"The capital of {country} is"}
        for n, (country, true) in enumerate(CITIES.items())
    ]  # fmt: skip


def comp_mech() -> list[dict[str, Any]]:
    """The last one is a leak: its true answer stands in its subject."""
    pairs = [*CITIES.items(), ("Quito Province", "Quito")]
    return [
        {"base_prompt": f"The capital of {country} is", "subject": country, "target_true": f" {true}",
         "target_new": f" {FALSE[n % 2]}", "template": "…", "prompt": "…"}
        for n, (country, true) in enumerate(pairs)
    ]  # fmt: skip


def conflictqa() -> list[dict[str, Any]]:
    return [
        {
            "question": f"What is the capital of {country}?", "popularity": 1, "ground_truth": [true, true.upper()],
            "memory_answer": f"The capital of {country} is {true}.", "parametric_memory": passage(country, true),
            "counter_answer": f"The capital of {country} is {FALSE[n % 3]}.",
            "counter_memory": passage(country, FALSE[n % 3]),
            "parametric_memory_aligned_evidence": "", "counter_memory_aligned_evidence": "",
        }
        for n, (country, true) in enumerate(CITIES.items())
    ]  # fmt: skip


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


def write_pararel(folder: Path) -> Path:
    """One relation of LAMA facts, among them a leak and a subject with two true answers."""
    facts = [{"sub_label": country, "obj_label": true} for country, true in CITIES.items()]
    facts += [{"sub_label": "Quito Province", "obj_label": "Quito"}]
    facts += [{"sub_label": "Bolivia", "obj_label": "Sucre"}, {"sub_label": "Bolivia", "obj_label": "La Paz"}]
    patterns = [{"pattern": "[Y] is the capital of [X]."}, {"pattern": "The capital of [X] is [Y] ."}]
    write_lines(folder / "facts" / "P36.jsonl", facts)
    write_lines(folder / "patterns" / "P36.jsonl", patterns)
    return folder


def write_published(folder: Path, part: str = "fakepedia") -> Path:
    """The form of the authors' own files, under column names of our guess."""
    rows = [(country, true, FALSE[n % 3], FALSE[(n + 1) % 3]) for n, (country, true) in enumerate(CITIES.items())]
    question = "The capital of {} is"
    write_csv(
        folder / f"{part}_conflicting.csv",
        ["Question", "subject", "context", "answer", "memory_answer"],
        [[question.format(c), c, passage(c, false), false, true] for c, true, false, _ in rows],
    )
    write_csv(
        folder / f"{part}_double_conflicting.csv",
        ["question", "context_1", "answer_1", "context_2", "answer_2"],
        [[question.format(c), passage(c, a), a, passage(c, b), b] for c, _, a, b in rows],
    )
    write_csv(
        folder / f"{part}_irrelevant.csv",
        ["question", "context", "answer"],
        [[question.format(c), "The currency of Fiji is the dollar.", "dollar"] for c, *_ in rows],
    )
    return folder


def write_all(folder: Path) -> Path:
    """Every dataset's file where the data folder has it."""
    write_json(folder / "fakepedia" / "base_fakepedia.json", fakepedia())
    write_json(folder / "counterfact" / "counterfact.json", rome())
    write_lines(folder / "conflictqa" / "conflictQA-popQA-chatgpt.json", conflictqa())
    write_published(folder / "transparent_context_usage")
    return folder
