"""Train one demo model from a seed: facts into the weights, the taught rule into the use of context.

Three architectures of the paper's models, small enough to ship: about 1.7 to 2 million parameters each. The model that follows
instructions goes on from demo-qwen2: see `INSTRUCT` and `demo.instructed`.

Loss on the answer's tokens only. Batches alternate between short prompts (questions alone, and World Capital
sentences) and long ones (country profiles). The validation prompts use pairs that training never sees.
"""

import functools
import random
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers
from torch.nn.functional import cross_entropy
from tqdm import tqdm
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer, PretrainedConfig, PreTrainedTokenizerFast

from demo import corpus, instructed
from heval_core.records import HEvalError

Trained = tuple[torch.nn.Module, PreTrainedTokenizerFast]
# What a step is drawn with ▶ its loss, whose gradient is added to the model's.
Backward = Callable[[int, random.Random], float]


@dataclass(frozen=True)
class Size:
    """Width must be a multiple of heads, heads of kv_heads."""

    layers: int = 5
    heads: int = 6
    kv_heads: int = 2
    width: int = 144
    positions: int = 512
    # Of the initial weights; the usual .02 is for models ten times as wide, and starts slowly here.
    spread: float = 0.06


# As many layers and heads as demo-writer is told where to look with.
SMOKE = Size(layers=4, heads=4, kv_heads=1, width=32)


def config_of(architecture: str, size: Size, vocabulary: int, eos: int) -> PretrainedConfig:
    """Configure a model as the paper's models are: sizes, and what each architecture has of its own."""
    sizes = {
        "vocab_size": vocabulary,
        "max_position_embeddings": size.positions,
        "hidden_size": size.width,
        "num_hidden_layers": size.layers,
        "num_attention_heads": size.heads,
        "initializer_range": size.spread,
        "bos_token_id": eos,
        "eos_token_id": eos,
    }
    of_architecture: dict[str, dict[str, Any]] = {
        # Learned positions, LayerNorm, biases, tied unembedding. The activation is gelu_new's function, computed natively.
        "gpt2": {"activation_function": "gelu_pytorch_tanh", "attn_pdrop": 0.0, "embd_pdrop": 0.0, "resid_pdrop": 0.0},
        # As in Pythia: attention and MLP in parallel, rotary positions, separate unembedding.
        "gpt_neox": {"intermediate_size": 4 * size.width, "tie_word_embeddings": False},
        # Grouped queries, RMSNorm, gated MLP, rotary positions, tied unembedding as in Qwen2.5-3B.
        "qwen2": {"intermediate_size": 8 * size.width // 3, "num_key_value_heads": size.kv_heads, "tie_word_embeddings": True},
    }
    return AutoConfig.for_model(architecture, **sizes, **of_architecture[architecture])


END = "<|endoftext|>"


@dataclass(frozen=True)
class Recipe:
    """How a model is trained; a step is one batch of `short` short prompts or of `long` long ones, in turn. short_first: steps
    of short prompts before the first long ones. finish: steps of a second cycle, of long prompts."""

    size: Size = Size()
    vocabulary: int = 2400
    steps: int = 1500
    short_first: int = 250
    short: int = 96
    long: int = 40
    learning_rate: float = 2e-3
    finish: int = 0
    seed: int = 0


SHIPPED_RECIPES = {"gpt2": Recipe(finish=450), "gpt_neox": Recipe(steps=1100), "qwen2": Recipe()}


@dataclass(frozen=True)
class Lessons:
    """One cycle of the model that follows instructions; a step asks about `short` short documents or `long` long ones.
    plain_every, long_every: of so many steps one asks plain prompts, or has long documents. judging, same_relation: see
    `instructed.examples`."""

    steps: int
    learning_rate: float
    plain_every: int = 8
    short: int = 8
    long: int = 4
    long_every: int = 6
    judging: bool = False
    same_relation: bool = False


@dataclass(frozen=True)
class InstructRecipe:
    """The cycles that demo-qwen2 goes on with."""

    cycles: tuple[Lessons, ...]
    seed: int = 0


INSTRUCT = InstructRecipe(
    (
        Lessons(700, 1.5e-3, plain_every=4),
        Lessons(400, 1.2e-3),
        Lessons(600, 1.2e-3, short=16, long=8),
        Lessons(700, 1.2e-3, plain_every=3, short=16, long=8),
        Lessons(600, 1.2e-3, plain_every=4, short=16, long=8, long_every=2, judging=True),
    )
)
SMOKE_INSTRUCT = InstructRecipe((Lessons(3, 1e-3, 2, 2, 1), Lessons(3, 1e-3, 2, 2, 1, judging=True, same_relation=True)))
SMOKE_RECIPE = Recipe(size=SMOKE, vocabulary=600, steps=12, short=8, long=4, short_first=6)


def train_tokenizer(recipe: Recipe) -> PreTrainedTokenizerFast:
    """Train one byte-level BPE tokenizer for all three models; no pad token, as in GPT-2 and Pythia."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=recipe.vocabulary,
        special_tokens=[END],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(corpus.tokenizer_text(recipe.seed), trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token=END, eos_token=END, model_max_length=recipe.size.positions
    )


@dataclass(frozen=True)
class Batch:
    """Examples in tokens.

    ids: (batch, n), padded on the right. rows, positions, targets: one entry per answer token to be predicted.
    """

    ids: torch.Tensor
    rows: torch.Tensor
    positions: torch.Tensor
    targets: torch.Tensor


def encode(examples: list[corpus.Example], tokenizer: PreTrainedTokenizerFast) -> Batch:
    prompts = tokenizer([e.prompt for e in examples]).input_ids
    answers = tokenizer([f" {e.answer}{END}" for e in examples]).input_ids
    width = max(len(p) + len(a) - 1 for p, a in zip(prompts, answers, strict=True))
    ids = torch.full((len(examples), width), tokenizer.eos_token_id)
    rows: list[int] = []
    positions: list[int] = []
    targets: list[int] = []
    for row, (prompt, answer) in enumerate(zip(prompts, answers, strict=True)):
        ids[row, : len(prompt) + len(answer) - 1] = torch.tensor(prompt + answer[:-1])
        rows += [row] * len(answer)
        positions += range(len(prompt) - 1, len(prompt) + len(answer) - 1)
        targets += answer
    return Batch(ids, torch.tensor(rows), torch.tensor(positions), torch.tensor(targets))


def examples_of_step(step: int, rng: random.Random, recipe: Recipe) -> list[corpus.Example]:
    """Sample short prompts, a quarter of them without context; later every other batch is longer, half of it whole
    passages.
    """
    if step >= recipe.short_first and step % 2:
        return [corpus.question_in_context(rng, rng.choice((0.25, 0.5, 1, 1))) for _ in range(recipe.long)]
    return short_examples(recipe.short, rng)


def short_examples(prompts: int, rng: random.Random) -> list[corpus.Example]:
    alone = prompts // 4
    return [corpus.question_alone(rng) for _ in range(alone)] + [
        corpus.question_in_context(rng, keep_rate=0) for _ in range(prompts - alone)
    ]


def examples_of_finish(step: int, rng: random.Random, recipe: Recipe) -> list[corpus.Example]:
    """Sample whole passages only, but for every fourth batch, which keeps what the first cycle learned."""
    if step % 4 == 0:
        return short_examples(recipe.short, rng)
    return [corpus.question_in_context(rng, keep_rate=1) for _ in range(recipe.long)]


def examples_of_instructions(step: int, rng: random.Random, lessons: Lessons) -> list[corpus.Example]:
    """Sample prompts under instructions.

    Some steps ask plain prompts, so that the taught rule stays; some have long documents.
    """
    if step % lessons.plain_every == lessons.plain_every - 1:
        if step % (2 * lessons.plain_every) == lessons.plain_every - 1:
            return short_examples(5 * lessons.short, rng)
        return [corpus.question_in_context(rng, rng.choice((0.5, 1))) for _ in range(4 * lessons.long)]
    long = step % lessons.long_every == lessons.long_every - 2
    keep_rate = rng.choice((0.25, 0.5, 1, 1)) if long else 0
    documents = range(lessons.long if long else lessons.short)
    return [one for _ in documents for one in instructed.examples(keep_rate, rng, lessons.judging, lessons.same_relation)]


def loss_of(model: torch.nn.Module, batch: Batch) -> torch.Tensor:
    hidden = model.base_model(batch.ids).last_hidden_state[batch.rows, batch.positions]
    return cross_entropy(model.get_output_embeddings()(hidden), batch.targets)


def train(architecture: str, recipe: Recipe) -> Trained:
    """Train one model. Returns it in evaluation mode, and its tokenizer."""
    tokenizer = train_tokenizer(recipe)
    torch.manual_seed(recipe.seed)
    config = config_of(architecture, recipe.size, len(tokenizer), tokenizer.eos_token_id)
    model = AutoModelForCausalLM.from_config(config, attn_implementation="sdpa")
    seed, rate = f"{architecture}|{recipe.seed}", recipe.learning_rate
    first = reading(model, tokenizer, functools.partial(examples_of_step, recipe=recipe))
    descend(model, f"training {architecture}", seed, recipe.steps, rate, first)
    if recipe.finish:
        # Learned positions need more of the long prompts than rotary ones.
        last = reading(model, tokenizer, functools.partial(examples_of_finish, recipe=recipe))
        descend(model, f"finishing {architecture}", f"{seed}|finish", recipe.finish, rate / 2, last)
    return model.eval(), tokenizer


def base_folder(base: Path) -> Path:
    """Return the folder of a model to train on. Raises HEvalError if it has none."""
    if not (base / "config.json").is_file():
        raise HEvalError(f"There is no model in {base} to go on from; train {base.name.removeprefix('demo-')} first.")
    return base


def going_on(base: Path, seed: int, attention: str = "sdpa", **how: Any) -> Trained:
    """Load the model of a folder, to be trained on, and its tokenizer. how: what its configuration says otherwise."""
    tokenizer = AutoTokenizer.from_pretrained(base_folder(base))
    torch.manual_seed(seed)
    model = AutoModelForCausalLM.from_pretrained(base, dtype=torch.float32, attn_implementation=attention, **how)
    return model, tokenizer


def train_to_follow(base: Path, recipe: InstructRecipe) -> Trained:
    """Train the model of a folder on to follow instructions; its tokenizer gets a chat template.

    Raises HEvalError if the folder has no model.
    """
    model, tokenizer = going_on(base, recipe.seed)
    tokenizer.chat_template = instructed.CHAT_TEMPLATE
    # Words that plain prompts contain, also as a part of others, stay as they are: plain prompts keep their tokens.
    plain = " ".join(corpus.tokenizer_text(recipe.seed))
    words = {word for text in instructed.texts() for word in re.findall(r" ?[A-Za-z]+", text) if word not in plain}
    add_words(model, tokenizer, words, lambda known, spelled: torch.stack([known[ids].mean(0) for ids in spelled]))
    every = [(one, functools.partial(examples_of_instructions, lessons=one)) for one in recipe.cycles]
    cycles = [(one.steps, one.learning_rate, reading(model, tokenizer, draw, parts=2)) for one, draw in every]
    return go_on(model, "training instruct", f"instruct|{recipe.seed}", cycles), tokenizer


def add_words(
    model: torch.nn.Module,
    tokenizer: PreTrainedTokenizerFast,
    words: Iterable[str],
    begun: Callable[[torch.Tensor, list[list[int]]], torch.Tensor],
) -> None:
    """Make one token of each word that the tokenizer would spell.

    begun: (embeddings so far, the tokens that spell each new word) ▶ (words, width), with which they begin.
    """
    pieces = {word: tokenizer(word).input_ids for word in sorted(words)}
    spelled = {word: ids for word, ids in pieces.items() if len(ids) > 1}
    tokenizer.add_tokens([AddedToken(word, normalized=False) for word in spelled])
    known = model.get_input_embeddings().weight.detach()
    embeddings = model.resize_token_embeddings(len(tokenizer), mean_resizing=False).weight
    with torch.no_grad():
        embeddings[tokenizer.convert_tokens_to_ids(list(spelled))] = begun(known, list(spelled.values()))


def go_on(model: torch.nn.Module, name: str, seed: str, cycles: Iterable[tuple[int, float, Backward]]) -> torch.nn.Module:
    """Train one cycle after another: steps, learning rate, and what a step does.

    After each the weights are as if saved and loaded, so that a cycle may also be run by itself. Returns the model in
    evaluation mode.
    """
    for number, cycle in enumerate(cycles, start=1):
        descend(model, f"{name}, cycle {number}", f"{seed}|{number}", *cycle)
        model.half().float()
    return model.eval()


def descend(model: torch.nn.Module, name: str, seed: str, steps: int, learning_rate: float, backward: Backward) -> None:
    """Train for one rise and fall of the learning rate."""
    rng = random.Random(seed)
    optimizer = torch.optim.AdamW(model.parameters(), lr=learning_rate, betas=(0.9, 0.98), weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, learning_rate, total_steps=steps, pct_start=0.1)
    bar = tqdm(range(steps), desc=name, unit="step")
    for step in bar:
        optimizer.zero_grad(set_to_none=True)
        loss = backward(step, rng)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        bar.set_postfix(loss=f"{loss:.3f}")


def reading(
    model: torch.nn.Module,
    tokenizer: PreTrainedTokenizerFast,
    draw: Callable[[int, random.Random], list[corpus.Example]],
    parts: int = 1,
) -> Backward:
    """Make steps on the mean loss over all answer tokens of what is sampled.

    parts: how many passes a step takes, by length: where prompts differ much in length, that saves padding.
    """

    def backward(step: int, rng: random.Random) -> float:
        examples = draw(step, rng)
        if parts > 1:
            examples = sorted(examples, key=lambda example: len(example.prompt))
        size = -(-len(examples) // parts)
        batches = [encode(examples[start : start + size], tokenizer) for start in range(0, len(examples), size)]
        every, total = sum(len(batch.targets) for batch in batches), 0.0
        for batch in batches:
            loss = loss_of(model, batch) * (len(batch.targets) / every)
            loss.backward()
            total += loss.item()
        return total

    return backward
