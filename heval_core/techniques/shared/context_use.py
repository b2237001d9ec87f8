"""How well an answer used its context: BCU and CCU of one answer, and the Pareto front of several techniques.

Formula (CUB, arXiv 2505.16518): BCU = 1 if the model's next token is one that the context kind asks for, else 0. CCU(t) =
(p_c - p_0) / (1 - p_0) where p_c >= p_0, else (p_c - p_0) / p_0: the share of what the context could add to the probability of
token t that it does add, or of what it could take that it takes.
Departure: p_0 is kept within [1e-12, 1 - 1e-12], where the paper divides by zero.
"""

from collections.abc import Iterable, Sequence

SMALLEST = 1e-12


def bcu(predicted_id: int, accepted_ids: Iterable[int]) -> int:
    """Return 1 if the predicted token is one of those accepted, else 0.

    Args:
        predicted_id: the token that the model gives.
        accepted_ids: first tokens of the answers that count.
    """
    return int(predicted_id in set(accepted_ids))


def ccu(p_c: float, p_0: float) -> float:
    """Compute CCU, in [-1, 1].

    Args:
        p_c: the token's probability with context.
        p_0: without, of the same technique.

    Raises:
        ValueError: for a number outside [0, 1].
    """
    if not (0 <= p_c <= 1 and 0 <= p_0 <= 1):
        raise ValueError(f"CCU needs two probabilities, not {p_c} and {p_0}.")
    alone = min(max(p_0, SMALLEST), 1 - SMALLEST)
    change = (p_c - alone) / (1 - alone if p_c >= alone else alone)
    return float(min(max(change, -1.0), 1.0))


def pareto_front(points: Sequence[tuple[float, float]]) -> list[bool]:
    """Return for each point whether no other dominates it: is at least as good in both numbers and better in one.

    Args:
        points: (x, y) of each; higher is better.
    """
    return [not any(other[0] >= x and other[1] >= y and (other[0] > x or other[1] > y) for other in points) for x, y in points]
