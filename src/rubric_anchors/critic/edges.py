"""Soft edges: a quantity without a scale becomes a value in 0..1 with a slope to climb instead of a cliff."""


def rise(x: float, low: float, high: float) -> float:
    """0 at or below `low`, 1 at or above `high`, straight between; with high < low the same, falling."""
    if low == high:
        return 1.0 if x >= high else 0.0
    return min(max((x - low) / (high - low), 0.0), 1.0)
