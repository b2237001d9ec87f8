"""HEval: which highlight explanations tell the truth about where a language model's answer came from."""

__version__ = "0.1.0"
