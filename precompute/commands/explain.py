"""`explain`: one prompt, by the same code as the sidebar and the batch."""

import argparse
import json
import re
from typing import Any

from heval_core.explaining.api import explain, explain_answer, methods_of
from heval_core.explaining.arguments import check_options
from heval_core.explaining.price import DEAR
from heval_core.lm.loading import load
from heval_core.records.whole_answers import GeneratedAnswer
from heval_core.texts.numbers_and_names import instead, nowhere, standing
from precompute.commands.options import Commands, add_command, add_fields, helps_of, refuse
from precompute.grid import Grid
from precompute.messages import say_progress


def add(commands: Commands) -> None:
    parser = add_command(commands, "explain", _explain, "explain one prompt")
    parser.add_argument("--model", required=True, help="a name that `models` lists, a hub id, a folder, or a GGUF file")
    parser.add_argument("--context", action="append", default=[], help="a document; give it once for each")
    parser.add_argument("--question", required=True, help="what is asked about the documents, or from memory without any")
    parser.add_argument("--memory-answer", help="what the model remembers; by default it is asked without documents")
    parser.add_argument("--context-answer", action="append", default=[], help="one per --context, in order")
    add_fields(
        parser,
        Grid,
        ("explainers", "match", "target", "template", "device", "dtype"),
        explainers=f"{helps_of(Grid)['explainers']}; of a whole answer, of these those that take under {DEAR} passes",
    )
    parser.add_argument("--generate", type=int, metavar="N", help="explain a whole answer, of at most N tokens, word by word")
    parser.add_argument("--answer-text", metavar="TEXT", help="explain this answer, word by word")
    parser.add_argument(
        "--select", metavar="WORDS", help="of a whole answer: these words, as it says them, or a word's number"
    )
    parser.add_argument(
        "--format", choices=["json", "text"], default="text", help="whether tables or one JSON object is printed"
    )
    parser.set_defaults(explainers=None)


def _explain(options: argparse.Namespace) -> int:
    whole = options.generate is not None or options.answer_text is not None
    refuse(options, ["select"], "it chooses words of a whole answer; give --generate N, or --answer-text TEXT.", not whole)
    refuse(options, ["generate"], "an answer is given, and nothing is written.", options.answer_text is not None)
    usual: dict[str, Any] = {"match": Grid.match, "target": Grid.target, "context_answer": [], "memory_answer": None}
    of_one_word = [name for name, value in usual.items() if getattr(options, name) != value]
    why = "it is about a one-word answer, which stands beside a whole one with --format json only."
    refuse(options, of_one_word, why, whole and options.format == "text")
    check_options(options.match, options.target, options.template, options.dtype)
    check_options(generate=options.generate)
    methods_of(options.explainers)  # raises before the model is loaded
    names = ("context", "question", "template")
    lm, prompt = load(options.model, options.device, options.dtype), {name: getattr(options, name) for name in names}
    result, selected = dict[str, Any](), None
    if not whole or options.format == "json":
        one_word = {name: getattr(options, name) for name in usual}
        explainers, told_to = ((), None) if whole else (options.explainers, say_progress)
        result = explain(lm, **prompt, **one_word, explainers=explainers, say=told_to).to_json()
    if whole:
        request = {"generate": options.generate, "answer": options.answer_text, "explainers": options.explainers}
        answer = explain_answer(lm, **prompt, **request, say=say_progress)
        result["generated"] = answer.to_json()["generated"]
        if options.format == "text":
            _print_answer(answer.record.generated)
        if (words := options.select) is not None:
            by_number = words.isdecimal() and words not in re.findall(r"\d+", answer.text)
            result["selection"] = selected = answer.select(int(words) if by_number else words).to_json()
    if options.format == "json":
        print(json.dumps(result, ensure_ascii=False))
    elif selected:
        _print_selection(selected)
    elif not whole:
        _print_text(result)
    return 0


def _print_answer(answer: GeneratedAnswer) -> None:
    print(f"{answer.text.strip()} ({answer.stopped})")
    for note in [*answer.notes, *(f"{key} is left out: {why}" for key, why in answer.refused.items())]:
        print(note)
    if stands := standing(answer.numbers_and_names):
        print(" ".join([stands, *(f"{instead(one)}." for one in nowhere(answer.numbers_and_names))]))
    for sentence in answer.sentences:
        cited = ", ".join(f"document {entry.document} ({entry.nats:.1f} nats)" for entry in sentence.citations or ())
        print(f"\n{sentence.text.strip()} [{cited or 'no single document'}]")
        for word in filter(sentence.holds, answer.words):
            print(f"  {word.text.strip():24}{word.source:14}{word.nats:8.2f} nats")


def _print_selection(selected: dict[str, Any]) -> None:
    """Print what a selection rests on, and whether that is true of the model, in the words of the page."""
    print(f"\nselected: {selected['text'].strip()}: {selected['source']}, {selected['nats']:.2f} nats")
    points, stands, beats = (selected["verdict"].get(name) for name in ("points", "stands", "beats"))
    if points and stands and beats:
        word = {True: "yes", False: "no", None: "there is nothing to compare with"}
        print("  {agree} of {of} methods point at document {document}, sentence {sentence}".format(**points))
        changes = "it changes when that is deleted, more than twice as often as without others"
        print(f"  {changes}: {word[stands['holds']]} ({stands['nats']:.2f} nats)")
        print(f"  it costs more than any other sentence of its document: {word[beats['holds']]}")


def _print_text(result: dict[str, Any]) -> None:
    answer, methods = result["answer"], result["explainers"]
    print(f"answer {answer['text'].strip()!r} (p = {answer['probability']:.2f}, group {answer['group']})")
    if result["target"] == "context":
        print(f"the explanations are of {result['target_text'].strip()!r}, the first document's answer, not of the given one")
    for note in [*result["notes"], *(f"{key} is left out: {why}" for key, why in result["refused"].items())]:
        print(note)
    for key in methods:
        if "head" in methods[key]:
            print(f"{key} reads head {methods[key]['head']}")
    print(f"{'token':20}" + "".join(f"{key:>12}" for key in methods))
    for index in range(result["first_ranked"], result["ranked_end"]):  # others are never ranked
        print(f"{result['tokens'][index]!r:20}" + "".join(f"{methods[key]['normalised'][index]:12.4f}" for key in methods))
