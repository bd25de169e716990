"""What does a process say while it works, and in which form? JSON lines for services, plain lines for people; never a secret.

Everything goes through the standard library's logging, whoever logs: our own modules, uvicorn, DBOS, SQLAlchemy. Values that were bound
(`structlog.contextvars.bind_contextvars(campaign=7, trial=3)`) stand in every line of that thread or task.
"""

import logging
import logging.config
import re
import sys
from collections.abc import Mapping
from typing import Any

import structlog
from structlog.typing import EventDict, Processor, WrappedLogger

#: Names whose values are secrets, wherever they appear.
_SECRET_NAME = re.compile(r"(password|passwd|secret|token|authorization|cookie|csrf|api_?key|database_url|smtp_url)$", re.IGNORECASE)
_HIDDEN = "[hidden]"
_IN_TEXT = (
    # user:password@host in any URL
    (re.compile(r"(?P<keep>[a-z][a-z0-9+.-]*://[^\s:/@]*:)[^\s@/]+(?=@)", re.IGNORECASE), rf"\g<keep>{_HIDDEN}"),
    # Authorization: Bearer ..., and a bare "Bearer ..."
    (re.compile(r"(?P<keep>\b(?:bearer|basic)\s+)[A-Za-z0-9._~+/=-]{8,}", re.IGNORECASE), rf"\g<keep>{_HIDDEN}"),
    # password=..., "token": "...", client_secret=...
    (
        re.compile(
            r"(?P<keep>\b[\w-]*(?:password|passwd|secret|token|cookie|csrf|api_?key)[\"']?\s*[=:]\s*)(?:\"[^\"]*\"|'[^']*'|[^\s,;&\"'\]})]+)",
            re.IGNORECASE,
        ),
        rf"\g<keep>{_HIDDEN}",
    ),
)
#: Loggers that say more than anybody wants to know, and the least that they may say.
_LEVELS = {
    "alembic": logging.WARNING,
    "dbos": logging.WARNING,
    "httpcore": logging.WARNING,
    "httpx": logging.WARNING,
    "matplotlib": logging.WARNING,
    "uvicorn.access": logging.WARNING,  # the API logs its requests itself, with their ids
}


#: What libraries put into every line and nobody reads.
_NOISE = ("color_message", "applicationID", "applicationVersion", "executorID")


def configure(service: bool, level: int = logging.INFO) -> None:
    """Send everything that is logged to standard error: as JSON lines for a service, as plain lines otherwise."""
    shared: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_logger_name,
        structlog.stdlib.add_log_level,
        structlog.stdlib.ExtraAdder(),
        structlog.processors.TimeStamper(fmt="iso", utc=True, key="time"),
        structlog.processors.format_exc_info,
        _tidied,
        hide_secrets,
    ]
    end: list[Processor] = [structlog.stdlib.ProcessorFormatter.remove_processors_meta]
    if service:
        end += [_renamed, structlog.processors.JSONRenderer(default=str, ensure_ascii=False)]
    else:
        end.append(_plain)
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(structlog.stdlib.ProcessorFormatter(foreign_pre_chain=shared, processors=end))
    root = logging.getLogger()
    for old in root.handlers[:]:
        root.removeHandler(old)
    root.addHandler(handler)
    root.setLevel(level)
    for name in [*logging.root.manager.loggerDict]:
        # Handlers that libraries put on their own loggers would print the same line twice, in another form.
        logger = logging.getLogger(name)
        if logger.handlers and name.partition(".")[0] in {"uvicorn", "dbos"}:
            logger.handlers.clear()
            logger.propagate = True
    for name, least in _LEVELS.items():
        logging.getLogger(name).setLevel(max(level, least))
    logging.captureWarnings(True)
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            structlog.stdlib.PositionalArgumentsFormatter(),
            *(each for each in shared if not isinstance(each, structlog.stdlib.ExtraAdder)),
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=False,
    )


def _tidied(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    """What a person looks for first comes first; what only repeats itself goes."""
    first = {key: event.pop(key) for key in ("time", "level", "logger", "event") if key in event}
    for name in _NOISE:
        event.pop(name, None)
    return {**first, **event}


def _renamed(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    return {"message" if key == "event" else key: value for key, value in event.items()}


def hide_secrets(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    """A structlog processor: passwords, tokens and database URLs leave no trace, wherever in the line they stand."""
    return {key: _hidden(key, value) for key, value in event.items()}


def redacted(text: str) -> str:
    """The text without what looks like a secret."""
    for pattern, replacement in _IN_TEXT:
        text = pattern.sub(replacement, text)
    return text


def _hidden(key: str, value: Any) -> Any:
    if key.startswith("_"):
        return value  # structlog's own
    match value:
        case _ if _SECRET_NAME.search(key) and value not in (None, ""):
            return _HIDDEN
        case str():
            return redacted(value)
        case Mapping():
            return {each: _hidden(str(each), item) for each, item in value.items()}
        case list() | tuple():
            return [_hidden("", item) for item in value]
        case _:
            return value


def _plain(_logger: WrappedLogger, _method: str, event: EventDict) -> str:
    """A line for people: the time of day, the message, then what is known beside it."""
    rest = dict(event)
    when, level, said = str(rest.pop("time", ""))[11:19], str(rest.pop("level", "")), rest.pop("event", "")
    trace = rest.pop("exception", "")
    rest.pop("logger", None)
    beside = " ".join(f"{key}={value}" for key, value in rest.items())
    line = " ".join(part for part in (when, "" if level == "info" else f"{level}:", str(said), beside) if part)
    return f"{line}\n{trace}" if trace else line
