"""No option is ignored: it changes what is computed or said, or it is refused in one line with what to do."""

from __future__ import annotations

import pytest

from heval_core.records import HEvalError
from heval_core.store.shards import ShardStore
from precompute.cli import parser_of
from precompute.commands.options import helps_of
from precompute.grid import Grid
from precompute.plan import RunPlan
from precompute.run import parts_of
from tests.datasets import samples
from tests.datasets.test_quotesum import records

# Another value of each option of a grid, beside `models` and `datasets`.
OTHER = {
    "limit": "1", "shard_size": "1", "seed": "1", "dtype": "bfloat16", "explainers": "cgim", "techniques": "adacad",
    "cap": "1", "memory": "any", "match": "text", "template": "{documents} {question}", "keep_heads": "1", "head_need": None,
    "faithfulness": None, "faithfulness_protected": "2", "answers": None, "timing": None, "sources": None,
    "randomised": None, "bounds": None,
    "target": "context", "regimes": "mixed,conflicting",
    "decoy": "d1", "length": "256", "place": "last",
}  # fmt: skip
# How it is computed, and nothing of what.
HOW = {"device", "batch_tokens"}
SITUATIONS = {
    "explained": "--explainers attn", "answered": "--techniques cad", "both": "--explainers attn --techniques cad",
    "chosen": "--explainers attn --regimes gold,mixed", "preset": "--grid cub-smoke --limit 4",
    "read": "--answers --explainers attn",
}  # fmt: skip


@pytest.fixture(scope="module")
def planned(model_folders, tmp_path_factory):
    """A function: what is asked ▶ the keys of its shards."""
    folder = tmp_path_factory.mktemp("options")
    quoted = samples.write_lines(folder / "dev.jsonl", records())
    short = "--limit 4 --models " + str(model_folders["gpt2"])

    def keys(situation: str, *more: str) -> set[str]:
        data = f"--datasets quotesum={quoted}" if situation == "read" else "--datasets world_capital"
        asked = ["plan", *f"{short} {data} {SITUATIONS[situation]}".split(), *more]
        options = parser_of(asked).parse_args(asked)
        grid = options.asked_of(options)
        grid.check()
        return {shard.key for part in parts_of(grid, ShardStore(folder), RunPlan()) for shard in part.shards()}

    return keys


def test_every_option_of_a_grid_is_tried():
    assert OTHER.keys() | HOW == helps_of(Grid).keys() - {"models", "datasets"} | {"regimes", "decoy", "length", "place"}


@pytest.mark.parametrize("situation", SITUATIONS)
def test_every_option_changes_the_plan_or_is_refused(situation, planned):
    before, ignored, refused = planned(situation), [], {}
    assert before
    for name, value in OTHER.items():
        try:
            if planned(situation, f"--{name.replace('_', '-')}", *filter(None, [value])) == before:
                ignored.append(name)
        except HEvalError as error:
            refused[name] = str(error)
            assert name in refused[name].replace("-", "_"), (name, refused[name])
    assert not set(ignored) - set(SITUATIONS[situation].replace("--", "").split()), ignored
    idle = {
        "answered": {
            "answers",
            "bounds",
            "cap",
            "faithfulness",
            "faithfulness_protected",
            "head_need",
            "keep_heads",
            "randomised",
            "sources",
            "target",
            "timing",
        },
        "read": {"cap", "match", "memory", "techniques", "timing", "target", "head_need", "sources", "keep_heads", "regimes"}
        | {"randomised", "bounds"},
    }
    assert refused.keys() >= idle.get({"preset": "answered"}.get(situation, situation), {"place"})


RUN = "run --models GPT2 --datasets world_capital --store TMP"
EXPLAIN = "explain --model GPT2 --context a. --question Why?"
CITATIONS = "citations plan --claims CLAIMS --writers shipped --store TMP"


@pytest.mark.parametrize(("asked", "told"), [
    (f"{RUN} --techniques cad --timing --head-need", "--head-need, --timing would change nothing: only answers are computed"),
    (f"{RUN} --ray-address auto --cpus-per-worker 3", "--cpus-per-worker, --ray-address would change nothing: without"),
    (f"{RUN} --keep-heads -1", "--keep-heads is -1; it must be at least 1"),
    (f"{RUN} --faithfulness 0", "--faithfulness is 0; it must be at least 1"),
    ("board --models GPT2 --beside TMP", "--beside, --models would change nothing: only with --explainer is anything run"),
    ("datasets --datasets world_capital --length 256", "--length would change nothing: lengths are in a model's tokens"),
    ("datasets --datasets world_capital --regimes mixed.256-last", "--regimes would change nothing: lengths are"),
    ("models --measure add smollm2", "--measure would change nothing: that is of the list"),
    (f"{CITATIONS} --selectors all", "--selectors would change nothing: these explanations came with their own passages"),
    (f"{CITATIONS} --masking full", "--masking would change nothing: nobody is asked; name --annotators too"),
    (f"{CITATIONS} --llm http://localhost:1/v1 --annotators random", "--llm would change nothing: no writer and no annotator"),
    (f"{EXPLAIN} --select a", "--select would change nothing: it chooses words of a whole answer; give --generate N"),
    (f"{EXPLAIN} --generate 3 --answer-text b", "--generate would change nothing: an answer is given, and nothing is written"),
    (f"{EXPLAIN} --generate 3 --match text", "--match would change nothing: it is about a one-word answer"),
    (f"{EXPLAIN} --answer-text b --target context --memory-answer c --context-answer a",
     "--context-answer, --memory-answer, --target would change nothing: it is about a one-word answer"),
])  # fmt: skip
def test_what_would_be_ignored_is_refused_in_one_line(asked, told, model_folders, tmp_path, prints):
    claims = samples.write_lines(tmp_path / "claims.jsonl", [])
    known = {"GPT2": model_folders["gpt2"], "TMP": tmp_path / "nothing", "CLAIMS": claims}
    (line,) = prints(*(known.get(word, word) for word in asked.split()), ends=2).err.strip().splitlines()
    assert line.startswith(f"error: {told}")
    assert not known["TMP"].exists()


def test_the_passages_that_explanations_came_with_may_be_named(tmp_path, prints):
    claim = {"id": "1", "claim": "It rained.", "passages": ["Rain fell."], "explanation": "Rain fell [1].", "writer": "x"}
    known = {"TMP": tmp_path / "nothing", "CLAIMS": samples.write_lines(tmp_path / "claims.jsonl", [claim])}
    prints(*(known.get(word, word) for word in f"{CITATIONS} --selectors shipped".split()))
