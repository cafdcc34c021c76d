"""A stranger's text as a model is shown it: nothing in it is a token of a chat template, breaks a request or hides.

Every character stays one character, so a place in what is shown is the same place in the text as it came.
"""

from typing import Final

import regex

SPECIAL: Final = regex.compile(
    r"<[|｜](?:[^|｜<>\s]{1,40})[|｜]>|\[/?(?:INST|THINK|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS)\]|<</?SYS>>"
    r"|</?(?:s|bos|eos|pad|unk|start_of_turn|end_of_turn|think|tool_call|tool_response)>|◁/?think▷"
)
"""What tokenizers of chat models read as a mark of theirs, wherever it stands."""
# A flag of a region is a black flag with tag letters up to a cancelling tag; tags elsewhere show as nothing.
TAGS: Final = regex.compile("(?<!\U0001f3f4[\U000e0020-\U000e007e]{0,8})[\U000e0000-\U000e007f]")
_BROKEN = regex.compile("[\ud800-\udfff]")
_TAMED: Final = str.maketrans("<>[]|｜◁▷", "‹›⟦⟧¦¦◃▹")


def shown(text: str) -> str:
    """`text` with marks of chat templates made harmless (`<|im_end|>` is shown as `‹¦im_end¦›`), NUL as `␀`, half
    surrogates and hidden tag characters as `\\ufffd`. The same length as `text`."""
    tamed: str = SPECIAL.sub(lambda found: found[0].translate(_TAMED), text)
    if tamed.isascii() and "\0" not in tamed:
        return tamed
    whole: str = TAGS.sub("\ufffd", _BROKEN.sub("\ufffd", tamed))
    return whole.replace("\0", "␀")
