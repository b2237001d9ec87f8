"""The examples of *Your prompt*: each opens without its model, and shows what its title says."""

import gzip
import json
from collections import Counter
from dataclasses import asdict

import pytest

from demo.examples import listed
from heval_core.figures.answer import SENTENCE, answer_drawing
from heval_core.ui import own_prompts

NAMES = [name for name, *_ in listed()]


def test_the_files_are_those_that_are_listed_and_they_are_small():
    assert own_prompts.examples() == NAMES
    assert sum(file.stat().st_size for file in own_prompts.EXAMPLES.iterdir()) < 1_000_000


def stands_in(old, new):
    """Whether all of a JSON value stands in another one, which may have more keys."""
    if isinstance(old, dict):
        return old.keys() <= new.keys() and all(stands_in(part, new[key]) for key, part in old.items())
    return old == new if not isinstance(old, list) else len(old) == len(new) and all(map(stands_in, old, new))


@pytest.mark.parametrize(("name", "title", "asked", "against"), listed(), ids=NAMES)
def test_an_example_opens_as_it_is_listed_with_every_explainer(name, title, asked, against):
    kept = own_prompts.find(name)
    assert (kept.prompt, kept.title) == (asked, title)
    content = json.loads(gzip.decompress((own_prompts.EXAMPLES / f"{name}.json.gz").read_bytes()))
    assert stands_in(content["result"], json.loads(json.dumps(asdict(kept.result))))
    answer = answer_drawing(kept.result)
    assert answer.words[0].said_before == 0
    known = {method.key for method in answer.methods if method.values is not None}
    compared = {f"against({word.start})" for word in answer.words if word.text.strip() == against}
    assert known == {SENTENCE, *asked.explainers, *compared}


def share(answer, source):
    return Counter(word.source for word in answer.words)[source] / len(answer.words)


def test_each_example_shows_what_its_title_says():
    copied, mixture, memory, wrong, unclear, long, chat, taught = (
        answer_drawing(own_prompts.find(name).result) for name in NAMES
    )
    assert min(share(copied, "document 1"), share(memory, "memory"), share(unclear, "unclear")) > 0.5
    assert min(share(mixture, "document 1"), share(mixture, "document 2")) > 0.25
    assert ("Madrid", "memory") in [(word.text.strip(), word.source) for word in memory.words]
    cited = [(sentence.text[-4:], sentence.citations[0].document) for sentence in wrong.sentences]
    assert cited == [("[2].", 1), ("[1].", 2)]
    assert len(long.tokens) > 400
    verdicts = own_prompts.find("6-long").result.generated.verdicts
    assert verdicts["sentences"][0]["points"]["sentence"] == 11  # of 22
    assert min(share(chat, source) for source in ("memory", "unclear", "document 1")) > 0.15
    assert (taught.model, [word.source for word in taught.words]) == ("demo-qwen2", ["document 2"])
