"""Many prompts of different lengths, read at their last position; those of equal, or on a GPU similar, length run together."""

from collections.abc import Iterable, Sequence

import torch

from heval_core.lm.facts import ModelFacts
from heval_core.lm.model import LanguageModel
from heval_core.prompting.prompts import memory_prompt
from heval_core.records import TokenisedPrompt


def last_logits(lm: LanguageModel, prompts: Sequence[TokenisedPrompt]) -> list[torch.Tensor]:
    """Compute logits, (V,) float32, of each prompt's last position, in the order of the prompts."""

    def work(numbers: list[int], _: int) -> torch.Tensor:
        return lm.forward.logits(*padded(lm, [prompts[number].ids for number in numbers]))

    return lm.budget.longest_first([len(prompt.ids) for prompt in prompts], work, alike=True, padding=lm.forward.padding)


def padded(lm: ModelFacts, rows: Sequence[tuple[int, ...]]) -> tuple[torch.Tensor, torch.Tensor | None]:
    """Return ids, (b, n), each row filled up behind with its last token; and each row's last position, (b,), or None where all
    are equally long.
    """
    ends = [len(row) - 1 for row in rows]
    ids = [(*row, *row[-1:] * (max(ends) - end)) for row, end in zip(rows, ends, strict=True)]
    unequal = len(set(ends)) > 1
    return torch.tensor(ids, device=lm.device), torch.tensor(ends, device=lm.device) if unequal else None


def memory_tokens(lm: LanguageModel, questions: Iterable[str]) -> dict[str, int]:
    """Return question ▶ the model's own next token after it, without documents; questions that are too long for it
    have none.
    """
    distinct = {
        question: lm.tokenise(memory_prompt(question, lm.template), check_length=False)
        for question in dict.fromkeys(questions)
    }
    fitting = [question for question, prompt in distinct.items() if len(prompt.ids) <= lm.positions]
    next_tokens: dict[str, int] = {}
    for start in range(0, len(fitting), SOME):
        some = fitting[start : start + SOME]
        logits = last_logits(lm, [distinct[question] for question in some])
        next_tokens.update(zip(some, (int(row.argmax()) for row in logits), strict=True))
    return next_tokens


# So many prompts' logits are kept together.
SOME = 500
