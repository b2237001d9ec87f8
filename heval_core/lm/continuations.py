"""How likely a model finds a text that is already written, token by token, after other prompts than its own."""

from collections.abc import Sequence

import torch

from heval_core.lm.forward import Prefix
from heval_core.lm.model import LanguageModel

# So many positions are read out together: with a vocabulary of 152,000 that is 150 MB.
READ_TOGETHER = 256


# The ids of a prompt and of the text after it, and where the text begins, from 1.
Text = tuple[tuple[int, ...], int]


def token_logprobs(lm: LanguageModel, texts: Sequence[Text]) -> list[torch.Tensor]:
    """Compute log p of each text's tokens, each given all before it: (len(ids) - start,) float32 on the CPU for each text.

    Texts of any lengths run together, within the budget of tokens: they are padded behind, where no token looks. Only the
    text's own positions are read out. Raises HEvalError if a value is not finite, and NotEnoughMemory.
    """
    lengths = [len(ids) for ids, _ in texts]
    return lm.budget.longest_first(lengths, lambda batch, width: _batch(lm, [texts[index] for index in batch], width))


@torch.no_grad()
def _batch(lm: LanguageModel, texts: list[Text], width: int) -> list[torch.Tensor]:
    rows = [(*ids, *[ids[-1]] * (width - len(ids))) for ids, _ in texts]
    first, last = min(start for _, start in texts) - 1, max(len(ids) for ids, _ in texts) - 1
    if last <= first:
        return [torch.zeros(0) for _ in texts]
    ids = torch.tensor(rows, device=lm.device)
    none = Prefix((), torch.empty(0))
    states = lm.forward.suffix_states(none, 0, ids, range(first, last))
    text_states = [states[row, start - 1 - first : len(token_ids) - 1 - first] for row, (token_ids, start) in enumerate(texts)]
    expected = torch.cat([ids[row, start : len(token_ids)] for row, (token_ids, start) in enumerate(texts)])
    pieces = zip(torch.cat(text_states).split(READ_TOGETHER), expected.split(READ_TOGETHER), strict=True)
    read = ((lm.read_out.logits(piece), tokens) for piece, tokens in pieces)
    values = torch.cat([logits.gather(-1, tokens[:, None])[:, 0] - logits.logsumexp(-1) for logits, tokens in read]).cpu()
    return list(lm.forward.checked(values).split([len(piece) for piece in text_states]))
