"""Measuring: what got better and what got worse, by instruments that the reward does not use. See docs/measuring.md.
And what a critic is worth: how far it agrees with people. See docs/calibrate.md.

paired          differences and ratios with their intervals
verdicts        kept, not kept, not shown
measures        the instruments
preservation    perplexity on held text, multiple-choice accuracy, the standard harness
run             all of it, before against after
agreement       kappa, alpha, rank correlation, order of pairs, slopes
resample        a figure with its interval over clusters
calibration     a critic against people, as data; against_scores and against_pairs work it out
shrink          a rubric with less weight for what its critics cannot judge
"""
