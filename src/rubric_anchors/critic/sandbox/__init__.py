"""Runs strangers' programs apart: what they may use, how they are kept in, and how tests talk to them."""

from rubric_anchors.critic.sandbox.isolation import Isolation, Limits, strongest
from rubric_anchors.critic.sandbox.trial import Trial, run_script, run_tests

__all__ = ["Isolation", "Limits", "Trial", "run_script", "run_tests", "strongest"]
