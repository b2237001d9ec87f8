"""Code that explainers share: an explainer imports from here, from `heval_core.lm` and from `heval_core.records`."""
