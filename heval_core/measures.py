"""What a person can ask of the explainers, and which metric, parts and regimes answer it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from heval_core.records import DUAL_REGIMES, SINGLE_REGIMES


@dataclass(frozen=True)
class Measure:
    """metric: its key. best: `high`, `low`, or `zero` for a bias. regimes: those it is read in; all where empty.

    whole: the part that takes all instances together, for what needs many; the parts themselves where empty. ranked:
    whether it is made of ranks, so that the prompt's first token can be left out of them. variant_of: the measure that this is
    with every explainer's target held fixed.
    """

    metric: str
    parts: tuple[str, ...]
    unit: str
    meaning: str
    best: str = "high"
    regimes: tuple[str, ...] = ()
    uses_k: bool = True
    ranked: bool = True
    whole: tuple[str, ...] = ()
    variant_of: str = ""


def at_fixed_target(name: str) -> str:
    """What the variant of a measure is called that holds the target fixed."""
    return f"{name}, target fixed"


_FIXED = (
    "Here every explainer explains the first document's answer against its competitor, whatever the model answered: with the "
    "answer given as its target, a string match finds the group's own answer and so knows the label; with one target for both "
    "groups, only the scores can tell. "
)


def _with_variants(measures: dict[str, Measure]) -> dict[str, Measure]:
    """Measures, and each of them at a fixed target."""
    return measures | {
        at_fixed_target(name): replace(
            own, parts=tuple(f"{part}_context" for part in own.parts), meaning=_FIXED + own.meaning, variant_of=name
        )
        for name, own in measures.items()
    }


def _simulated(regimes: tuple[str, ...], of: str) -> dict[str, Measure]:
    """The simulatability measures of single or dual regimes. of: the part of the prompt that features are taken from."""
    return _with_variants({
        "NMutInf": Measure(
            "nmutinf", ("raw",), "share of the doubt removed",
            f"How much of the doubt about the answer's origin the k largest scores of {of} remove, judged by each instance's "
            "five nearest neighbours. This printed estimator gives 17 % and more to features that know nothing, so read it "
            "beside its chance level, or the held-out probe in its place: what that finds, it has found on instances that it "
            "was not trained on.",
            regimes=regimes, ranked=False,
        ),
        "MDL": Measure(
            "mdl", ("compression",), "compression",
            f"How many times shorter the labels' code gets for somebody who sees the k largest scores of {of} and learns as "
            "the code goes on. Below 1, learning costs more than it saves.",
            regimes=regimes, ranked=False,
        ),
        "Probe accuracy": Measure(
            "probe", ("accuracy",), "share told rightly",
            f"How often a logistic regression on the k largest scores of {of} tells where the answer came from, on instances "
            "that it was not trained on. Chance is what it tells of permuted labels.",
            regimes=regimes, ranked=False,
        ),
        "Probe information": Measure(
            "probe", ("information",), "bits",
            "How many bits about the answer's origin the probe's probabilities are worth, held out; below 0 they mislead, "
            "as those that are learnt from permuted labels do (chance).",
            regimes=regimes, ranked=False,
        ),
    })  # fmt: skip


_SINGLE = _simulated(SINGLE_REGIMES, "the document")
_DUAL = _simulated(DUAL_REGIMES, "both documents")
_SLOPE = "Slope of the normalised value against the prompt's length: below 0, longer prompts are explained worse."

MEASURES: dict[str, dict[str, Measure]] = {
    "Context or memory?": {
        "Rank margin": Measure(
            "group_rank_margin", ("c",), "ranks",
            "How many ranks higher the document's k best tokens stand where the answer came from it than where it did not.",
        ),
        **_SINGLE,
    },
    "Which document?": {
        "Instance margin": Measure(
            "instance_rank_margin", ("C1", "C2"), "ranks",
            "How many ranks higher the used document's k best tokens stand than the other's, in one and the same prompt.",
            whole=("balanced",),
        ),
        "Group margin": Measure(
            "group_rank_margin", ("c1", "c2"), "ranks",
            "How many ranks higher a document's k best tokens stand where it was used than where the other one was.",
        ),
        **_DUAL,
        "Position bias": Measure(
            "position_bias", ("tilt", "swap"), "ranks",
            "How many ranks the first document stands above the second, whichever was used: over both groups alike, and over "
            "questions asked both ways round. Above 0 favours the earlier document.",
            best="zero",
        ),
    },
    "Which token?": {
        "MRR": Measure(
            "mrr", ("C", "balanced"), "mean reciprocal rank",
            "One over the rank of the best of the used document's answer tokens, averaged.", uses_k=False,
        ),
        "Answer in the top k": Measure(
            "hit_at_k", ("C", "balanced"), "share of instances",
            "How often one of the used document's answer tokens is among the k best-ranked tokens of the prompt.",
        ),
        "Length sensitivity": Measure(
            "length_sensitivity", ("mrr",), "normalised MRR per 100 tokens", _SLOPE, best="zero", ranked=False
        ),
    },
    "Is it faithful?": {
        "Comprehensiveness": Measure(
            "comprehensiveness", ("all",), "nats",
            "How much log-probability the answer loses without the best-ranked tokens, the mean over three ways to take them "
            "out (fa's baseline token, tokens drawn by frequency, deletion). Chance: the random control.",
            uses_k=False, ranked=False,
        ),
        "Sufficiency": Measure(
            "sufficiency", ("all",), "nats",
            "How much log-probability the answer loses when only the best-ranked tokens are kept, the mean over three ways to "
            "take the others out; lower is better. Chance: the random control.",
            best="low", uses_k=False, ranked=False,
        ),
    },
}  # fmt: skip
# The widget, and the name in the link, of each question's measures.
MEASURE_KEYS = dict(zip(MEASURES, ("memory", "document", "token", "faithful"), strict=True))
