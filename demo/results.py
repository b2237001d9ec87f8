"""The runs behind the demo's results: highlights, techniques, the board with decoys and lengths, and citations.

One shard for each cell and explainer or technique, so that git holds few files.

A board compares explainers on the same instances only, so that further explainers have all questions of fewer cells, not fewer
questions of all. Decoys and lengths are run for the models that were taught them, and only where a model obeys its rule in
OBEYED of the prompts that its card counts: elsewhere no explanation could be held against the rule. Longer prompts than 256
tokens, and long documents, are left to one's own store: git would have to hold a megabyte for each hundred prompts of 1,024.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from demo.claims import COUNT
from demo.examine import read_measured
from heval_core.plugins import catalogue
from heval_core.records import CONTEXT_KINDS
from heval_core.records.regime_keys import RegimeOptions

DEMO = Path("cache/demo")
QUESTIONS = 212
RULED, INSTRUCT, LENGTHENED = ("gpt2", "gpt_neox", "qwen2"), "instruct", ("qwen2-long", "gpt_neox-long")
SHORT, LONG = "world_capital", "country_profiles"
# One regime with one document, and one with two.
PLAIN = ("conflicting", "mixed")
FINE_TUNING = "fine_tuning(data=development,learning_rate=0.005,epochs=10,rank=4)"
# A bonus for the context's tokens, and an explanation that chooses the answer, each with its variants.
CFB = ("cfb", "cfb(mode=divergence)", "cfb(mode=tokens)")
AGD = tuple(f"agd({key})" if key else "agd" for key in ("", "cgim", "cdla", "mechlight"))
# Dataset ▶ the kinds of context and the techniques that are compared on it: fewer with long documents, whose shards are
# larger, and of invented states, which no model can know, gold documents only.
COMPARED = {
    SHORT: (
        CONTEXT_KINDS,
        ("prompting", "multi_agent", "coiecd", "acd", "cad", "ph3", "ph3(mode=memory)", FINE_TUNING, *CFB, *AGD),
    ),
    LONG: (CONTEXT_KINDS, ("prompting", "multi_agent", "acd")),
    "invented_states": (("gold",), ("acd",)),
}
# To use the context only if it is relevant: the search among prompts does not choose it.
INSTRUCTED = "prompting(prompt=qa-09)"
# Who is asked about the claims of the study of citations: controls, demo-nli, and how demo-writer itself read them.
ANNOTATORS = (
    *("random", "lexical", "position", f"nli(model={DEMO}/models/demo-nli)"),
    *(f"explainer({way},model={DEMO}/models/demo-writer)" for way in ("loo", "contextcite", "gradient", "attention")),
)
OBEYED = 0.9
# Of so many questions faithfulness is measured: of long prompts it is most of the work; and with the question protected.
# Seconds: in one regime.
MEASURED, PROTECTED, TIMED = 80, 32, "mixed"
# So many questions that the smallest group has the 30 answers that its numbers need; further, where answers stand too often.
ENOUGH, FURTHER = 115, 10
# Explainers about what an answer depends on: where it stands once, they say no more than others.
DEPENDENCE = ("knockout", "relp", "rollout", "shortlist")
# Whether the model is looked at, and how near the best order explainers come: those that cost a few passes.
CLOSER = ("mechlight", "fa", "ig", "attn", "gxi", "attnlrp", "cgim", "cdla")
# What at2 is fitted on.
FITTED = 300


class Harder(NamedTuple):
    """Regimes, with so many questions each. timed: seconds too."""

    questions: int
    regimes: tuple[RegimeOptions, ...]
    timed: bool = False


# Under the taught rule the document of a trusted source is used; a louder one is not used more. Either says both answers.
CUED, CUES = 80, tuple(str(RegimeOptions("double_conflicting", decoy)) for decoy in ("trust", "loud"))
HARDER = (
    Harder(ENOUGH + FURTHER, tuple(RegimeOptions("mixed", decoy) for decoy in ("d0", "d1"))),
    Harder(ENOUGH, tuple(RegimeOptions("mixed", decoy) for decoy in ("d2", "d3"))),
    Harder(ENOUGH, (RegimeOptions("mixed", None, 256, "first"),), timed=True),
)


def run(models: Sequence[str], dataset: str, *options: str, limit: int = QUESTIONS, shard: int = 0) -> list[str]:
    """Return arguments of `precompute`. models: keys or folders. shard: its questions, by default all."""
    how = f"--limit {limit} --shard-size {shard or limit} --match text"
    return ["run", "--models", *models, "--datasets", dataset, *options, *how.split()]


def folders(*names: str) -> list[str]:
    return [str(DEMO / "models" / f"demo-{name}") for name in names]


def runs(datasets: Sequence[str], claims: Path) -> Iterator[list[str]]:
    """Yield arguments of `precompute`, in the order of their use. datasets: of highlights. claims: a file of all hands."""
    for dataset in datasets:
        yield from _highlights(dataset)
    for dataset, (kinds, techniques) in COMPARED.items():
        yield run(folders(*RULED, INSTRUCT), dataset, "--regimes", *kinds, "--techniques", ",".join(techniques))
    yield run(folders(INSTRUCT), SHORT, "--regimes", *CONTEXT_KINDS, "--techniques", INSTRUCTED)
    fitting = f"--limit {QUESTIONS} --questions {FITTED}"
    yield ["fit", "--models", *folders(*RULED, *LENGTHENED), "--datasets", SHORT, LONG, *fitting.split()]
    yield from halves("--regimes", *PLAIN, "--faithfulness-protected", str(PROTECTED))
    yield run(folders(*RULED), SHORT, "--explainers", ",".join(CLOSER), "--regimes", *PLAIN, "--randomised", "--bounds")
    for name in LENGTHENED:
        yield from _harder(name)
    cued = ",".join((*catalogue.default_methods(), *further(), *DEPENDENCE))
    yield run(folders(*RULED), SHORT, "--explainers", cued, "--regimes", *CUES, "--sources", limit=CUED)
    yield from halves("--regimes", TIMED, "--timing")  # nothing else should run beside them
    how = f"--claims {claims} --writers shipped --annotators {','.join(ANNOTATORS)} --masking full --shard-size {COUNT}"
    yield ["citations", "run", *how.split()]


def _highlights(dataset: str) -> Iterator[list[str]]:
    """Yield the runs of the three architectures, with long documents of two, and one of these in fewer regimes."""
    faithfulness = ["--faithfulness", *([str(MEASURED)] if dataset == LONG else [])]
    options = [*faithfulness, "--keep-heads", "4", "--head-need", "--target", "context"]
    if dataset == LONG:
        yield run(folders("qwen2"), dataset, *options)
        yield run(folders("gpt2"), dataset, *options, "--regimes", *PLAIN)
    else:
        yield run(folders("qwen2", "gpt2", "gpt_neox"), dataset, *options)


def further() -> list[str]:
    """List the explainers that a run does not take by itself, and that plain prompts are asked of."""
    return [key for key in catalogue.explainers() if key not in (*catalogue.default_methods(), *DEPENDENCE)]


def halves(*options: str) -> Iterator[list[str]]:
    """Yield the explainers that have results already, and the others: what is there is not computed again with other
    neighbours.
    """
    for keys in (catalogue.default_methods(), further()):
        yield run(folders(*RULED), SHORT, "--explainers", ",".join(keys), *options)


def _harder(name: str) -> Iterator[list[str]]:
    """Yield decoys and lengths of a model, where it obeys."""
    (model,) = folders(name)
    rates = {(report.dataset, report.regime): report.agreement for report in read_measured(Path(model))}
    for one in HARDER:
        obeyed = [str(regime) for regime in one.regimes if rates[SHORT, str(regime)] >= OBEYED]
        if obeyed:
            # Where the answer may stand in two places it is asked on which of them it depends.
            beside = ["--timing"] if one.timed else ["--sources"]
            options = ["--explainers", ",".join((*catalogue.default_methods(), *further())), "--regimes", *obeyed, *beside]
            yield run([model], SHORT, *options, limit=one.questions)
