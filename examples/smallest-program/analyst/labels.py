"""Rules in place of an analyst's labels (examples/worlds/README.md)."""


def label(capability: str, turns: list[dict]) -> tuple[str, int | None, str]:
    """NA, PRESENT or LACKING; the number of the message that shows it; why."""
    answers = [turn for turn in turns if turn["role"] == "assistant"]
    if capability != "look-up-first" or not answers:
        return "NA", None, "The episode gives no occasion for it."
    if "call" in answers[0]:
        return "PRESENT", answers[0]["step"], "It looked the parcel up first."
    return "LACKING", answers[0]["step"], "It answered without a look at the parcel."
