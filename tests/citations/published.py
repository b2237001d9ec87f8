"""A small published file with planted citations: three writers, one more careless than the next, and every kind of annotator.

Its tables are consistent: each cell is the mean of the rows of `recovery`. Run it with a folder to look at the file."""

from __future__ import annotations

import datetime
import hashlib
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from heval_core.citations import set_scores
from heval_core.evaluation import evaluator
from heval_core.present.names import PEOPLE, PERSON
from heval_core.store import published
from heval_core.store.reader import Reader
from heval_core.store.shards import PUBLISHED_FORMAT
from heval_core.store.writer import Writer

DATA, SELECTOR = "made-up-claims", "human"
WRITERS = {"careful": 0.05, "sloppy": 0.3, "padding": 0.6}
HOSTILE = "<b>no</b> <script>alert(1)</script> $x$ [a](b) **bold**"
# Annotator ▶ how often it errs; controls choose without looking.
ANNOTATORS = {
    "llm(model=large)": 0.08, "llm(model=small)": 0.2, "nli": 0.25, "person:ada": 0.1, "person:ben": 0.15,
    "explainer(loo)": 0.15, "explainer(contextcite)": 0.2, "explainer(gradient)": 0.4, "explainer(attention)": 0.5,
    "lexical": 0.3, "position": 0.7, "random": 1.0,
}  # fmt: skip
CONTROLS = ("lexical", "position", "random")
# Explanations of which all that are no controls mark the right sentences, but for those named, who mark the next ones.
AGREED: dict[tuple[str, str], tuple[str, ...]] = {("light-0", "careful"): ("nli",), ("light-1", "careful"): ()}
EXPLAINED = {"supported": 1.0, "wrong_marker": 0.0, "unsupported_sentence": 0.0, "omitted_citation": 0.0}
PLACES = ("Aldmoor", "Brinewick", "Corrane", "Dunfell", "Eastmere", "Farrow", "Gillside", "Harrowby")
FINLAND = (
    ("Lakes of the north", "Finland counts some 188,000 lakes; most of them lie in the south-east, and many freeze over from "
     "December on."),
    ("A neighbour’s map", "Sweden reaches further south than any other state on the peninsula, down to about 55 degrees."),
    ("Harbour handbook", "Hanko, a port on the southern tip of the Finnish mainland, is given as 59°49′ north."),
    ("Islands with rules of their own", "The Åland islands belong to Finland and run most of their own affairs."),
    ("Forests", "About three quarters of Finland’s land is under trees, mainly pine and spruce."),
)  # fmt: skip
FINNISH = (
    "The claim speaks of all of Finland, so its islands count as well [4].",
    "One port on the mainland’s southern tip stands at 59°49′, a little below the line [3].",
    "How many lakes the country has does not bear on this [1].",
    "Nor does it matter how far south Sweden reaches [2].",
    "As a Finnish town lies south of 60 degrees [3], the claim is refuted.",
)


def claims() -> Iterator[dict[str, Any]]:
    """claim_id, claim, verdict, passages, titles, sentences, cited: one explanation each, which the writers err on."""
    titles, texts = zip(*FINLAND, strict=True)
    yield _claim("finland", "Finland lies entirely north of the 60th parallel.", "Refuted", titles, texts, FINNISH,
                 ((4,), (3,), (1,), (2,), (3,)))  # fmt: skip
    yield _claim("hostile", HOSTILE, "<i>False</i>", (HOSTILE, ""), (HOSTILE, "A second one."),
                 (f"{HOSTILE} [1].", "It was [sic] said in [2019] [2]."), ((1,), (2,)))  # fmt: skip
    yield _claim("one", "A tide table has two columns.", "Supported", ("Tides",), ("It has a time and a height.",),
                 ("A time and a height are two columns [1].",), ((1,),))  # fmt: skip
    yield _claim("silent", "Nothing needs a source.", "Not enough information", ("A", "B"), ("One text.", "Another."),
                 ("This cites nothing.", "Nor does this."), ((), ()))  # fmt: skip
    many = range(1, 201)
    yield _claim("many", "Two hundred ledgers agree.", "Supported", [f"Ledger {n}" for n in many],
                 [f"Ledger {n} gives {7 * n} bushels." for n in many],
                 [f"Ledgers {n} and {n + 1} agree [{n}, {n + 1}]." for n in (1, 41, 81, 121, 161, 199)],
                 [(n, n + 1) for n in (1, 41, 81, 121, 161, 199)])  # fmt: skip
    for number, place in enumerate(PLACES):
        year = 1801 + 7 * number
        facts = (f"The lighthouse of {place} was lit in {year}.", f"The mole of {place} was finished in {year + 9}.",
                 f"{place} had {900 + 31 * number} inhabitants when the mole was built.",
                 f"Ferries call at {place} twice a day.")  # fmt: skip
        said = (f"Its light was first lit in {year} [1].", f"Its mole is younger, of {year + 9} [2].",
                "So few people lived there that one mole was enough [2][3].", "The order of both decides [1].")  # fmt: skip
        titles = ("Lights list", "Harbour works", "Census", "Timetable")
        yield _claim(f"light-{number}", f"The lighthouse of {place} is older than its mole.", "Supported",
                     titles, facts, said, ((1,), (2,), (2, 3), (1,)))  # fmt: skip


def _claim(key: str, claim: str, verdict: str, titles: Sequence[str], texts: Sequence[str], sentences: Sequence[str],
           cited: Sequence[tuple[int, ...]]) -> dict[str, Any]:  # fmt: skip
    return {"claim_id": key, "claim": claim, "verdict": verdict, "numbers": list(range(1, len(texts) + 1)),
            "titles": list(titles), "passages": list(texts), "sentences": list(sentences),
            "cited": [list(own) for own in cited]}  # fmt: skip


def explanation_id(claim: str, writer: str) -> str:
    return hashlib.sha256(f"{claim} {writer}".encode()).hexdigest()[:16]


def _recovery(
    claim: dict[str, Any], writer: str, passage: int, sampled: int, draw: np.random.Generator
) -> list[dict[str, Any]]:
    """What every annotator answers about one passage."""
    count, gold = len(claim["sentences"]), {n for n, own in enumerate(claim["cited"]) if passage in own}
    rows = []
    for annotator, errs in ANNOTATORS.items():
        if annotator.startswith("person:") and passage != sampled:
            continue
        wrong = min(0.9, errs + (0 if annotator in ("position", "random") else 0.7 * WRITERS[writer]))
        chosen = {
            n for n in range(count) if (n in gold) != (draw.random() < (0.35 if annotator == "random" else 0.45 * wrong))
        }
        chosen = {n for n in range(count) if draw.random() < 0.3} if annotator == "random" else chosen
        problem = "answered “perhaps”, twice" if (claim["claim_id"], annotator) == ("one", "llm(model=small)") else None
        chosen = set() if problem else chosen
        if (claim["claim_id"], writer) in AGREED and annotator not in CONTROLS:
            other = annotator in AGREED[claim["claim_id"], writer]
            chosen = {(place + other) % count for place in gold or {0}}
        precision, recall, f1 = set_scores(chosen, gold)
        weighed = annotator.startswith(("explainer", "nli"))
        scores = [round(float(draw.normal(2.0 if n in chosen else 0.1, 0.4)), 3) for n in range(count)] if weighed else None
        size = max(len(chosen), 1)
        rows.append({
            "explanation_id": explanation_id(claim["claim_id"], writer), "passage": passage, "annotator": annotator,
            "gold": sorted(gold), "predicted": sorted(chosen), "precision": precision, "recall": recall, "f1": f1,
            "chance": 2 * len(gold) * size / count / (len(gold) + size) if gold else 0.0, "scores": scores,
            "sampled": passage == sampled, "problem": problem, "seconds": 0.01,
            "helpfulness": 70.0 if annotator.startswith("person:") else None,
        })  # fmt: skip
    return rows


def _cell(writer: str, annotator: str, masking: str, measure: str, **more: Any) -> dict[str, Any]:
    return {"dataset": DATA, "writer": writer, "selector": SELECTOR, "annotator": annotator, "masking": masking,
            "measure": measure, **more}  # fmt: skip


def _mean(values: Sequence[float], n: int | None = None) -> dict[str, Any]:
    if not len(values):
        return {"value": None, "unavailable": "no citation was masked"}
    value, half = float(np.mean(values)), 1.96 * float(np.std(values)) / len(values) ** 0.5
    return {"value": value, "low": max(0.0, value - half), "high": min(1.0, value + half), "n": n or len(values), "claims": 13}


def cells(rows: list[dict[str, Any]], writers: dict[str, str]) -> Iterator[dict[str, Any]]:
    """writers: explanation ▶ writer."""
    names = dict.fromkeys(PEOPLE if name.startswith(PERSON) else name for name in ANNOTATORS)
    for writer in WRITERS:
        for annotator in names:
            asked_of = [row for row in rows if writers[row["explanation_id"]] == writer]
            own = [
                row for row in asked_of if (PEOPLE if row["annotator"].startswith(PERSON) else row["annotator"]) == annotator
            ]
            for masking in ("full", "sample"):
                asked = [row for row in own if masking == "full" or row["sampled"]]
                if annotator == PEOPLE and masking == "full":
                    reason = "people were asked about one passage of each explanation"
                    yield from (_cell(writer, annotator, masking, name, unavailable=reason) for name in ("f1", "transparent"))
                    continue
                for measure in ("precision", "recall", "f1"):
                    chance = float(np.mean([row["chance"] for row in asked]))
                    yield _cell(writer, annotator, masking, measure, chance=chance, **_mean([row[measure] for row in asked]))
                least: dict[str, float] = {}
                for row in asked:
                    if row["gold"]:
                        least[row["explanation_id"]] = min(row["f1"], least.get(row["explanation_id"], 1.0))
                yield _cell(writer, annotator, masking, "transparent", chance=0.02,
                            **_mean([float(one >= 0.6) for one in least.values()]))  # fmt: skip
            if annotator.startswith("explainer"):
                yield from _of_explainers(writer, annotator)
        for place, (measure, value) in enumerate((("omitted", 0.4), ("uncited", 0.2), ("retrieval_f1", 0.5))):
            yield _cell(
                writer, "", "full", measure, value=value + 0.05 * place, low=value - 0.1, high=value + 0.2, n=52, claims=13
            )


def _of_explainers(writer: str, annotator: str) -> Iterator[dict[str, Any]]:
    for place, (measure, right) in enumerate(EXPLAINED.items()):
        value = 0.8 * right + 0.1 + (0.4 - 0.15 * place) * WRITERS[writer] * (-1 if right else 1)
        interval = {"low": max(0.0, value - 0.06), "high": value + 0.06, "chance": 0.25, "n": 52, "claims": 13}
        if (writer, annotator) == ("padding", "explainer(attention)"):
            yield _cell(writer, annotator, "full", measure, unavailable="the writer’s kernels give no attention")
        else:
            yield _cell(writer, annotator, "full", measure, value=value, **interval)


def agreements() -> Iterator[dict[str, Any]]:
    names = list(dict.fromkeys(PEOPLE if name.startswith(PERSON) else name for name in ANNOTATORS))
    for writer, careless in WRITERS.items():
        for masking in ("full", "sample"):
            for place, first in enumerate(names):
                for far, second in enumerate(names[place:]):
                    same = first == second
                    if same and first != PEOPLE:
                        continue
                    alpha = round((0.8 - 0.05 * far - 0.03 * place) * (1 - careless / 2), 3)
                    yield {"dataset": DATA, "writer": writer, "selector": SELECTOR, "masking": masking, "first": first,
                           "second": second, "alpha": alpha, "low": alpha - 0.08, "high": alpha + 0.07, "n": 52}  # fmt: skip


def ranked(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Paired, each is ahead of those with .05 less."""

    def beaten(row: dict[str, Any]) -> list[str]:
        alike = (other for other in rows if all(other[name] == row[name] for name in ("writer", "masking", "measure")))
        return [other["annotator"] for other in alike if (other.get("value") or 0) < (row.get("value") or 0) - 0.05]

    return [row | {"exceeds": beaten(row)} for row in rows]


def plant(folder: Path) -> Reader:
    """Write the file and make it the folder's current one."""
    folder.mkdir(parents=True, exist_ok=True)
    draw, rows, explanations, writers = np.random.default_rng(0), [], [], {}
    every = list(claims())
    for claim in every:
        for writer in WRITERS:
            key = explanation_id(claim["claim_id"], writer)
            writers[key] = writer
            gone = "the server refused" if (claim["claim_id"], writer) == ("light-7", "padding") else None
            cited = sorted({number for own in claim["cited"] for number in own})
            sampled = cited[len(cited) // 2] if cited else None
            explanations.append({
                "explanation_id": key, "dataset": DATA, "claim_id": claim["claim_id"], "writer": writer, "selector": SELECTOR,
                "prompt_id": "write-1", "selected": claim["numbers"], "sentences": [] if gone else claim["sentences"],
                "bare": [] if gone else claim["sentences"], "cited": json.dumps([] if gone else claim["cited"]),
                "sources": None, "sampled": sampled,
                "problems": [] if cited else ["no citation at all"], "unavailable": gone,
            })  # fmt: skip
            # Of very many passages that no sentence cites, annotators were asked about the first few.
            asked = [number for number in claim["numbers"] if number in cited or number < 6]
            for passage in asked if not gone else ():
                rows += _recovery(claim, writer, passage, sampled or 0, draw)
    tables = {
        "claim": [{**claim, "dataset": DATA, "chains": "[]", "problems": []} for claim in every],
        "explanation": explanations,
        "recovery": rows,
        "cell_recovery": ranked(list(cells(rows, writers))),
        "agreement": list(agreements()),
    }
    return _published(folder, "made-up-citations", tables)


def empty(folder: Path) -> Reader:
    """A file without any study of citations."""
    return _published(folder, "without-citations", {})


def _published(folder: Path, snapshot: str, tables: dict[str, list[dict[str, Any]]]) -> Reader:
    file = folder / f"results-{snapshot}.duckdb"
    with Writer(file) as writer:
        writer.insert("snapshot", [{
            "snapshot_id": snapshot, "format": PUBLISHED_FORMAT, "evaluator": evaluator.evaluator_id(),
            "published_at": datetime.datetime(2026, 1, 1), "bundled": False,
        }])  # fmt: skip
        for table, rows in tables.items():
            writer.insert(table, rows)
    published.point_to(folder, file, evaluator.evaluator_id())
    return Reader(file)


if __name__ == "__main__":
    plant(Path(sys.argv[1]))
