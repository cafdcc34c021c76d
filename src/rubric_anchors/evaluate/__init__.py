"""Measuring: what got better and what got worse, by instruments that the reward does not use. See docs/measuring.md.

paired          differences and ratios with their intervals
verdicts        kept, not kept, not shown
measures        the instruments
preservation    perplexity on held text, multiple-choice accuracy, the standard harness
run             all of it, before against after
"""
