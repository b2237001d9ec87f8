"""The results of two real models: `python -m demo real`. It may take hours, and goes on where it stopped.

The order makes every finished part useful: the two plain regimes of each data set come first, then the others, what measures
faithfulness and what techniques do, all for the first questions; then the same for more questions. Nothing is taken from a
public data set but the prompts that were asked.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from heval_core import catalogue
from heval_core.records import CONTEXT_KINDS, REGIMES

STORE = Path("cache/real")
MODELS = ("smollm2", "gemma3-270m")
# Known facts of CounterFact (MIT), of which the store holds prompts and scores only.
COUNTERFACT = Path("../shared/data/counterfact/known_1000.json")
PLAIN = ("conflicting", "mixed")
FIRST, ALL = 60, 120
FITTED, PROTECTED, CLAIMS = 60, 40, 40
# What each model is asked in; ph3 needs a model's own heads, and fine_tuning would need hours on two cores.
TECHNIQUES = {"smollm2": "prompting,multi_agent,coiecd,acd,cad,ph3", "gemma3-270m": "coiecd,acd,cad,ph3"}


def datasets() -> list[str]:
    """Those whose files are here."""
    public = [f"counterfact={COUNTERFACT.resolve()}"] if COUNTERFACT.is_file() else []
    return ["world_capital", "country_profiles", *public, "invented_states"]


def runs(models: Sequence[str], store: Path) -> Iterator[list[str]]:
    """Arguments of `precompute`, in the order of their use."""
    kept = ["--device", "cpu", "--store", str(store)]
    fitted = [key for key in catalogue.explainers() if getattr(catalogue.find("explainer", key), "needs_fit", False)]
    others = [key for key in catalogue.explainers() if key not in fitted]
    for count in (FIRST, ALL):
        how = ["--limit", str(count), "--shard-size", str(FIRST), "--match", "text", *kept]
        for regimes in (PLAIN, tuple(regime for regime in REGIMES if regime not in PLAIN)):
            for dataset in datasets():
                asked = ["run", "--models", *models, "--datasets", dataset, "--regimes", *regimes]
                yield [*asked, "--explainers", ",".join(others), *how]
        capitals = ["--datasets", "world_capital"]
        protected = ["--explainers", ",".join(others), "--faithfulness-protected", str(PROTECTED)]
        yield ["run", "--models", *models, *capitals, "--regimes", *PLAIN, *protected, *how]
        for model in models:
            yield ["run", "--models", model, *capitals, "--regimes", *CONTEXT_KINDS, "--techniques", TECHNIQUES[model], *how]
        yield ["fit", "--models", *models, *capitals, "--limit", str(ALL), "--questions", str(FITTED), *kept]
        yield ["run", "--models", *models, *capitals, "--regimes", *PLAIN, "--explainers", ",".join(fitted), *how]
