"""Agents: the model judges the context, answers, judges its answer, and answers again if that was unfaithful.

Formula: a relevance agent reads question and context. If it says irrelevant, the question is answered without the context.
If not, the model answers as Regular does, and a faithfulness agent reads question, context and this answer. If it says
unfaithful, a refining call answers from the context, after two demonstrations; else the answer stays.
Reference: CUB, arXiv 2505.16518 ("Multi-agent").
Departure: the words of the calls are ours (`shared/instructions.py`). A reply is searched for "irrelevant" (or "not
relevant") before "relevant", "unfaithful" (or "not faithful") before "faithful", in any case of letters. A reply with none of
them is not guessed: its verdict is "unparsable", the context then counts as relevant and the answer as faithful, so that
the model answers as Regular does. Where fewer than one verdict in ten can be read, over at most 10 development questions of
each kind of context, this would be Regular under another name: the technique is then unavailable.
The trace is JSON, a list with one entry per call before the last: agent, reply and verdict; `unparsable` counts in it.
Cost: four passes at most, and the tokens of three replies.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from heval_core.prompting.prompts import instructed, prompt_of
from heval_core.records import HEvalError, Instance, Prompt
from heval_core.techniques.shared.base import NOTHING, Base, Development, FinalPrompt, LanguageModel, Setting
from heval_core.techniques.shared.instructions import ANSWERED, DEMONSTRATIONS, FAITHFULNESS, REFINING, RELEVANCE, family_of

UNPARSABLE = "unparsable"
# Of a reply and of an answer: long enough for a sentence around the verdict.
REPLY_TOKENS = 16
# The share of verdicts that must be readable, and how many development questions of a kind are tried for it.
READABLE, TRIED = 0.1, 10
Call = dict[str, str]


def verdict(reply: str, word: str, opposite: str) -> str:
    """Read a verdict: `word`, its opposite, or UNPARSABLE. The opposite is looked for first, because it contains the word."""
    if re.search(rf"{opposite}|\bnot {word}", reply, re.IGNORECASE):
        return opposite
    return word if re.search(word, reply, re.IGNORECASE) else UNPARSABLE


def unparsable(trace: str) -> int:
    """Count the replies of a trace that were no verdict."""
    return sum(call.get("verdict") == UNPARSABLE for call in json.loads(trace))


@dataclass(frozen=True)
class MultiAgent(Base):
    key = "multi_agent"
    title = "Agents"
    family = "calls"
    order = 9
    needs = ("instructions",)
    passes = 4.0
    preparing = 3.0  # of ten questions of each kind at most: the replies before an answer
    reference = "CUB (arXiv 2505.16518)"

    def settings(self, development: Development) -> Sequence[Setting]:
        """Return NOTHING alone: nothing is searched. Raises HEvalError for a model whose verdicts cannot be read."""
        instances = [question.instance for questions in development.questions.values() for question in questions[:TRIED]]
        traces = [final.trace or "[]" for final in self.prompts(development.lm, instances, NOTHING)]
        judged = sum("verdict" in call for trace in traces for call in json.loads(trace))
        read = judged - sum(map(unparsable, traces))
        if read < READABLE * judged:
            raise HEvalError(
                f"{development.lm.key} gives no verdicts: {read} of {judged} replies on development questions say whether the "
                "context is relevant or the answer faithful, so that it would answer as Regular does."
            )
        return (NOTHING,)

    def prompts(self, lm: LanguageModel, instances: Sequence[Instance], setting: Setting) -> list[FinalPrompt]:
        plain = [prompt_of(instance, lm.template) for instance in instances]
        replies = _replies(lm, [instructed(prompt, RELEVANCE) for prompt in plain])
        traces = [[_call("relevance", reply, verdict(reply, "relevant", "irrelevant"))] for reply in replies]
        used = [index for index, (call,) in enumerate(traces) if call["verdict"] != "irrelevant"]
        answers = _replies(lm, [plain[index] for index in used])
        judging = [_judging(instances[index], answer, lm.template) for index, answer in zip(used, answers, strict=True)]
        for index, answer, reply in zip(used, answers, _replies(lm, judging), strict=True):
            ruling = verdict(reply, "faithful", "unfaithful")
            traces[index] += [_call("answer", answer), _call("faithfulness", reply, ruling)]
        without = self.prompts_alone(lm, instances, setting)
        return [
            FinalPrompt(_final(prompt, alone, instance.dataset, trace), json.dumps(trace, ensure_ascii=False))
            for prompt, alone, instance, trace in zip(plain, without, instances, traces, strict=True)
        ]


def _replies(lm: LanguageModel, prompts: Sequence[Prompt]) -> list[str]:
    """Generate after each prompt, and return the first line."""
    ids = [lm.tokenise(prompt, check_length=False).ids for prompt in prompts]
    texts = [lm.decode(list(reply)).strip() for reply in lm.generation.greedy(ids, REPLY_TOKENS)]
    return [text.split("\n")[0].strip() for text in texts]


def _judging(instance: Instance, answer: str, template: str) -> Prompt:
    question = f"{instance.question} {ANSWERED.format(answer=answer.rstrip('.'))}"
    return instructed(prompt_of(replace(instance, question=question), template), FAITHFULNESS)


def _final(prompt: Prompt, alone: Prompt, dataset: str, trace: list[Call]) -> Prompt:
    """Return the prompt of the last call, which its trace decides."""
    last = trace[-1]["verdict"]
    if last == "unfaithful":
        return instructed(prompt, " ".join((REFINING, *DEMONSTRATIONS[family_of(dataset)])))
    return alone if last == "irrelevant" else prompt


def _call(agent: str, reply: str, ruling: str = "") -> Call:
    return {"agent": agent, "reply": reply} | ({"verdict": ruling} if ruling else {})


PLUGIN = MultiAgent()
