"""The results of two real models: `python -m demo real`. It may take hours, and goes on where it stopped.

The order makes every finished part useful. Of a public data set the store holds the prompts that were asked, and nothing else.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

from heval_core import catalogue
from heval_core.records import CONTEXT_KINDS, REGIMES

STORE = Path("cache/real")
MODELS = ("smollm2", "gemma3-270m")
# Known facts of CounterFact (MIT), of which the store holds prompts and scores only.
COUNTERFACT = Path("../shared/data/counterfact/known_1000.json")
# Of one document, and of two that both answer the question: so a small model answers from either.
PLAIN = ("conflicting", "double_conflicting")
# So many questions that most groups have 30 answers: of CounterFact more, since small models know few of its facts.
FIRST, FITTED, PROTECTED = 60, 60, 60
QUESTIONS = {"world_capital": 120, "counterfact": 240, "invented_states": FIRST}
# Prompts several times as long, which take most of the time: they come last, and are fewer.
LONG, OF_LONG = "country_profiles", 40
# What each model is asked in; ph3 needs a model's own heads, and fine_tuning would need hours on two cores.
WRITER = "smollm2"
CLAIMS = 40
TECHNIQUES = {"smollm2": "prompting,multi_agent,coiecd,acd,cad,ph3", "gemma3-270m": "coiecd,acd,cad,ph3"}


def datasets() -> list[str]:
    """Those whose files are here."""
    public = [f"counterfact={COUNTERFACT.resolve()}"] if COUNTERFACT.is_file() else []
    return ["world_capital", *public, "invented_states"]


def runs(models: Sequence[str], store: Path, claims: Path, entailment: Path) -> Iterator[list[str]]:
    """Arguments of `precompute`, in the order of their use. claims: a file. entailment: the model that reads for `nli`."""
    fitted = [key for key in catalogue.explainers() if getattr(catalogue.find("explainer", key), "needs_fit", False)]
    others = [key for key in catalogue.explainers() if key not in fitted]
    how = ["--shard-size", str(FIRST), "--match", "text", "--device", "cpu", "--store", str(store)]
    every = ["run", "--models", *models, "--explainers", ",".join(others), "--head-need", *how, "--limit"]
    capitals, plain = ["--datasets", "world_capital"], ["--regimes", *PLAIN]
    for dataset in datasets():
        yield [*every, str(QUESTIONS[dataset.partition("=")[0]]), "--datasets", dataset, *plain]
    yield [*every, str(FIRST), *capitals, "--regimes", *(regime for regime in REGIMES if regime not in PLAIN)]
    for model in models:
        asked = ["--regimes", *CONTEXT_KINDS, "--techniques", TECHNIQUES[model], "--limit", str(FIRST)]
        yield ["run", "--models", model, *capitals, *asked, *how]
    most = str(QUESTIONS["world_capital"])
    yield ["fit", "--models", *models, *capitals, "--limit", most, "--questions", str(FITTED), *how[4:]]
    yield ["run", "--models", *models, *capitals, *plain, "--explainers", ",".join(fitted), "--limit", str(FIRST), *how]
    yield [*every, str(FIRST), *capitals, *plain, "--faithfulness-protected", str(PROTECTED)]
    yield [*every, str(OF_LONG), "--datasets", LONG, *plain]
    if WRITER in models:
        readers = f"random,lexical,position,nli(model={entailment}),explainer(loo),explainer(contextcite)"
        asked = ["--claims", str(claims), "--limit", str(CLAIMS), "--writers", WRITER, "--selectors", "all"]
        yield ["citations", "run", *asked, "--annotators", readers, "--masking", "full", *how[4:], "--shard-size", "40"]
    for dataset in datasets()[1:]:
        yield [*every, str(FIRST), "--datasets", dataset, "--regimes", *(regime for regime in REGIMES if regime not in PLAIN)]
