"""Does a model follow instructions? Rates on pairs of subject and answer that training never showed.

Each rate stands beside that of the same prompt without the instruction, or beside .5 where one of two words is asked for.
"""

import random
from collections.abc import Iterable
from dataclasses import dataclass

from tqdm import tqdm

from demo import instructed
from demo.instructed import RELATED, TURN, Scene, judged, prompt_of, scenes
from demo.shares import Share, markdown
from heval_core.datasets._states import answers
from heval_core.lm.model import LanguageModel
from heval_core.prompting import styles
from heval_core.prompting.prompts import mentions
from heval_core.records import Prompt, Span
from heval_core.techniques.shared.instructions import DEMONSTRATIONS, PROMPTS, QA, prompt_ids

REPLY_TOKENS = 12


@dataclass(frozen=True)
class Trial:
    """A prompt, the reply that is right, and which rates it counts for. plain: the prompt without the instruction."""

    prompt: str
    reply: str
    names: tuple[tuple[str, str], ...]
    plain: str | None = None


def rates(lm: LanguageModel, documents: int) -> dict[tuple[str, str], Share]:
    """Measure (instruction, wordings) ▶ rate. documents: how many are used, each under every instruction."""
    rng, trials = random.Random("obeying"), []
    for number in tqdm(range(documents), desc=f"{lm.key} · instructions", unit="document"):
        by_kind = scenes((0, 1, 0.5)[number % 3], rng, _never_seen)
        for scene in by_kind.values():
            trials += [*_followed(scene, rng), *_judgements(scene, rng)]
    prompts = sorted({text for trial in trials for text in (trial.prompt, trial.plain) if text is not None})
    replies = dict(zip(prompts, replies_to(lm, prompts, REPLY_TOKENS), strict=True))
    counted: dict[tuple[str, str], Share] = {}
    for trial in trials:
        chance = 0.5 if trial.plain is None else float(replies[trial.plain] == trial.reply)
        for name in trial.names:
            counted.setdefault(name, Share()).count(replies[trial.prompt] == trial.reply, chance)
    return counted


def _never_seen(subject: str, answer: str) -> bool:
    return not styles.in_training(subject, answer)


def _followed(scene: Scene, rng: random.Random) -> Iterable[Trial]:
    """Try the instructions that say how to treat the document."""
    plain = prompt_of(scene, "")
    followed = scene.document.answer if scene.kind in RELATED else scene.memory
    for wording, name, reply in (
        (instructed.ONLY, "use only the context", scene.document.answer),
        (instructed.IGNORE, "ignore the context", scene.memory),
        (instructed.IF_RELEVANT, "use the context only if it is relevant", followed),
    ):
        if wording is instructed.ONLY and scene.kind == "off_topic":
            continue
        for key in wording.prompts:
            names = ((f"{name}: {scene.kind}", "the technique's"), (f"prompt {key}: {scene.kind}", "the technique's"))
            yield Trial(prompt_of(scene, PROMPTS[key]), reply, names, plain)
        for held_out, kind in ((False, "taught"), (True, "never taught")):
            yield Trial(prompt_of(scene, wording.one(rng, held_out)), reply, ((f"{name}: {scene.kind}", kind),), plain)
        text = prompt_of(scene, wording.one(rng), TURN)
        yield Trial(text, reply, ((f"{name}: {scene.kind}", "taught, in a chat"),), prompt_of(scene, "", TURN))


def _judgements(scene: Scene, rng: random.Random) -> Iterable[Trial]:
    right = "relevant" if scene.kind in RELATED else "irrelevant"
    wrong = rng.choice([a for a in answers(scene.relation) if not mentions(a, scene.document.text)])
    shown = " ".join(DEMONSTRATIONS[QA])
    for held_out, kind in ((False, "taught"), (True, "never taught")):
        yield Trial(
            prompt_of(scene, instructed.RELEVANCE.one(rng, held_out)), right, ((f"judge relevance: {scene.kind}", kind),)
        )
        if scene.kind == "off_topic":
            continue
        for generated, reply in ((scene.document.answer, "faithful"), (wrong, "unfaithful")):
            text = prompt_of(scene, instructed.FAITHFULNESS.one(rng, held_out), question=judged(scene, generated))
            yield Trial(text, reply, ((f"judge an answer that is {reply}: {scene.kind}", kind),))
        refining = prompt_of(scene, f"{instructed.REFINING.one(rng, held_out)} {shown}")
        yield Trial(refining, scene.document.answer, ((f"refine: {scene.kind}", kind),), prompt_of(scene, ""))


def replies_to(lm: LanguageModel, prompts: list[str], tokens: int) -> list[str]:
    """Generate greedily after each prompt."""
    ids = [lm.tokenise(Prompt(text, (), Span(0, 0), ())).ids for text in prompts]
    return [lm.decode(list(reply)).strip() for reply in lm.generation.greedy(ids, tokens)]


def table(counted: dict[tuple[str, str], Share]) -> list[str]:
    """Write Markdown rows: each instruction and kind of document, one column for each kind of wording."""
    kinds = ("the technique's", "taught", "never taught", "taught, in a chat")
    rows = []
    for name in dict.fromkeys(name for name, _ in counted if not name.startswith("prompt ")):
        shown = [counted.get((name, kind)) for kind in kinds]
        first = next(filter(None, shown))
        rows.append((name, *map(_written, shown), f"{first.chance / first.n:.2f}", first.n))
    return markdown(("instruction: document", *kinds, "chance", "n"), *rows)


def prompt_table(counted: dict[tuple[str, str], Share]) -> list[str]:
    """Write Markdown rows: each prompt of the technique `prompting`, and how often it is obeyed, by kind of document."""
    kinds = ("gold", "conflicting", "irrelevant", "off_topic")
    by_kind = {key: [counted.get((f"prompt {key}: {kind}", "the technique's")) for kind in kinds] for key in prompt_ids(QA)}
    rows = [(key, PROMPTS[key], *map(_written, shown)) for key, shown in by_kind.items() if any(shown)]
    return markdown(("prompt", "text", *kinds), *rows)


def _written(share: Share | None) -> str:
    return "–" if share is None else share.written()
