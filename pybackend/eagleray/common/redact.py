"""Redacts secrets in environments, commands and texts before they reach a view, a message, a log or a report.

A value is a secret if its name says so (`HF_TOKEN=…`, `--api-key …`, `Authorization: …`, `user:…@host`), or if it has
the form of a well-known access token.  Names that only look alike stay readable: `--tokenizer`, `max_tokens=512`,
`--pass-through`, `key_dim=64`, `author=`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

HIDDEN = "…"

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
# At any position in a name.
_ANYWHERE = re.compile(r"secret|password|passwrd|passwd|passphrase|credential|authorization")
_KEY_OR_TOKEN = re.compile(r"(?:key|token)(?:s|id|ids|file|files)?")
# Only as the last word of a name, or before a word such as "value".
_LAST = {"pass", "pwd", "pat", "auth", "cookie", "cookies", "dsn", "jwt", "bearer"}
_VALUE = {"header", "headers", "value", "values", "string", "data", "info"}
_NO_SECRET = {"error", "exception", "interrupt", "warning"}
# "prompt_key=question" names a column, "key_dim" measures the keys of attention.
_BEFORE_KEY = {
    *("answer", "audio", "chosen", "column", "fn", "group", "image", "images", "input", "label"),
    *("messages", "metric", "output", "prompt", "question", "rejected", "response", "reward"),
    *("sort", "text", "video", "videos"),
}
# "eos_token=</s>" is a piece of text, "ms_per_token" a measure.
_BEFORE_TOKEN = {
    *(
        "added",
        "additional",
        "audio",
        "bos",
        "cls",
        "completion",
        "draft",
        "end",
        "eos",
        "first",
        "image",
    ),
    *(
        "input",
        "last",
        "mask",
        "new",
        "next",
        "output",
        "pad",
        "per",
        "placeholder",
        "prompt",
        "response",
    ),
    *("sep", "special", "start", "stop", "unk", "video"),
}
# "--max-num-batched-tokens above 8192", "num_scheduled_tokens={22: 50}".
_COUNTS = {"max", "min", "num", "total"}
_AFTER_KEY = {
    *("bias", "column", "dim", "dims", "heads", "index", "len", "length", "mask", "norm"),
    *("padding", "proj", "projection", "size", "type"),
}
_PLAIN = re.compile(r"|true|false|none|null|yes|no|on|off|auto", re.IGNORECASE)
_NUMBER = re.compile(r"[\d.,eE+_-]+")
# `--pass 2` is a count; a password with so few digits protects nothing.
_SHORT_NUMBER = 3

_HINT = "KEY|TOKEN|SECRET|PASS|PWD|CREDENTIAL|AUTH|COOKIE|DSN|PAT|JWT|BEARER"
# The name of a possible secret, quoted or not, then `=` or `:`.  A name is tried only at its beginning and is
# bounded, so that long lines cost no more than their length.
_NAMED = re.compile(
    rf"""(?P<before>(?<![A-Za-z0-9_.?&-])["']?[+~]{{0,2}})
        (?P<name>[A-Za-z0-9_.-]{{0,96}}(?:{_HINT})[A-Za-z0-9_.-]{{0,64}})
        (?P<between>\\?["']?\]?[ \t]{{0,4}}[=:][ \t]{{0,4}})""",
    re.IGNORECASE | re.VERBOSE,
)
# Its value, quoted or up to white space; up to the closing quote where name and value are quoted together.  A line that
# was cut has no closing quote.
_NAMED_VALUE = re.compile(
    r""" "(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|\\["'][^"'\\\n]*\\["']
        |"[^"\n]+|'[^'\n]+
        |(?:Bearer|Basic|Token)[ ]+[^\s"',;]+|(?:\$\{[^}\n]{0,200}\}|[^\s"',;)}\]])+""",
    re.IGNORECASE | re.VERBOSE,
)
# A value that the shell takes from a variable, with a default that may be the secret.
_REFERENCE = re.compile(
    r"\$\{(?P<name>\w+)(?:(?P<operator>:?[-=+?])(?P<default>(?:[^{}\n]|\{[^{}\n]*\})*))?\}"
    r"(?=[\s\"';)]|$)",
    re.MULTILINE,
)
_QUOTE = re.compile(r"\\?[\"']")
_UP_TO = {quote: re.compile(rf"[^{quote}\n]+") for quote in "\"'"}
# `--api-key VALUE`, also on the next line of a script; `--use_wandb` takes a key although it is named like a switch.
_OPTION = re.compile(
    rf"(?<![\w.-])(?P<name>--?[\w.-]{{0,96}}(?:{_HINT})[\w.-]{{0,64}}|--use_wandb)"
    r"(?P<between>\s+(?:\\\n\s*)?)(?P<value>'[^']*'|\"[^\"]*\"|[^\s'\"-][^\s]*)",
    re.IGNORECASE,
)
# A scheme and its value; schemes of several parts, and cookies, up to the end of the line.
_HEADER = re.compile(
    r"\b(?P<name>(?:Proxy-)?Authorization|(?:Set-)?Cookie)(?P<between>[ \t]{0,4}:[ \t]{0,4})"
    r"(?:(?:(?<=ion:)|(?<=ion: ))(?!AWS4-|Digest\b)(?:(?:Basic|Bearer|Token|Negotiate|ApiKey|Key)[ ]+)?"
    r"[^\s\"'\\,;]+|[^\"'\\\n]+)",
    re.IGNORECASE,
)
# A parameter of a URL ends where the next one begins.
_QUERY = re.compile(r"(?<=[?&])(?P<name>[\w.~%-]{1,64})=(?P<value>[^&\s\"'#<>]{1,4000})")
_SIGNATURE = re.compile(r"(?:.*[-_])?(?:sig|signature)", re.IGNORECASE)
_PRIVATE_KEY = re.compile(
    r"(?P<begin>-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY-----)(?P<key>.*?)(?P<end>-----END [A-Z0-9 ]{0,40}-----|\Z)",
    re.DOTALL,
)
# A line of such a key, where lines come one by one; no checksum, which is of hexadecimal digits.
_LINE_OF_KEY = re.compile(
    r"^(?P<before>[ \t]{0,64})(?![0-9A-Fa-f]{64})[A-Za-z0-9+/]{64}(?=\r?$)", re.MULTILINE
)
_NETRC = re.compile(r"(?P<before>\blogin\s{1,8}\S{1,200}\s{1,8}password\s{1,8})(?P<value>\S+)")
_SHELL_WORD = r"(?P<value>'[^'\n]*'|\"[^\"\n]*\"|[^\s'\"]\S*)"
# A value of `-p` other than a port, a folder or a partition.
_PASSWORD_FLAGS = (
    re.compile(rf"(?P<before>\bsshpass\s+(?:-[veoP]\S*\s+){{0,4}}-p\s*){_SHELL_WORD}"),
    re.compile(rf"(?P<before>\blogin\b[^\n;|&]{{0,200}}?\s-p[ =]){_SHELL_WORD}"),
    re.compile(
        rf"(?P<before>\b(?:mysql|mariadb)\w{{0,10}}\s(?:[^\n;|&]{{0,200}}?\s)?-p){_SHELL_WORD}"
    ),
    re.compile(
        r"(?P<before>(?<!\S)-p[ =])"
        r"(?P<value>(?=\S{0,200}[a-z])(?=\S{0,200}[A-Z])(?=\S{0,200}\d)[\w+/=-]{16,})(?!\S)"
    ),
)
_USER = re.compile(
    r"(?<!\S)(?P<name>-u|--user|--proxy-user)(?P<between>[ =]['\"]?[^\s:'\"=]*:)(?!\d+\b)[^\s'\"]+"
)
_BEARER = re.compile(r"\b(?P<scheme>Bearer|Basic)[ ]+[A-Za-z0-9+/_.~=-]{8,}", re.IGNORECASE)
_IN_URL = re.compile(r"\b(?P<scheme>[a-z][a-z0-9+.-]{0,20}://[^/\s:@]{0,200}):[^/\s]{1,400}@")
# Without a colon it is a token, but for ssh, whose users have no password there.
_TOKEN_IN_URL = re.compile(r"\b(?P<scheme>(?:git\+)?https?://)[^/\s:@\"'?#]{1,400}@", re.IGNORECASE)
_LOGIN = re.compile(r"\b(?P<what>wandb\s+login\s+(?:--\S+\s+)*)(?P<value>[^\s-]\S*)")
_TOKEN_FORMS = re.compile(
    r"\b(?:hf_[A-Za-z0-9]{20,}|gh[oprsu]_[A-Za-z0-9]{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}"
    r"|sk-(?=[\w-]{0,99}\d)[\w-]{20,}|sk-[A-Za-z0-9]{20,}\b|[sr]k_(?:live|test)_[A-Za-z0-9]{10,}|gsk_[A-Za-z0-9]{20,}"
    r"|xox[abeoprs]-[\w-]{10,}|xapp-[\w-]{20,}|(?:AKIA|ASIA)[0-9A-Z]{16}|AIza[\w-]{30,}|ya29\.[\w-]{20,}"
    r"|npm_[A-Za-z0-9]{30,}|pypi-(?=[\w-]{0,99}[A-Z])[\w-]{30,}|nvapi-[\w-]{20,}|tskey-[\w-]{10,}"
    r"|dapi[0-9a-f]{32}|r8_[A-Za-z0-9]{30,}|SG\.[\w-]{16,}\.[\w-]{16,}"
    r"|eyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]*)"
    r"|(?<=hooks\.slack\.com/services/)[\w/]+"
)
# The form of an AWS secret key: 40 characters of base64 with all kinds of them; a hash has no capitals, a path more slashes.
_KEY_OF_AWS = re.compile(
    r"(?<![\w/+=.:-])(?=[^\s]{0,39}[A-Z])(?=[^\s]{0,39}[a-z])(?=[^\s]{0,39}\d)(?!(?:[^\s/]*/){4})"
    r"[A-Za-z0-9/+]{40}(?![\w/+=.:-])"
)
# A whole word of a command, such as `+model.hf_token=value` or `X-Api-Key: value`.
_ASSIGNED = re.compile(
    r"(?P<name>[-+~]*[\w./@-]{1,200})(?P<between>[=:]\s*)(?P<value>.*)", re.DOTALL
)


def is_secret(name: str, value: str = "?") -> bool:
    """Whether `value` must not be shown, judged by the name of its variable, option, key or header."""
    bare = value.strip("\"'")
    if _PLAIN.fullmatch(bare):
        return False
    if name.lower() == "--use_wandb":
        return True
    parts = [word.lower() for word in _WORD.findall(name)] or [""]
    if parts[-1] in _NO_SECRET:
        return False
    if any(_ANYWHERE.search(word) for word in parts):
        return True
    last = parts[-2] if parts[-1] in _VALUE and len(parts) > 1 else parts[-1]
    if last in _LAST:
        # PWD alone is the working directory.
        return parts != ["pwd"] and not (bare.isdigit() and len(bare) <= _SHORT_NUMBER)
    return _is_key_or_token(parts, bare)


def redact_env(env: Mapping[str, str]) -> dict[str, str]:
    """Returns `env` with `…` as the value of each secret."""
    return {
        name: HIDDEN if is_secret(name, value) else redact_text(value)
        for name, value in env.items()
    }


def redact_arguments(parts: Sequence[str]) -> list[str]:
    """Returns the arguments of a command with `…` in place of secrets."""
    shown = [_redact_word(parts[max(0, at - 20) : at], word) for at, word in enumerate(parts)]
    if list(parts[:2]) == ["wandb", "login"]:
        shown[2:] = [word if word.startswith("-") else HIDDEN for word in shown[2:]]
    return shown


def redact_text(text: str) -> str:
    """Returns `text` with `…` in place of secrets: `NAME_TOKEN=value`, `"api_key": "value"`, `--api-key value`."""
    text = _PRIVATE_KEY.sub(_without_key, text)
    text = _LINE_OF_KEY.sub(rf"\g<before>{HIDDEN}", text)
    text = _KEY_OF_AWS.sub(HIDDEN, text)
    text = _HEADER.sub(rf"\g<name>\g<between>{HIDDEN}", text)
    text = _QUERY.sub(_redact_parameter, text)
    text = _redact_named(text)
    text = _OPTION.sub(_redact_option, text)
    text = _BEARER.sub(rf"\g<scheme> {HIDDEN}", text)
    text = _USER.sub(rf"\g<name>\g<between>{HIDDEN}", text)
    text = _IN_URL.sub(rf"\g<scheme>:{HIDDEN}@", text)
    text = _TOKEN_IN_URL.sub(rf"\g<scheme>{HIDDEN}@", text)
    for form in (_NETRC, *_PASSWORD_FLAGS):
        text = form.sub(rf"\g<before>{HIDDEN}", text)
    text = _LOGIN.sub(rf"\g<what>{HIDDEN}", text)
    return _TOKEN_FORMS.sub(HIDDEN, text)


def _without_key(match: re.Match[str]) -> str:
    """Each line of the key apart, so that lines of a log keep their numbers."""
    hidden = "\n".join(HIDDEN for _ in match["key"].split("\n"))
    return f"{match['begin']}{hidden}{match['end']}"


def _is_key_or_token(parts: Sequence[str], value: str) -> bool:
    """Whether a name belongs to a key or token, not to a count of tokens or to a property of keys."""
    for at, word in enumerate(parts):
        if not (_KEY_OR_TOKEN.fullmatch(word) or word.endswith(("key", "keys", "token", "tokens"))):
            continue
        before, after = parts[at - 1] if at else "", parts[at + 1] if at + 1 < len(parts) else ""
        counts = word.endswith("tokens") or after
        is_number = counts and _NUMBER.fullmatch(value)
        is_text = "token" in word and before in _BEFORE_TOKEN
        is_count = word.endswith("tokens") and not _COUNTS.isdisjoint(parts[:at])
        if (
            not (is_number or is_text or is_count)
            and before not in _BEFORE_KEY
            and after not in _AFTER_KEY
        ):
            return True
    return False


def _redact_word(earlier: Sequence[str], word: str) -> str:
    before = earlier[-1] if earlier else ""
    is_value = before.startswith("-") and "=" not in before and not word.startswith("-")
    if is_value and is_secret(before, word):
        return HIDDEN
    if hidden := _after_flag(earlier, word):
        return f"{word[:-hidden]}{HIDDEN}"
    if before in ("-u", "--user", "--proxy-user"):
        return _USER.sub(rf"\g<name>\g<between>{HIDDEN}", f"{before} {word}")[len(before) + 1 :]
    assigned = _ASSIGNED.fullmatch(word)
    if assigned and is_secret(assigned["name"], assigned["value"]):
        return f"{assigned['name']}{assigned['between']}{HIDDEN}"
    return redact_text(word)


def _after_flag(earlier: Sequence[str], word: str) -> int:
    """The number of characters at the end of a word that are a password, by the words before it."""
    arguments = [re.sub(r"\s|['\"]", "_", each) for each in (*earlier, word)]
    command = " ".join(arguments)
    for form in _PASSWORD_FLAGS:
        for match in form.finditer(command):
            if match.end("value") == len(command):
                return min(len(command) - match.start("value"), len(word))
    return 0


def _redact_parameter(match: re.Match[str]) -> str:
    name, value = match["name"], match["value"]
    return f"{name}={HIDDEN}" if _SIGNATURE.fullmatch(name) or is_secret(name, value) else match[0]


def _redact_named(text: str) -> str:
    """Also searches the text after a name that isn't a secret's: `KeyError: MY_TOKEN=…`."""
    shown, at = [], 0
    while match := _NAMED.search(text, at):
        shown.append(text[at : match.end()])
        at = match.end()
        if is_secret(match["name"]) and (reference := _REFERENCE.match(text, at)):
            shown.append(_without_default(reference))
            at = reference.end()
            continue
        value = _value_of(match, text) if is_secret(match["name"]) else ""
        # SGLang's counts: "#token: 412800".
        is_count = text[: match.start()].endswith("#") and _NUMBER.fullmatch(value)
        if value and not is_count and is_secret(match["name"], value):
            quote = _QUOTE.match(value)
            shown.append(f"{quote[0]}{HIDDEN}{quote[0]}" if quote else HIDDEN)
            at += len(value)
    return "".join(shown) + text[at:]


def _without_default(reference: re.Match[str]) -> str:
    if not reference["default"]:
        return reference[0]
    return f"${{{reference['name']}{reference['operator']}{HIDDEN}}}"


def _value_of(named: re.Match[str], text: str) -> str:
    opened = named["before"][:1]
    if opened in _UP_TO and opened not in named["between"]:
        match = _UP_TO[opened].match(text, named.end())
    else:
        match = _NAMED_VALUE.match(text, named.end())
    return match[0] if match else ""


def _redact_option(match: re.Match[str]) -> str:
    if not is_secret(match["name"], match["value"]):
        return match[0]
    return f"{match['name']}{match['between']}{HIDDEN}"
