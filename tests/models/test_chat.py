from rubric_anchors.models.chat import ChatTurn, NoReply, Reply, Request, Said, ScriptedChatModel


def said(*texts: str) -> Request:
    return Request(tuple(ChatTurn("user", text) for text in texts))


def test_the_first_cue_in_the_conversation_decides() -> None:
    model = ScriptedChatModel({"ping": "pong", "pin": "needle"})
    assert model.ask([said("pin it"), said("hello", "a ping")]) == [Reply("needle"), Reply("pong")]


def test_a_list_is_said_line_by_line_and_its_last_line_again() -> None:
    model = ScriptedChatModel({"go": ["one", NoReply("timeout"), "three"]})
    replies = model.ask([said("go")] * 4)
    assert replies == [Reply("one"), NoReply("timeout"), Reply("three"), Reply("three")]


def test_what_no_cue_covers_is_a_failure_unless_told_otherwise() -> None:
    [reply] = ScriptedChatModel().ask([said("anything")])
    assert isinstance(reply, NoReply)
    assert ScriptedChatModel(otherwise="yes").ask([said("anything")]) == [Reply("yes")]


def test_a_function_answers_from_the_conversation_and_calls_are_kept() -> None:
    model = ScriptedChatModel({"?": lambda turns: turns[-1].content.upper()})
    assert model.ask([said("why?")]) == [Reply("WHY?")]
    assert model.calls == [(ChatTurn("user", "why?"),)]


def test_equal_scripts_have_equal_fingerprints() -> None:
    assert ScriptedChatModel({"a": "b"}).fingerprint == ScriptedChatModel({"a": "b"}).fingerprint
    assert ScriptedChatModel({"a": "b"}).fingerprint != ScriptedChatModel({"a": ["c"]}).fingerprint


def test_a_reply_may_be_followed_up_in_its_place() -> None:
    model = ScriptedChatModel({"again": "good", "first": "bad", "other": "good"})

    def follow(at: int, said_: Said) -> Request | None:
        return said(f"again {at}") if isinstance(said_, Reply) and said_.text == "bad" else None

    assert model.ask([said("other"), said("first")], follow) == [Reply("good"), Reply("good")]
    assert [turns[0].content for turns in model.calls] == ["other", "first", "again 1"]
