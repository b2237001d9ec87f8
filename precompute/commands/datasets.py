"""`datasets`: the contents of each dataset, what each filter leaves, and the length of the documents.

Filters in their order: records that are malformed or cannot be asked; questions without the documents that a regime needs;
documents that give the memory answer away, as if every model remembered the true answers. What a model really remembers, and
the groups of its answers, are known once it has been run: `--store` adds them.
"""

import argparse
import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from tqdm import tqdm

from heval_core import regimes
from heval_core.explaining.behaviour import Memory, check_documents
from heval_core.lm.loading import Identity, identify, tokenizer_of
from heval_core.lm.spans import tokenise, tokenise_all
from heval_core.plugins import catalogue
from heval_core.present.numbers import Format
from heval_core.present.table import Table, TableCell, number_cell
from heval_core.prompting.prompts import prompt_of
from heval_core.prompting.styles import style_of
from heval_core.records import REGIMES, TECHNIQUE, Dropped, HEvalError, Instance, Prompt, RegimeKey
from heval_core.records.regime_keys import ordered_regimes, read_key
from heval_core.regimes.padding import fitted
from heval_core.store.kinds import INSTANCE
from heval_core.store.shards import ShardStore
from precompute.commands.options import (
    Commands,
    add_command,
    add_fields,
    add_regimes,
    existing,
    print_json,
    refuse,
    regimes_of,
)
from precompute.grid import Grid
from precompute.messages import say, shows_bars
from precompute.questions import Questions, load_questions, open_dataset

RELATIONS_SHOWN = 8


def add(commands: Commands) -> None:
    keys = "datasets (each as --format json prints it) and missing (name, reason), those whose file is not here"
    parser = add_command(commands, "datasets", _datasets, "the contents of each dataset, and what filters leave", keys=keys)
    add_fields(
        parser,
        Grid,
        ("datasets", "models", "limit", "seed"),
        datasets="as for run; by default all bundled ones",
        models="count tokens too, with these models' tokenizers",
    )
    add_regimes(parser, "the first six by default")
    parser.add_argument("--store", type=Path, help="add results from this store: the groups, and what each model drops")
    parser.add_argument(
        "--left-out",
        action="store_true",
        help="name every record that was left out, and every question that a regime drops, with its reason",
    )
    parser.add_argument("--format", choices=["json", "text"], default="text", help="json prints a list of objects")


def _datasets(options: argparse.Namespace) -> int:
    options.regimes = regimes_of(options, REGIMES)
    Grid((), (), options.regimes, limit=options.limit).check()
    padded = any(read_key(regime).length for regime in options.regimes) and not options.models
    refuse(options, ["length" if options.length else "regimes"], "lengths are in a model's tokens; name --models too.", padded)
    store = existing(options.store) if options.store else None
    models = [identify(name) for name in options.models]
    sections, missing, as_text = [], list[dict[str, str]](), options.format == "text" and not options.json
    for name in options.datasets or catalogue.plugins("dataset"):
        try:
            section = _summary(name, models, options, store)
        except HEvalError as error:
            if options.datasets:
                raise
            # Nobody asked for this dataset by name, so a missing file is no error.
            missing.append({"name": name, "reason": str(error)})
            if not options.json:
                say(f"{name}: {error}\n")
            continue
        sections.append(section)
        if as_text:
            print(*_as_lines(section), "", sep="\n", flush=True)
    if options.json:
        print_json({"datasets": sections, "missing": missing})
    elif not as_text:
        print(json.dumps(sections, ensure_ascii=False))
    return 1 if any(section["malformed"] for section in sections) else 0


def _summary(name: str, models: list[Identity], options: argparse.Namespace, store: ShardStore | None) -> dict[str, Any]:
    """Return one dataset under the chosen regimes, once per model or once without models, with the store's results for it.

    Raises HEvalError as `load_questions`.
    """

    def left_out(record: Any) -> None:
        if options.left_out and model is read_as[0]:
            say(f"{record.location}: {record.reason}")

    of_regimes, read_as = list[dict[str, Any]](), list[Identity | None](models) or [None]
    for model in read_as:
        style = style_of(model) if model else regimes.PromptStyle()
        questions = load_questions(name, options.limit, options.seed, style, left_out)
        of_regimes += [
            _of_regime(questions, regime, options, model) for regime in questions.asked_in(options.regimes) if questions.facts
        ]
    dataset = open_dataset(name)
    return {
        "dataset": questions.dataset,
        "title": dataset.title,
        "path": getattr(dataset, "path", None),
        "reference": dataset.reference,
        "fingerprint": questions.fingerprint,
        "records": questions.records,
        "malformed": questions.malformed,
        "left_out": dict(questions.unusable),
        "questions": questions.usable,
        "looked_at": len(questions.facts),
        "relations": dict(questions.relations),
        "regimes": of_regimes,
        "answered": list(_answered(store, questions.dataset)) if store else [],
    }


def _of_regime(questions: Questions, regime: str, options: argparse.Namespace, model: Identity | None) -> dict[str, Any]:
    """Build every instance of a regime one by one, and count. model: whose tokens are counted; without one, characters only.

    seen_in_training: questions that are not asked because the model saw them. substituted: instances with a document that the
    dataset does not ship as it is: another answer was put in, or it is a sentence of ours. Lengths are of the context, all
    documents together, of each instance that is left.
    """
    style, tokenizer = style_of(model) if model else regimes.PromptStyle(), tokenizer_of(model) if model else None
    dropped, characters, substituted = Counter[str](), list[int](), list[bool]()

    def tokens(instance: Instance) -> int:
        return len(tokenise(prompt_of(instance, model.template if model else ""), tokenizer).ids)

    def prompts() -> Iterator[Prompt]:
        description = f"{questions.dataset} · {regime}"
        for index, fact in enumerate(tqdm(questions.facts, desc=description, leave=False, disable=not shows_bars())):
            try:
                instance = regimes.build(fact, regime, questions.pool, options.seed, style, index)
                check_documents(instance, Memory(fact.answer, ()))
                instance = fitted(instance, fact.answer, tokens) if model else instance
            except Dropped as why:
                dropped[why.reason] += 1
                if options.left_out:
                    say(f"{questions.dataset} · {regime} · {fact.id}: {why.reason}")
                continue
            characters.append(sum(len(document.text) for document in instance.documents))
            substituted.append(any(document.origin != "shipped" for document in instance.documents))
            if model:
                yield prompt_of(instance, model.template)

    tokenised: Iterable[Any] = tokenise_all(prompts(), tokenizer) if model else prompts()
    lengths = [sum(span.end - span.start for span in prompt.documents) for prompt in tokenised]
    return {
        "dataset": questions.dataset,
        "regime": regime,
        "model": model.key if model else None,
        "questions": len(questions.facts),
        "seen_in_training": questions.seen,
        "dropped": dict(dropped.most_common()),
        "left": len(characters),
        "substituted": sum(substituted),
        "shipped": len(characters) - sum(substituted),
        "context_characters": _spread(characters),
        "context_tokens": _spread(lengths),
    }


def _spread(lengths: list[int]) -> dict[str, float] | None:
    if not lengths:
        return None
    low, high = np.percentile(lengths, [5, 95])
    return {"mean": float(np.mean(lengths)), "p5": float(low), "p95": float(high)}


def _answered(store: ShardStore, dataset: str) -> Iterator[dict[str, Any]]:
    answers = defaultdict[RegimeKey, dict[str, tuple[str | None, str | None]]](dict)
    for entry in store.entries().values():
        if entry.kind == INSTANCE.name and entry.dataset == dataset:
            for row in store.read(entry, ["instance_id", "dropped_because", "group"]).to_pylist():
                answers[entry.cell.of_regime][row["instance_id"]] = row["dropped_because"], row["group"]
    order = ordered_regimes({key.regime for key in answers})
    for key in sorted(answers, key=lambda key: (key.model, order.index(key.regime), key.technique)):
        outcomes = answers[key].values()
        groups = Counter(group for reason, group in outcomes if group and not reason)
        yield {
            "model": key.model,
            "regime": key.regime,
            "technique": key.technique,
            "asked": len(outcomes),
            "groups": dict(sorted(groups.items())),
            "dropped": dict(Counter(reason for reason, _ in outcomes if reason)),
        }


def _as_lines(section: dict[str, Any]) -> Iterator[str]:
    left_out, usable = section["left_out"], section["questions"]
    where = f", {section['path']}" if section["path"] else ""
    yield f"{section['dataset']} · {section['title']} ({section['reference']}){where}"
    yield (
        f"  {section['records']:,} records read: {section['malformed']:,} malformed, {sum(left_out.values()):,} left out, "
        f"{usable:,} questions under {len(section['relations'])} relations; {section['looked_at']:,} looked at"
    )
    yield from (f"  left out: {count:,} · {reason}" for reason, count in left_out.items())
    if largest := sorted(section["relations"].items(), key=lambda pair: -pair[1]):
        names = ", ".join(f"{name} {count:,}" for name, count in largest[:RELATIONS_SHOWN])
        more = len(largest) - RELATIONS_SHOWN
        yield f"  relations: {names}" + (f" and {more} more" if more > 0 else "")
    for model in dict.fromkeys(row["model"] for row in section["regimes"]):
        rows = [row for row in section["regimes"] if row["model"] == model]
        if model:
            seen = rows[0]["seen_in_training"]
            unseen = f" (of {usable:,} questions {usable - seen:,} were not in its training)" if seen else ""
            yield f"  in the tokens and the style of {model}{unseen}"
        yield from (f"  {line}" for line in Table.of(pd.DataFrame(map(_line, rows))).text().splitlines())
    for row in section["answered"]:
        technique = "" if row["technique"] == TECHNIQUE else f" · {row['technique']}"
        yield (
            f"  {row['model']} · {row['regime']}{technique}: {row['asked']:,} asked; groups "
            f"{_counts(row['groups']) or 'no answers'}; dropped {_counts(row['dropped'], first=False) or 'none'}"
        )


def _line(row: dict[str, Any]) -> dict[str, Any]:
    lengths = {"characters": _range(row["context_characters"])}
    lengths |= {"tokens": _range(row["context_tokens"])} if row["model"] else {}
    counts = {name: row[name] for name in ("questions", "left", "shipped", "substituted")}
    return {"regime": row["regime"], **counts, **lengths, "dropped": _counts(row["dropped"], first=False) or "none"}


def _counts(counts: dict[str, int], first: bool = True) -> str:
    """Write counts by name. first: whether the name stands first."""
    return ", ".join(f"{name} {count:,}" if first else f"{count:,} {name}" for name, count in counts.items())


def _range(spread: dict[str, float] | None) -> TableCell:
    return number_cell(spread, Format("{:.0f}"), ("mean", "p5", "p95")) if spread else TableCell()
