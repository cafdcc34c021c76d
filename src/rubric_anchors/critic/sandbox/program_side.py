"""The process of the program: defines what the answer defines and answers calls. Runs after the source of `wire.py`.

Nothing here is trusted by the other side: the program can rewrite all of it, and all that it can send is a result.
"""

import os
import socket
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rubric_anchors.critic.sandbox.wire import Encoder, decode, receive, send


def reply_to(space: dict[str, Any], message: dict[str, Any]) -> dict[str, Any]:
    arguments = [decode(item) for item in message["args"]]
    named = {name: decode(item) for name, item in message["named"].items()}
    try:
        result = space[message["call"]](*arguments, **named)
        return {
            "value": Encoder(things=True).encode(result),
            "args": [Encoder(things=True).encode(item) for item in arguments],
        }
    except BaseException as error:  # noqa: BLE001  # whatever a program raises is its answer to the call
        return {"raised": type(error).__name__, "said": str(error)[:200]}


def main() -> None:
    channel, most = socket.socket(fileno=int(sys.argv[1])), int(sys.argv[2])
    nothing = os.open("/dev/null", os.O_RDWR)
    for handle in (0, 1, 2):
        os.dup2(nothing, handle)
    space: dict[str, Any] = {"__name__": "answer"}
    try:
        exec(compile(receive(channel, most)["source"], "answer.py", "exec"), space)  # noqa: S102  # what this is for
    except BaseException as error:  # noqa: BLE001  # SystemExit too
        send(channel, {"raised": type(error).__name__, "said": str(error)[:200]}, most)
        return
    send(channel, {"names": [name for name, thing in list(space.items()) if callable(thing)]}, most)
    while True:
        reply = reply_to(space, receive(channel, most))
        try:
            send(channel, reply, most)
        except Exception as error:  # noqa: BLE001  # too large to be sent, or not JSON
            send(channel, {"raised": "CannotCross", "said": str(error)[:200]}, most)


if __name__ == "__main__":
    main()
