"""The child process that explains prompts: one JSON request a line on standard input, JSON lines out (see `client`)."""

import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict
from typing import Any

from heval_core.records import HEvalError, Prompt, Span, Target, TokenisedPrompt
from heval_core.records.whole_answers import WholeAnswer, changes, read

Send = Callable[[dict[str, Any]], None]


def main() -> None:
    """Serve until standard input closes. One model is kept loaded; another one takes its place."""
    # What libraries print must not get between the answers: standard output is kept for them alone.
    answers, sys.stdout = sys.stdout, sys.stderr
    loaded: dict[Any, Any] = {}

    def say(message: dict[str, Any]) -> None:
        answers.write(json.dumps(message, default=asdict, ensure_ascii=True) + "\n")
        answers.flush()

    for line in sys.stdin:
        # Whatever ends this process from here on, it was this request: it must not be sent again.
        say({"progress": "starting"})
        try:
            serve(json.loads(line), loaded, say)
        except HEvalError as error:
            say({"error": str(error)})
        except Exception as error:  # the explorer shows one line; the trace is in its log
            import traceback

            traceback.print_exc()
            say({"error": f"The worker failed ({type(error).__name__}); the log has the details."})


def serve(request: dict[str, Any], loaded: dict[Any, Any], say: Send) -> None:
    """Carry out a request: report each step that is done, and what is new then."""
    if request["op"] == "word":
        say({"result": _word(_model(request, loaded, say), request, say)})
        return
    if request["op"] != "answer":
        say({"result": _of_stored(_model(request, loaded, say), request)})
        return
    known = read(request["before"]) if request.get("before") else None
    for step, answer in _answered(request, known, loaded, say):
        if answer is None:
            say({"progress": step})
            continue
        say({"progress": f"{step} done"})
        say({"new": changes(known, answer)})
        known = answer
    say({"result": None})  # it has been said


def _answered(
    request: dict[str, Any], known: WholeAnswer | None, loaded: dict[Any, Any], say: Send
) -> Iterator[tuple[str, WholeAnswer | None]]:
    """Yield each step of an answer, or of what more is asked of one that is known; None where a step only begins.

    Explainers that need float32 are asked of the model in float32, where the rest is computed in bfloat16.
    """
    from heval_core.plugins import catalogue

    keys = request.get("more", request["explainers"])
    exact = [key for key in keys if request.get("dtype") == "bfloat16" and "float32" in catalogue.method(key).needs]
    lm = _model(request | ({"dtype": "float32"} if exact and known else {}), loaded, say)
    # Behind the model: they load torch, and until it is said what is loaded, nothing is.
    from heval_core.explaining.answer_steps import tokenised
    from heval_core.explaining.arguments import request_of

    about = request_of(request["question"], request["documents"])
    if known is None:
        coarse = [key for key in keys if key not in exact]
        with lm.asked_in(request["template"]):
            for step, answer in _steps(lm, tokenised(lm, about), request | {"explainers": coarse}):
                known = answer or known
                yield step, answer
        if not exact or request.get("only_written"):
            return
        request = request | {"more": exact}
        lm = _model(request | {"dtype": "float32"}, loaded, say)
    assert known is not None
    with lm.asked_in(request["template"]):
        yield from _more(lm, tokenised(lm, about), request, known)


def _word(lm: Any, request: dict[str, Any], say: Send) -> Any:
    """Explain the first word of an answer, or the next one of an answer that has begun."""
    from heval_core.explaining.pipeline import Request
    from heval_core.explaining.word_answer import explained_word
    from heval_core.plugins import catalogue

    answers, begun = tuple(one or None for one in request["answers"]), tuple(request["begun"])
    about = Request(tuple(request["documents"]), request["question"], answers, request["memory"] or None, begun=begun)
    methods = [catalogue.method(key) for key in request["explainers"]]
    with lm.asked_in(request["template"]):
        return explained_word(lm, about, methods, request["target"], lambda key: say({"progress": f"now {key}"}))


def _steps(lm: Any, prompt: TokenisedPrompt, request: dict[str, Any]) -> Iterator[tuple[str, WholeAnswer | None]]:
    """Write an answer and explain it: yield each step, and what is known by then; None where it only begins."""
    from heval_core.explaining.answer import Answer
    from heval_core.explaining.answer_steps import NOW, answer_steps
    from heval_core.explaining.whole_answer import Wanted
    from heval_core.plugins import catalogue

    methods, wanted = (
        map(catalogue.method, request["explainers"]),
        Wanted(request["generate"], request["answer"], thrifty=True),
    )
    for step, generated in answer_steps(lm, prompt, request["question"], methods, wanted):
        yield step, None if step.startswith(NOW) else Answer(generated, lm.template).record
        if request.get("only_written") and generated.written.stopped:
            return


def _more(
    lm: Any, prompt: TokenisedPrompt, request: dict[str, Any], known: WholeAnswer
) -> Iterator[tuple[str, WholeAnswer | None]]:
    """Explain an answer that is known by others too; or some of its tokens, or why a word is not its rival."""
    from heval_core.explaining.answer import extended, resumed
    from heval_core.explaining.answer_steps import NOW, explained_by
    from heval_core.plugins import catalogue

    generated, part = resumed(lm, prompt, known), request.get("part")
    for key in request["more"]:
        yield f"{NOW}{key}", None
        if key not in generated.matrices:
            ((_, generated),) = explained_by(generated, [catalogue.method(key)])
        generated = generated.with_part(key, Span(*part)) if part else generated
        yield key, extended(known, generated)
    if request.get("against") is not None:
        yield "against", extended(known, generated.with_contrast(request["against"]))


def _of_stored(lm: Any, request: dict[str, Any]) -> Any:
    """Compute what the heads did with a stored prompt.

    `heads`: their attention from its last position, layers x heads x tokens. `need`: the answer's lead in logits over its
    competitor, and what it loses without each head, layers x heads.
    """
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
    """Raise HEvalError where this is not the model that the stored prompt was asked of."""
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


def _model(request: dict[str, Any], loaded: dict[Any, Any], say: Send) -> Any:
    name, dtype = request["model"], request.get("dtype", "float32")
    if (name, dtype) not in loaded:
        say({"progress": "loading the model"})
        from heval_core.lm.loading import load

        if all(other != name for other, _ in loaded):
            loaded.clear()  # one model at a time
        loaded[name, dtype] = load(name, device="cpu", dtype=dtype)
    return loaded[name, dtype]


if __name__ == "__main__":
    main()
