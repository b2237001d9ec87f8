"""The results of two real models: `python -m demo real`. It may take hours, and goes on where it stopped.

First comes what is bundled, in an order that makes every finished part useful; then what is not computed yet. Of public data
sets, which lie beside the project, the store holds the prompts that were asked, and nothing else.
"""

from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path

from demo import results
from heval_core.plugins import catalogue
from heval_core.records import CONTEXT_KINDS, REGIMES

STORE = Path("cache/real")
SMOL, GEMMA = MODELS = ("smollm2", "gemma3-270m")
# Known facts of CounterFact (MIT), answers that people wrote (QuoteSum, CC BY-SA), and that they marked (WiCE, LFQA).
DATA = Path("../shared/data")
PUBLIC = {
    "counterfact": DATA / "counterfact/known_1000.json",
    "quotesum": DATA / "quotesum/dev.jsonl",
    "wice": DATA / "wice/claims-dev.jsonl.gz",
    "wice_words": DATA / "wice/non_supported_tokens-dev.jsonl.gz",
    "lfqa": DATA / "lfqa/dev.jsonl.gz",
}
# Of one document, and of two that both answer the question: so a small model answers from either.
ONE, TWO = PLAIN = ("conflicting", "double_conflicting")
REST = tuple(regime for regime in REGIMES if regime not in PLAIN)
CAPITALS = "world_capital"
FIRST, FITTED, PROTECTED, KNOWN = 60, 60, 60, 195
# Models, data set, regimes and questions that explainers run on: as many as most groups need for 30 answers.
EXPLAINED = (
    ((SMOL,), CAPITALS, PLAIN, 240), ((GEMMA,), CAPITALS, PLAIN, 120),
    ((SMOL,), "counterfact", (ONE,), 240), ((SMOL,), "counterfact", (TWO,), 120),
    ((GEMMA,), "counterfact", (ONE,), 120), ((GEMMA,), "counterfact", (TWO,), 240),
    (MODELS, "invented_states", (ONE,), FIRST), (MODELS, CAPITALS, REST, FIRST), (MODELS, "counterfact", REST, FIRST),
)  # fmt: skip
# Prompts several times as long come last, and are fewer.
NEXT = ((MODELS, "invented_states", (TWO, *REST), FIRST), (MODELS, "country_profiles", PLAIN, 40))
# Where the answer stands twice: data set, regimes, questions, and what counts as memory (of made-up facts there is none). As
# many as give 150 answers with one source.
PASSAGE = ("conflicting.twice",)
TWICE = (
    (CAPITALS, ("double_conflicting.d1", "mixed.d1"), 120, "own"), ("years", PASSAGE, 90, "any"),
    ("elsewhere", PASSAGE, 60, "any"), ("either", PASSAGE, 30, "any"),
)  # fmt: skip
# The dearest explainers come last.
DEAREST = ("ig", "contextcite")
# So many questions give twelve of SmolLM2's answers, each of which takes a minute of a core.
LOOKED_AT = "24"
# What each model is asked in; fine_tuning would need hours on two cores.
DECODED = ("coiecd", "acd", "cad", "ph3", *results.CFB, *results.AGD)
TECHNIQUES = {SMOL: ("prompting", "multi_agent", *DECODED), GEMMA: DECODED}
# Asked of every answer, however sure the model is: so explainers compare by what their scores are good for.
EVERYWHERE = ("agd(entropy=0)", *(f"{key[:-1]},entropy=0)" for key in results.AGD[1:]))
# Of answers that people wrote the first are read, SmolLM2's on a GPU: the last three take minutes each.
SLOW = "fa,contextcite,document(unit=sentence)"
QUOTED = ((MODELS, 96, "document,attn,mechlight,cdla,attnlrp,cgim,origin"), ((SMOL,), 96, SLOW), ((GEMMA,), 24, SLOW))
# Of what people marked: model, data set, answers, explainers; shards are large, since one of each is a file in git.
ONE_PASS = "document,cdla,mechlight,attn"
MARKED = (
    (SMOL, "wice", 182, "document(unit=sentence),attnlrp,cgim,cdla,mechlight,origin,attn"),
    (SMOL, "wice_words", 124, ONE_PASS), (SMOL, "lfqa", 44, f"{ONE_PASS},attnlrp"),
    (GEMMA, "wice", 60, "attnlrp,cdla,mechlight,attn"), (GEMMA, "wice_words", 60, ONE_PASS),
)  # fmt: skip
WRITER, CLAIMS = SMOL, 40


def runs(models: Sequence[str], claims: Path, entailment: Path) -> Iterator[list[str]]:
    """Yield arguments of `precompute`, in the order of their use.

    claims: a file. entailment: the model that reads for `nli`.
    """
    fitted = [key for key, explainer in catalogue.explainers().items() if catalogue.needs_fit(explainer)]
    usual = [key for key in catalogue.explainers() if key not in (*fitted, *results.DEPENDENCE)]
    others = ",".join(usual)

    def run(who: Sequence[str], dataset: str, regimes: Sequence[str], limit: int, *options: str) -> list[str]:
        return results.run(who, named(dataset), "--regimes", *regimes, *options, limit=limit, shard=FIRST)

    def explained(*of_models: tuple[Sequence[str], str, Sequence[str], int]) -> Iterator[list[str]]:
        for who, dataset, regimes, limit in of_models:
            if (here := [model for model in who if model in models]) and named(dataset):
                yield run(here, dataset, regimes, limit, "--explainers", others, "--head-need")

    yield from explained(*EXPLAINED)
    cheap = [key for key in (*usual, *results.DEPENDENCE, "document(unit=sentence)") if key not in DEAREST]
    for keys, (dataset, regimes, limit, memory) in product((cheap, DEAREST), TWICE):
        options = ["--explainers", ",".join(keys), "--sources", "--memory", memory]
        yield from (run([model], dataset, regimes, limit, *options) for model in models)
    for model in models:
        yield run([model], CAPITALS, ["gold"], KNOWN, "--techniques", "regular")
        for techniques in (TECHNIQUES[model], EVERYWHERE):
            yield run([model], CAPITALS, CONTEXT_KINDS, FIRST, "--techniques", ",".join(techniques))
    yield from marked(models)
    protected = ["--faithfulness-protected", str(PROTECTED)]
    yield run(models, CAPITALS, [ONE], PROTECTED, "--explainers", others, "--head-need", *protected)
    closer = [key for key in results.CLOSER if key not in DEAREST]
    yield run(
        models, CAPITALS, [ONE], FIRST, "--explainers", ",".join(closer), "--randomised", LOOKED_AT, "--bounds", LOOKED_AT
    )
    if WRITER in models:
        readers = f"random,lexical,position,nli(model={entailment}),explainer(loo),explainer(contextcite)"
        options = ["--claims", str(claims), "--limit", str(CLAIMS), "--writers", WRITER, "--selectors", "all"]
        yield ["citations", "run", *options, "--annotators", readers, "--masking", "full", "--shard-size", "40"]
    yield from explained(*NEXT)
    yield ["fit", "--models", *models, "--datasets", CAPITALS, "--limit", "120", "--questions", str(FITTED)]
    yield run(models, CAPITALS, PLAIN, 120, "--explainers", ",".join(fitted))


def marked(models: Sequence[str]) -> Iterator[list[str]]:
    """Yield arguments of `precompute` for answers that people wrote or marked."""
    quoted = [(model, "quotesum", limit, keys, 24) for who, limit, keys in QUOTED for model in who]
    for model, dataset, limit, keys, size in quoted + [(*one, 400) for one in MARKED]:
        if model in models and named(dataset):
            options = ["--answers", "--limit", str(limit), "--explainers", keys, "--shard-size", str(size)]
            yield ["run", "--models", model, "--datasets", named(dataset), *options]


def named(dataset: str) -> str:
    """Return the data set as a command names it; empty for a public one whose file is not here, which is left out."""
    file = PUBLIC.get(dataset)
    return dataset if file is None else f"{dataset}={file.resolve()}" if file.is_file() else ""
