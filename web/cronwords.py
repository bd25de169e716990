"""How does a cron expression read? The usual ones in words; the others as they are."""

import re

_DAYS = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")
_SHORT = {name[:3].lower(): index for index, name in enumerate(_DAYS)}


def in_words(cron: str) -> str:
    """`0 22 * * 1-5` is "Monday to Friday at 22:00"."""
    fields = cron.split()
    if len(fields) != 5:
        return cron
    minute, hour, day, month, weekday = fields
    if month != "*":
        return cron
    if (minute, hour, day, weekday) == ("*",) * 4:
        return "every minute"
    if (hour, day, weekday) == ("*",) * 3:
        if step := re.fullmatch(r"\*/(\d+)", minute):
            return f"every {step[1]} minutes"
        return f"every hour at :{int(minute):02}" if minute.isdecimal() else cron
    if not (minute.isdecimal() and hour.isdecimal()):
        return cron
    at = f"at {int(hour):02}:{int(minute):02}"
    if (day, weekday) == ("*", "*"):
        return f"every day {at}"
    if day.isdecimal() and weekday == "*":
        return f"on day {int(day)} of the month {at}"
    if day == "*" and (days := _days(weekday)):
        return f"{days} {at}"
    return cron


def _days(field: str) -> str | None:
    if span := re.fullmatch(r"(\w+)-(\w+)", field):
        first, last = _day(span[1]), _day(span[2])
        return f"{first} to {last}" if first and last else None
    names = [_day(part) for part in field.split(",")]
    return None if None in names else " and ".join(filter(None, [", ".join(filter(None, names[:-1])), names[-1]]))


def _day(word: str) -> str | None:
    if word.isdecimal():
        return _DAYS[int(word) % 7] if int(word) <= 7 else None
    index = _SHORT.get(word.lower())
    return None if index is None else _DAYS[index]
