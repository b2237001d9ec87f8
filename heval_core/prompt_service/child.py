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
        # Whatever ends this process from here on, it was this request: it must not be sent again.
        say({"progress": "starting"})
        try:
            say({"result": _answer(json.loads(line), loaded, lambda told: say(_message(told)))})
        except HEvalError as error:
            say({"error": str(error)})
        except Exception as error:  # the explorer shows one line; the trace is in its log
            import traceback

            traceback.print_exc()
            say({"error": f"The worker failed ({type(error).__name__}); the log has the details."})


def _message(told: str | dict[str, Any]) -> dict[str, Any]:
    return {"progress": told} if isinstance(told, str) else {"part": told}


def _answer(request: dict[str, Any], loaded: dict[str, Any], progress: Any) -> Any:
    lm = _model(request["model"], loaded, progress)
    if "expected" in request:
        _refuse_another(lm, _stored_prompt(lm, request), request["expected"])
    if request["op"] == "heads":
        return _heads(lm, _stored_prompt(lm, request))
    if request["op"] == "ablate":
        return _ablate(lm, _stored_prompt(lm, request), request["answer"], request["foil"], progress)
    if request["op"] == "answer":
        loaded[LAST] = answer = _explain_answer(lm, request, progress)
        return answer.to_json()
    if request["op"] in ("words", "again"):
        return _of_last(loaded.get(LAST), request)
    return _explain(lm, request, progress)


def _of_last(answer: Any, request: dict[str, Any]) -> Any:
    """What is asked of the last answer. Raises HEvalError where there is none: the process may have been started afresh."""
    from heval_core.explained_answer import Selection
    from heval_core.pipeline import Request

    if answer is None:
        raise HEvalError("The answer is not known here any more; explain it again.")
    if request["op"] == "words":
        return Selection(answer.generated, range(request["start"], request["end"])).scores(request["explainer"]).tolist()
    return answer.again(Request(tuple(request["documents"]), request["question"]), request["changed"])._asdict()


def _explain_answer(lm: Any, request: dict[str, Any], progress: Any) -> Any:
    """A whole answer. Each step is told when it is done, with all that is known but the matrices that were told before."""
    from heval_core import catalogue
    from heval_core.explained_answer import ExplainedAnswer
    from heval_core.generated import Wanted, explain_answer
    from heval_core.pipeline import Request

    told = set[str]()
    asked = Request(tuple(request["documents"]), request["question"])
    explainers = [catalogue.method(key) for key in request["explainers"]]
    with lm.asked_in(request["template"]):
        for step, found in explain_answer(lm, asked, explainers, Wanted(request["generate"], request["answer"])):
            if step == "token":
                progress({"step": step, "text": found.written.text})
                continue
            answer = ExplainedAnswer(found, lm.template)
            result = answer.to_json()
            matrix = result["generated"]["matrix"]
            new = {key: own for key, own in matrix.items() if key not in told}
            told |= matrix.keys()
            progress({"step": step, **result, "generated": result["generated"] | {"matrix": new}})
    return answer


def _explain(lm: Any, request: dict[str, Any], progress: Any) -> Any:
    from heval_core import catalogue
    from heval_core.explanation import Explanation
    from heval_core.pipeline import Request, explain_request

    asked = Request(
        tuple(request["documents"]), request["question"], tuple(request["context_answers"]), request["memory_answer"]
    )
    explainers = [catalogue.method(key) for key in request["explainers"]]
    with lm.asked_in(request["template"]):
        explained = explain_request(
            lm, asked, explainers, lambda key: progress(f"{key} done"), request["match"], request["target"]
        )
    return Explanation(explained).to_json()


def _stored_prompt(lm: Any, request: dict[str, Any]) -> Any:
    """The tokens of a stored prompt. One with a chat template holds its special tokens, and none may be added."""
    from heval_core.records import Prompt, Span

    text = request["prompt"]
    return lm.tokenise(Prompt(text, (), Span(0, 0), (), adds_special=not request.get("in_chat")))


# The key under which the last answer is kept, beside its model.
LAST = "the last answer"
# Logits of one model in another precision differ by less than this, those of another model by more.
TOLERANCE = 0.5


def _refuse_another(lm: Any, prompt: Any, expected: dict[str, Any]) -> None:
    """Raises HEvalError where this is not the model that the stored prompt was asked of."""
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


def _heads(lm: Any, prompt: Any) -> list[list[list[float]]]:
    """Every head's attention from the last position of a stored prompt: layers x heads x tokens."""
    from heval_core.lm.clean_pass import CleanPass

    attention: list[list[list[float]]] = CleanPass(lm, [prompt]).heads.attention[0].tolist()
    return attention


# Heads that are taken out in one batch of passes over the prompt.
HEADS_AT_ONCE = 32


def _ablate(lm: Any, prompt: Any, answer: int, foil: int, progress: Any) -> dict[str, Any]:
    """The answer's lead in logits over its competitor: with all heads, and without each, as layers x heads for each way."""
    ids = lm.ids(prompt.ids)
    every = [(layer, number) for layer in range(lm.layers) for number in range(lm.heads_per_layer)]

    def lead(logits: Any) -> list[float]:
        return [float(row[answer] - row[foil]) for row in logits]

    leads: dict[str, list[list[float]]] = {}
    for how in ("zero", "mean"):
        flat: list[float] = []
        for start in range(0, len(every), HEADS_AT_ONCE):
            flat += lead(lm.ablation.heads(ids, every[start : start + HEADS_AT_ONCE], how))
            progress(f"{len(flat)} of {len(every)} heads")
        leads[how] = [flat[start : start + lm.heads_per_layer] for start in range(0, len(flat), lm.heads_per_layer)]
    return {"whole": lead(lm.forward.logits(ids))[0], **leads}


def _model(name: str, loaded: dict[str, Any], progress: Any) -> Any:
    if name not in loaded:
        progress("loading the model")
        from heval_core.lm.loading import load

        loaded.clear()
        loaded[name] = load(name, device="cpu")
    return loaded[name]


if __name__ == "__main__":
    main()
