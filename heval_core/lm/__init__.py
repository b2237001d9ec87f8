"""The narrow interface to a causal language model; the only core package that imports torch and transformers."""
