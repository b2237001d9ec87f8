"""The options of a run. Fields that a docstring describes, a line each, are options of the command line."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from heval_core.datasets._quoted import PEOPLE
from heval_core.datasets.transparent_context_usage import PARTS
from heval_core.lm.installed import DEMO_MODELS
from heval_core.plugins import catalogue
from heval_core.prompting.prompts import layout_of
from heval_core.records import CONTEXT_KINDS, FOLLOWED, MATCHES, REGIMES, TARGETS, HEvalError
from heval_core.records.regime_keys import read_key
from heval_core.store.kinds import FAITHFULNESS, FAITHFULNESS_PROTECTED
from precompute.origins import check_apart
from precompute.questions import open_dataset

if TYPE_CHECKING:
    from heval_core.lm.fits import Fit
    from precompute.custom_file import CustomFile

MEMORIES = ("own", "true", "any")


@dataclass(frozen=True, kw_only=True)
class Options:
    """What every study can be asked.

    limit: questions per dataset, or claims of each source; all by default
    shard-size: questions, claims or people's answers per shard; by default 50, 25 or 2
    seed: draws whatever is sampled
    device: as torch names it, or auto: the GPU where there is one
    dtype: or auto: bfloat16 on a GPU
    batch-tokens: tokens per forward pass, or auto: as many as are quick
    """

    limit: int | None = None
    shard_size: int | None = None
    seed: int = 0
    device: str = "auto"
    dtype: str = "auto"
    batch_tokens: int | None = None

    # The values that an option may have, where they are few.
    CHOICES: ClassVar[dict[str, tuple[str, ...]]] = {}

    def check(self) -> None:
        """Raise HEvalError for a number or a word that an option cannot have."""
        for name in (
            "limit",
            "shard_size",
            "cap",
            "batch_tokens",
            "keep_heads",
            "faithfulness",
            "faithfulness_protected",
            "randomised",
            "bounds",
        ):
            value = getattr(self, name, None)
            if isinstance(value, int) and value < 1 and value is not getattr(type(self), name):
                raise HEvalError(f"--{name.replace('_', '-')} is {value}; it must be at least 1.")
        for name, words in self.CHOICES.items():
            if getattr(self, name) not in words:
                allowed = " or ".join(words) if len(words) == 2 else f"one of {', '.join(words)}"
                raise HEvalError(f"--{name} is {getattr(self, name)!r}; it must be {allowed}.")

    def noted(self) -> dict[str, Any]:
        return dataclasses.asdict(self)


@dataclass(frozen=True)
class Grid(Options):
    """Models, datasets, regimes, techniques and explainers, in every combination.

    models: Hugging Face ids or local folders
    datasets: NAME, NAME=PATH, or your own FILE.jsonl
    explainers: comma-separated; with options in brackets: fa(target=prob),ig(steps=20)
    techniques: comma-separated; with options in brackets: ph3(mode=memory). Regular is always among them; without --explainers
        only answers are computed
    cap: instances explained per model, dataset and regime; auto: 2,000 short or 1,000 long ones, none: all
    memory: own: what the model says without context, if it looks like an answer; true: only the dataset's; any: whatever it
        says
    match: what decides where the answer came from: its first token (the default), its text of at most 10 tokens, or the
        candidate within its first sentence, which is then explained where it stands
    template: 'chat: BEGINNING' with another beginning of the answer; or a layout of your own with
        {documents} and {question}. Models without a style of their own have auto; `layouts` says what each gives
    faithfulness: measure comprehensiveness and sufficiency too, 25 passes each; with N, for the first N questions only
    faithfulness-protected: the same with the question protected: only tokens of the documents are taken out
    randomised: compare each explainer with itself on the model with shuffled weights, for 20 questions of each regime, or N
    bounds: take out the documents' tokens in each explainer's order, beside the best and the worst order, for 20 questions of
        each regime, or N
    answers: explain whole answers too, to gold and conflicting documents; of quotesum, the answers that people wrote
    timing: time each explainer by itself too, on a few prompts of each regime
    target: context: explain the first document's answer, whatever the model answered; a run adds this to the usual target
    keep-heads: keep every head's attention for this many questions
    head-need: compute what the answer loses without each head too, for MechLight's map; some passes a prompt
    sources: find the mentions that the answer depends on: replace each by other answers, and hide attention to it; some seven
        passes a prompt

    And regimes: keys, with options. custom: explainers from other files. fits: of explainers that have parameters.
    """

    models: tuple[str, ...]
    datasets: tuple[str, ...]
    regimes: tuple[str, ...] = REGIMES
    explainers: tuple[str, ...] = catalogue.default_methods()
    cap: int | str | None = "auto"
    memory: str = "own"
    match: str = "first"
    template: str | None = None
    keep_heads: int = 0
    head_need: bool = False
    sources: bool = False
    faithfulness: bool | int = False
    faithfulness_protected: bool | int = False
    randomised: bool | int = False
    bounds: bool | int = False
    answers: bool = False
    timing: bool = False
    target: str = "answer"
    techniques: tuple[str, ...] = ()
    custom: tuple[CustomFile, ...] = ()
    fits: tuple[Fit, ...] = ()

    CHOICES: ClassVar[dict[str, tuple[str, ...]]] = {"memory": MEMORIES, "match": MATCHES, "target": TARGETS}

    def check(self) -> None:
        """Raise HEvalError for an unknown regime, explainer, dataset or number before anything is loaded."""
        super().check()
        for regime in self.regimes:
            read_key(regime)
        for key in self.explainers:
            if getattr(catalogue.method(key), "answers_only", False):
                raise HEvalError(f"{key} does not score every token, and a batch job ranks them all. Name fa instead.")
        for key in self.techniques:
            catalogue.find("technique", key)
        check_apart("file", [(name, open_dataset(name).key) for name in self.datasets])
        for name in self.datasets:
            next(iter(open_dataset(name).facts()), None)  # raises now if the file is missing or has another format
        within, plain = self.match == "within", {*FOLLOWED, PEOPLE} & {*self.regimes}
        first = "Use --match first."
        for wrong, why in (
            (within and self.techniques, f"--match within does not go with --techniques, which compare first tokens. {first}"),
            (self.answers and not self.explainers, "--answers explains whole answers: name --explainers too."),
            (self.answers and not plain, f"--answers explains answers in the regimes {' and '.join(FOLLOWED)}: name one."),
            (self.answers and within, f"--answers does not go with --match within, which writes a part of them. {first}"),
        ):
            if wrong:
                raise HEvalError(why)
        if self.template is not None:
            layout_of(self.template, "x")

    @property
    def measured(self) -> dict[str, int | None]:
        """Kind of faithfulness ▶ it is measured of the questions before this number, or of all (None)."""
        options = {FAITHFULNESS.name: self.faithfulness, FAITHFULNESS_PROTECTED.name: self.faithfulness_protected}
        return {kind: None if isinstance(before, bool) else before for kind, before in options.items() if before}

    def noted(self) -> dict[str, Any]:
        files = [{"file": file.file, "name": file.name, "source": file.digest} for file in self.custom]
        options = dataclasses.asdict(dataclasses.replace(self, custom=(), fits=()))
        del options["custom"]  # which runs have stored as `own`
        return options | {"own": files, "fits": [fit.digest for fit in self.fits]}


# Grids by name, for `--grid`; every other option replaces what the preset says.
GRIDS = {
    # The bundled results, but for the heads that these keep.
    "demo": Grid(
        models=tuple(str(DEMO_MODELS / name) for name in ("demo-gpt2", "demo-gpt_neox", "demo-qwen2")),
        datasets=("world_capital", "country_profiles"),
        limit=200,
    ),
    # Sun et al. 2025: all of it, in their layout. Their faithfulness (Table B.3) needs --faithfulness.
    "paper": Grid(
        models=("gpt2-xl", "EleutherAI/pythia-2.8b", "EleutherAI/pythia-6.9b", "Qwen/Qwen2.5-3B", "Qwen/Qwen2.5-7B"),
        datasets=tuple(f"transparent_context_usage/{part}" for part in PARTS),
        template="plain",
    ),
    # CUB (ACL 2026, pp. 25101-25133; arXiv 2505.16518): its models but for those of OUT_OF_REACH, seven techniques and three
    # datasets.
    "cub": Grid(
        models=(
            "gpt2-xl",
            "EleutherAI/pythia-6.9b",
            *(f"Qwen/Qwen2.5-{size}" for size in ("1.5B", "1.5B-Instruct", "7B", "7B-Instruct", "32B", "32B-Instruct")),
            "CohereForAI/c4ai-command-a-03-2025",
        ),
        datasets=("counterfact", "nq", "druid"),
        regimes=CONTEXT_KINDS,
        explainers=(),
        template="plain",
        techniques=("regular", "prompting", "multi_agent", "ph3", "ph3(mode=memory)", "coiecd", "acd", "fine_tuning"),
    ),
    # Whether techniques work here: under two minutes.
    "cub-smoke": Grid(
        models=(str(DEMO_MODELS / "demo-qwen2"),),
        datasets=("world_capital",),
        regimes=CONTEXT_KINDS,
        explainers=(),
        techniques=("regular", "cad", "adacad", "acd", "coiecd"),
        limit=60,
    ),
    # Whether everything works here: seconds.
    "smoke": Grid(
        models=(str(DEMO_MODELS / "demo-qwen2"),), datasets=("world_capital",), regimes=("conflicting", "mixed"), limit=10
    ),
}
# Models of a published grid that nothing here can run, and why.
_API = "is one of CUB's eleven models; it is behind an API, without weights and without the probabilities of all tokens"
OUT_OF_REACH = {"cub": (f"GPT-4o {_API}", f"GPT-4o mini {_API}")}
