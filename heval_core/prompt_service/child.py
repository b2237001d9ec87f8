"""The child process that explains prompts: one JSON request a line on standard input, JSON lines out (`messages`)."""

from __future__ import annotations

import json
import sys
from typing import Any

from heval_core.records import HEvalError


def main() -> None:
    """Serve until standard input closes. One model is kept loaded; another one takes its place."""
    # What libraries print must not get between the answers: standard output is kept for them alone.
    answers, sys.stdout = sys.stdout, sys.stderr
    loaded: dict[str, Any] = {}

    def say(message: dict[str, Any]) -> None:
        answers.write(json.dumps(message, ensure_ascii=True) + "\n")
        answers.flush()

    for line in sys.stdin:
        try:
            say({"result": _answer(json.loads(line), loaded, lambda text: say({"progress": text}))})
        except HEvalError as error:
            say({"error": str(error)})
        except Exception as error:  # the explorer shows one line; the trace is in its log
            import traceback

            traceback.print_exc()
            say({"error": f"The worker failed ({type(error).__name__}); the log has the details."})


def _answer(request: dict[str, Any], loaded: dict[str, Any], progress: Any) -> Any:
    lm = _model(request["model"], loaded, progress)
    if "expected" in request:
        _refuse_another(lm, request["prompt"], request["expected"])
    if request["op"] == "heads":
        return _heads(lm, request["prompt"])
    if request["op"] == "ablate":
        return _ablate(lm, request["prompt"], tuple(request["head"]), request["answer"], request["foil"])
    from heval_core import catalogue
    from heval_core.explanation import Explanation
    from heval_core.pipeline import Request, explain_request

    asked = Request(
        tuple(request["documents"]), request["question"], tuple(request["context_answers"]), request["memory_answer"]
    )
    explainers = [catalogue.method(key) for key in request["explainers"]]
    result = explain_request(lm, asked, explainers, lambda key: progress(f"{key} done"), request["match"], request["target"])
    return Explanation(result).to_json()


# Logits of one model in another precision differ by less than this, those of another model by more.
TOLERANCE = 0.5


def _refuse_another(lm: Any, text: str, expected: dict[str, Any]) -> None:
    """Raises HEvalError where this is not the model that the stored prompt was asked of."""
    from heval_core.records import Prompt, Span

    prompt = lm.tokenise(Prompt(text, (), Span(0, 0), ()))
    if list(prompt.tokens) != expected["tokens"]:
        raise HEvalError(
            "The model installed here cuts this prompt into other tokens than the results' model; it is not asked."
        )
    logits = lm.forward.logits(lm.ids(prompt.ids))[0]
    now = [float(logits[index] - logits[expected["ids"][0]]) for index in expected["ids"]]
    stored = [value - expected["logits"][0] for value in expected["logits"]]
    apart = max((abs(here - there) for here, there in zip(now, stored, strict=True)), default=0.0)
    if apart > TOLERANCE:
        raise HEvalError(
            f"The model installed here is not the one that these results are of: its logits differ by {apart:.1f} here."
        )


def _heads(lm: Any, text: str) -> list[list[list[float]]]:
    """Every head's attention from the last position of a stored prompt: layers x heads x tokens."""
    from heval_core.lm.clean_pass import CleanPass
    from heval_core.records import Prompt, Span

    prompt = lm.tokenise(Prompt(text, (), Span(0, 0), ()))
    attention: list[list[list[float]]] = CleanPass(lm, [prompt]).heads.attention[0].tolist()
    return attention


RANDOM_HEADS = 10


def _ablate(lm: Any, text: str, head: tuple[int, int], answer: int, foil: int) -> dict[str, Any]:
    """The answer's lead in logits over its competitor: with all heads, without one, and without each of some others."""
    import random

    from heval_core.records import Prompt, Span

    ids = lm.ids(lm.tokenise(Prompt(text, (), Span(0, 0), ())).ids)
    others = [(layer, number) for layer in range(lm.layers) for number in range(lm.heads_per_layer)]
    others.remove(head)
    chosen = random.Random(0).sample(others, min(RANDOM_HEADS, len(others)))

    def lead(logits: Any) -> list[float]:
        return [float(row[answer] - row[foil]) for row in logits]

    leads = {how: lead(lm.ablation.heads(ids, [head, *chosen], how)) for how in ("zero", "mean")}
    whole = lead(lm.forward.logits(ids))[0]
    return {
        "whole": whole,
        "random_heads": [list(other) for other in chosen],
        **{how: {"chosen": values[0], "random": values[1:]} for how, values in leads.items()},
    }


def _model(name: str, loaded: dict[str, Any], progress: Any) -> Any:
    if name not in loaded:
        progress("loading the model")
        from heval_core.lm.loading import load

        loaded.clear()
        loaded[name] = load(name, device="cpu")
    return loaded[name]


if __name__ == "__main__":
    main()
