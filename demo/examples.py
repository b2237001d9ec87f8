"""The explorer's examples: `python -m demo examples`. Whole answers that open at once; SmolLM2's package has to be installed.

`examples.jsonl` has what is asked, one in a line. against: a word of the answer, of which it is also said why not its rival.
"""

import json
from collections.abc import Iterator
from pathlib import Path

from heval_core.figures.answer import answer_drawing, verdict
from heval_core.lm.installed import installed_models
from heval_core.prompt_service.client import ask
from heval_core.prompting.prompts import CHAT
from heval_core.records.whole_answers import WholeAnswer
from heval_core.ui.own_prompts import EXAMPLES, SCHEMA, OwnPrompt, write
from heval_core.ui.sidebar import request_of

# With attention, so that one that often points elsewhere is seen too.
SHOWN = ("fa", "origin", "attnlrp", "cgim", "contextcite", "attn", "mechlight")


def listed() -> Iterator[tuple[str, str, OwnPrompt, str]]:
    """Name, title, what is asked, and the word that is compared with its rival, if one is."""
    usual = {"model": "SmolLM2-135M-Instruct.Q4_1", "explainers": SHOWN, "template": CHAT, "generate": 40}
    for line in Path(__file__).with_suffix(".jsonl").read_text("utf-8").splitlines():
        example = json.loads(line)
        prompt = SCHEMA.validate_json(json.dumps(usual | example["asked"]))
        yield example["name"], example["title"], prompt, example.get("against", "")


def computed(prompt: OwnPrompt, against: str) -> WholeAnswer:
    """Compute the answer as the page does, with the explainers that wait for a click there."""
    request = request_of(prompt, {key: model.path for key, model in installed_models().items()})
    request["explainers"] = list(prompt.explainers)
    result: WholeAnswer = ask(request)
    if against:
        start = next(word.start for word in result.generated.words if word.text.strip() == against)
        request |= {"more": [], "before": result, "against": start}
        result = ask(request)
    return result


def make() -> None:
    for name, title, prompt, against in listed():
        result = computed(prompt, against)
        write(EXAMPLES / f"{name}.json.gz", prompt, result, title)
        print(f"{title} | {verdict(answer_drawing(result))} | {result.generated.text.strip()}")
