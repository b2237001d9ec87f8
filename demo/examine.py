"""Examine a demo model: does it know the facts, and does it use context by the rule, on pairs it never saw?"""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from tqdm import tqdm

from demo import obeying
from demo.shares import Share, markdown
from heval_core.datasets._states import QUESTIONS, RELATIONS, countries
from heval_core.explaining import pipeline
from heval_core.explaining.behaviour import ask, memory_of
from heval_core.lm.loading import load
from heval_core.lm.model import LanguageModel
from heval_core.prompting.styles import style_of
from heval_core.records import REGIMES, Behaviour, Dropped, HEvalError
from precompute.memory import Memories, Prompting
from precompute.questions import load_questions

# Asked about under every instruction: some twenty prompts each.
DOCUMENTS = 72
DATASETS = ("world_capital", "country_profiles")
MEASURED = "measured.json"


@dataclass(frozen=True)
class RegimeReport:
    """The numbers of one dataset and regime: instances kept and dropped, agreement with the rule, and shares of groups."""

    dataset: str
    regime: str
    kept: int
    dropped: dict[str, int]
    agreement: float
    groups: dict[str, float]


def recall_rates(lm: LanguageModel) -> dict[str, float]:
    """Measure per relation the share of states whose value the model gives without context."""
    rates = {}
    for relation in RELATIONS:
        prompts = ask(lm, [QUESTIONS[relation].format(x=row["country"]) for row in countries()])
        right = [
            memory_of(lm, ids, row[relation]).text == row[relation] for ids, row in zip(prompts, countries(), strict=True)
        ]
        rates[relation] = sum(right) / len(right)
    return rates


def examine(lm: LanguageModel, questions: int, regimes: Sequence[str] = REGIMES) -> list[RegimeReport]:
    """Measure agreement with the taught rule in every dataset and in these regimes, keys with options too."""
    reports = []
    for dataset in DATASETS:
        questions_asked = load_questions(dataset, questions, 0, style_of(lm))
        memories = Memories.collect(lm, questions_asked.facts)
        for regime in tqdm(regimes, desc=f"{lm.key} · {dataset}", unit="regime"):
            dropped: Counter[str] = Counter()
            prepared = []
            for _, asking in Prompting(regime, 0, memories).each(lm, questions_asked, range(len(questions_asked.facts))):
                if isinstance(asking, pipeline.Prepared) and asking.dropped_because is None:
                    prepared.append(asking)
                elif isinstance(asking, Dropped | pipeline.Prepared):
                    dropped[asking.reason if isinstance(asking, Dropped) else str(asking.dropped_because)] += 1
                else:
                    raise asking
            pairs = _answered(lm, prepared)
            groups = Counter(behaviour.group for _, behaviour in pairs)
            agreed = sum(behaviour.group == asking.instance.expected_group for asking, behaviour in pairs)
            shares = {group: count / len(pairs) for group, count in sorted(groups.items())}
            agreement = agreed / max(len(pairs), 1)
            reports.append(RegimeReport(dataset, regime, len(pairs), dict(dropped), agreement, shares))
    return reports


def _answered(lm: LanguageModel, prepared: list[pipeline.Prepared]) -> list[tuple[pipeline.Prepared, Behaviour]]:
    pairs: list[tuple[pipeline.Prepared, Behaviour]] = []

    def work(batch: list[pipeline.Prepared]) -> None:
        pairs.extend(zip(batch, pipeline.answer(lm, batch).behaviours, strict=True))

    pipeline.in_batches(lm, prepared, work)
    return pairs


def card(name: str) -> str:
    """Read the text of a card, with fields for what is measured."""
    return (Path(__file__).parent / "cards" / f"{name}.md").read_text(encoding="utf-8")


def card_values(folder: Path, questions: int) -> dict[str, object]:
    """Measure the model of a folder on this many questions: the values of its card."""
    lm = load(str(folder), device="cpu")
    if lm.tokenizer.chat_template:
        origin, instructions = "trained on from demo-qwen2", f"\n\n{card('instructed').strip()}"
        obeyed = _obeyed(obeying.rates(lm, min(questions, DOCUMENTS)))
    else:
        origin, instructions, obeyed = "trained from scratch", "", []
    table = "\n".join([*measured(recall_rates(lm), examine(lm, questions)), *obeyed])
    return {"kind": lm.model.config.model_type, "origin": origin, "told": instructions, "table": table}


def measured(rates: dict[str, float], reports: list[RegimeReport]) -> list[str]:
    """Write Markdown: recall, and a row for each dataset and regime."""
    recall = ", ".join(f"{name} {rate:.1%}" for name, rate in rates.items())
    rows = []
    for report in reports:
        groups = ", ".join(f"{group} {share:.0%}" for group, share in report.groups.items())
        dropped = ", ".join(f"{reason} {count}" for reason, count in report.dropped.items()) or "–"
        rows.append((report.dataset, report.regime, report.kept, f"{report.agreement:.1%}", groups, dropped))
    head = ("dataset", "regime", "kept", "follows the rule", "groups", "dropped")
    return [f"Recall without context: {recall}.", "", "On pairs never seen in training:", "", *markdown(head, *rows)]


def _obeyed(counted: dict[tuple[str, str], Share]) -> list[str]:
    return [
        "",
        "## Instructions",
        "",
        "How often it does what it is told, on pairs never seen in training, with 95 % intervals. Kinds of document: gold and "
        "conflicting are about the question's subject, with the true answer and a false one; irrelevant is about another "
        "subject, off_topic about something else. Chance: how often the same prompt is answered so without the "
        "instruction, which is the taught rule; .50 where the reply is one of two words.",
        "",
        *obeying.table(counted),
        "",
        "Obedience to each prompt that the technique `prompting` offers for question answering (01 and 02 say nothing about "
        "the context):",
        "",
        *obeying.prompt_table(counted),
    ]


def write_measured(folder: Path, reports: list[RegimeReport]) -> None:
    """Save the values of a model's card, for the runs that depend on them."""
    lines = ",\n".join(json.dumps(asdict(report)) for report in reports)
    (folder / MEASURED).write_text(f"[\n{lines}\n]\n", encoding="utf-8")


def read_measured(folder: Path) -> list[RegimeReport]:
    """Read what `write_measured` saved. Raises HEvalError if the model of the folder was not measured."""
    try:
        rows = json.loads((folder / MEASURED).read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise HEvalError(f"{folder} has no {MEASURED}; train the model again, which measures it.") from error
    return [RegimeReport(**row) for row in rows]
