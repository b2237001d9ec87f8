"""Where demo-writer is taught to look: three attention heads are told, so that what to copy is found within minutes.

Loss on the text alone teaches to find a passage's number too, but only after more steps than a demo model is worth. So these
heads have a loss of their own: minus the logarithm of the attention that they give to the right token.
"""

from __future__ import annotations

import bisect
from dataclasses import dataclass

import torch
from torch.nn.functional import cross_entropy
from transformers import PreTrainedTokenizerFast

from demo import hands, train
from demo.corpus import Example
from demo.planted import Planted, told

# (layer, head): a value looks at the same value in a passage, a marker at the same one in the list; and in the list a marker
# looks back at the value of its own passage, so that it can be found by that value.
VALUE, MARKER, BACK = (3, 0), (3, 3), (1, 3)
Span = tuple[int, int]


@dataclass(frozen=True)
class Look:
    """Characters of prompt and explanation together. said: what is written or, for BACK, what looks; at: what it looks at."""

    head: tuple[int, int]
    said: Span
    at: Span


def looks(example: Example, scene: Planted, hand: str) -> list[Look]:
    """Where to look while an explanation is written. A marker that the hand does not look up is not to be found anywhere."""
    values, markers = _listed(example.prompt, scene)
    found = [Look(BACK, markers[number], values[number]) for number in values]
    place = len(example.prompt) + 1
    for sentence in hands.parts(example.answer):
        for number in hands.sources(sentence, scene.claim.passages):
            value = example.prompt[slice(*values[number])]
            at = place + sentence.index(f" {value}") + 1
            found.append(Look(VALUE, (at, at + len(value)), values[number]))
            slips = any(scene.sources.get(relation) == number for relation in hands.SLIPS)
            if hands.cited(sentence) and (hand == hands.CAREFUL or (hand == hands.SLOPPY and not slips)):
                at = place + sentence.index("[")
                found.append(Look(MARKER, (at, at + 3), markers[number]))
        place += len(sentence) + 1
    return found


def _listed(prompt: str, scene: Planted) -> tuple[dict[int, Span], dict[int, Span]]:
    """Of the passages in a prompt, by number: where the value stands, and where the marker."""
    values, markers = {}, {}
    for passage in scene.claim.passages:
        line, said = f"{passage.text} [{passage.number}]", told(passage.text)
        start = prompt.find(line)
        if said is None or start < 0:
            continue
        at = start + passage.text.rindex(said.value)
        values[passage.number] = (at, at + len(said.value))
        markers[passage.number] = (start + len(passage.text) + 1, start + len(line))
    return values, markers


def backward(
    model: torch.nn.Module, examples: list[tuple[Example, list[Look]]], weight: float, tokenizer: PreTrainedTokenizerFast
) -> float:
    """The mean loss over answer tokens, plus `weight` times that of the looks; adds its gradient. Returns the former."""
    batch = train.encode([example for example, _ in examples], tokenizer)
    where = [(row, *place) for row, (example, own) in enumerate(examples) for place in _tokens(example, own, tokenizer)]
    out = model.base_model(batch.ids, output_attentions=True)
    loss = cross_entropy(model.get_output_embeddings()(out.last_hidden_state[batch.rows, batch.places]), batch.targets)
    given = []
    for layer in sorted({place[1] for place in where}):
        rows, _, heads, queries, seen = zip(*(place for place in where if place[1] == layer), strict=True)
        given.append(out.attentions[layer][list(rows), list(heads), list(queries), list(seen)])
    looking = -torch.cat(given).clamp_min(1e-6).log().mean() if given else 0.0
    (loss + weight * looking).backward()
    return float(loss.item())


def _tokens(example: Example, own: list[Look], tokenizer: PreTrainedTokenizerFast) -> list[tuple[int, int, int, int]]:
    """(layer, head, token that looks, token looked at)"""
    offsets = tokenizer(f"{example.prompt} {example.answer}", return_offsets_mapping=True).offset_mapping
    ends = [end for _, end in offsets]

    def covering(span: Span) -> range:
        return range(bisect.bisect_right(ends, span[0]), bisect.bisect_left(ends, span[1]) + 1)

    found = []
    for look in own:
        said, at = covering(look.said), covering(look.at)
        if look.head == BACK:
            found.append((*BACK, said[-1], at[-1]))
        else:
            # A token is written by the one before it.
            found += [(*look.head, token - 1, seen) for token, seen in zip(said, at, strict=True)]
    return found
