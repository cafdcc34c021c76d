from hypothesis import given, settings
from tests.rubric.strategies import rubrics

from rubric_anchors.rubric.dump import dump_rubric
from rubric_anchors.rubric.load import parse_rubric
from rubric_anchors.rubric.model import Rubric

PLAIN = """\
schema: 1
id: plain
title: Plain voice
tags: [writing]
provenance: {author: A. Writer}
criteria:
  - key: detail
    ask: Concrete detail carries it.
    weight: 2
    critic: exemplar
    tiers:
      - means: None.
        anchors:
          - Believe in yourself.
      - means: Much.
        anchors:
          - |-
            The kettle ticked.
            Rain on the tin.
  - key: length
    ask: It is 60 to 120 words long.
    critic: {check: word_count, with: {min: 60, max: 120}}
    veto: {below: 0.5}
  - key: warmth
    ask: It is warm.
    weight: -0.5
    critic: judge
    tiers:
      - means: Cold.
        value: 0.2
      - means: "No"
        value: 1
relations:
  - {saturate: {key: detail, beyond: 0.8}}
  - {interact: {keys: [detail, length], kind: gate}}
reward: {shape: {kind: stretch}}
"""


@given(rubrics())
@settings(max_examples=100, deadline=None)
def test_a_dumped_rubric_loads_back_equal(rubric: Rubric) -> None:
    text = dump_rubric(rubric)
    back = parse_rubric(text)
    assert back == rubric
    assert back.content_id == rubric.content_id
    assert dump_rubric(back) == text


def test_a_dump_reads_like_a_file_that_a_person_wrote() -> None:
    assert dump_rubric(parse_rubric(PLAIN)) == PLAIN
