"""The child process that explains prompts: one JSON request a line on standard input, JSON lines out (see `client`)."""

import json
import sys
from typing import Any

from heval_core.records import HEvalError, Prompt, Span, Target, TokenisedPrompt


def main() -> None:
    """Serve until standard input closes. One model is kept loaded; another one takes its place."""
    # What libraries print must not get between the answers: standard output is kept for them alone.
    answers, sys.stdout = sys.stdout, sys.stderr
    loaded: dict[Any, Any] = {}

    def say(message: dict[str, Any]) -> None:
        answers.write(json.dumps(message, ensure_ascii=True) + "\n")
        answers.flush()

    def tell(said: Any) -> None:
        say({"progress" if isinstance(said, str) else "partial": said})

    for line in sys.stdin:
        # Whatever ends this process from here on, it was this request: it must not be sent again.
        say({"progress": "starting"})
        try:
            say({"result": _answer(json.loads(line), loaded, tell)})
        except HEvalError as error:
            say({"error": str(error)})
        except Exception as error:  # the explorer shows one line; the trace is in its log
            import traceback

            traceback.print_exc()
            say({"error": f"The worker failed ({type(error).__name__}); the log has the details."})


def _answer(request: dict[str, Any], loaded: dict[Any, Any], progress: Any) -> Any:
    lm = _model(request["model"], request.get("dtype", "float32"), loaded, progress)
    if request["op"] != "answer":
        return _of_stored(lm, request)
    from heval_core.explaining.whole_answer_json import answered

    with lm.asked_in(request["template"]):
        return answered(lm, request, progress)


def _of_stored(lm: Any, request: dict[str, Any]) -> Any:
    """What the heads did with a stored prompt. `heads`: their attention from its last position, layers x heads x tokens.
    `need`: the answer's lead in logits over its competitor, and what it loses without each head, layers x heads."""
    from heval_core.lm.clean_pass import CleanPass

    template = tuple(Span(*part) for part in request.get("template", ()))
    prompt = lm.tokenise(Prompt(request["prompt"], (), Span(0, 0), (), template=template))
    if "expected" in request:
        _refuse_another(lm, prompt, request["expected"])
    clean = CleanPass(lm, [prompt])
    if request["op"] == "heads":
        return clean.heads.attention[0].tolist()
    answer, foil = request["answer"], request["foil"]
    lost = clean.lost_leads([Target.next_token(answer, foil, "")])[0]
    return {"lead": float(clean.logits[0, answer] - clean.logits[0, foil]), "lost": lost.tolist()}


# Logits of one model in another precision differ by less than this, those of another model by more.
TOLERANCE = 0.5


def _refuse_another(lm: Any, prompt: TokenisedPrompt, expected: dict[str, Any]) -> None:
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


def _model(name: str, dtype: str, loaded: dict[Any, Any], progress: Any) -> Any:
    if (name, dtype) not in loaded:
        progress("loading the model")
        from heval_core.lm.loading import load

        loaded.clear()  # one model at a time
        loaded[name, dtype] = load(name, device="cpu", dtype=dtype)
    return loaded[name, dtype]


if __name__ == "__main__":
    main()
