"""What other libraries take for what they know of ten checks; run by `checks.py` in the peers' own environment.

    python benchmarks/checks_peers.py < texts.json

Reads a JSON list of texts; writes {check: {peer: milliseconds a text}} for the peers that can be imported. A peer whose
data would have to be downloaded (NLTK's sentences in lm-eval) is left out where they are not there.
"""

import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout, suppress

Peer = Callable[[str], object]


def peers() -> Iterator[tuple[str, str, Peer]]:
    """(check of ours, name of the peer, what it does)."""
    with suppress(ImportError):
        import textstat

        yield "word_count", "textstat", textstat.lexicon_count
        yield "sentence_count", "textstat", textstat.sentence_count
    with suppress(ImportError):
        from lm_eval.tasks.ifeval import instructions

        for check, kind, options in (
            ("word_count", "NumberOfWords", {"num_words": 150, "relation": "at least"}),
            ("sentence_count", "NumberOfSentences", {"num_sentences": 8, "relation": "at least"}),
            ("paragraph_count", "ParagraphChecker", {"num_paragraphs": 3}),
            ("contains", "KeywordChecker", {"keywords": ["river", "coat"]}),
        ):
            instruction = getattr(instructions, kind)("benchmark")
            instruction.build_description(**options)
            yield check, "lm-eval", instruction.check_following


def main() -> None:
    texts = json.load(sys.stdin)
    found: dict[str, dict[str, float]] = {}
    with redirect_stdout(sys.stderr):
        for check, name, decide in peers():
            try:
                decide(texts[0])
            except LookupError:
                continue
            started = time.perf_counter()
            for text in texts:
                decide(text)
            milliseconds = (time.perf_counter() - started) / len(texts) * 1000
            found.setdefault(check, {})[name] = round(milliseconds, 4)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
