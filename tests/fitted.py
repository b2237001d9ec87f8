"""Fits for tests: every installed explainer that has parameters, fitted to a model on one prompt."""

from heval_core.lm.clean_pass import CleanPass
from heval_core.lm.fits import Fit
from heval_core.plugins import catalogue
from tests.asked import runner_ups


def fit_of(explainer, lm, observed, questions=(), about=""):
    array = explainer.fitted(observed)
    parameters = tuple(float(value) for value in array.ravel())
    return Fit(explainer.key, repr(explainer), lm.key, lm.revision, about, questions, array.shape, parameters)


def fit_all(lm, prompts):
    """Give a model a fit of each explainer that needs one, unless it has it."""
    given = {fit.identity for fit in lm.fits.given}
    for explainer in filter(catalogue.needs_fit, catalogue.explainers().values()):
        if (lm.key, lm.revision, repr(explainer)) not in given:
            clean = CleanPass(lm, prompts)
            lm.fits.give([fit_of(explainer, lm, explainer.observed(clean, runner_ups(clean)))])
