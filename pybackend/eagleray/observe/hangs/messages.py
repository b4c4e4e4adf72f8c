"""The requests of the feature `hangs` and their records, printed as `extension/observe/hangs/messages.ts`.

The editor keeps a picture that it shows and sends it back, so that a restart of the sidecar loses none.
"""

from __future__ import annotations

from types import NoneType

from attrs import frozen

from eagleray.observe.hangs.model import Picture, PictureTarget
from eagleray.wire.requests import LongRequest, Request


@frozen
class PictureFile:
    """A saved picture by its path."""

    path: str


@frozen
class GivenStacks:
    """The inputs that may have stacks dumped by other tools: files and folders by their paths, or a text."""

    paths: tuple[str, ...]
    text: str


@frozen
class UnreadStacks:
    """A file that could not be read, below the archive that has it."""

    name: str
    reason: str


@frozen
class GivenPicture:
    """The picture of stacks that others have dumped."""

    picture: Picture
    unread: tuple[UnreadStacks, ...]


@frozen
class PictureToSave:
    """A picture, and the file that is to have it."""

    path: str
    picture: Picture


@frozen
class EarlierPicture:
    """Compares `picture` with the earlier one in the file `path`."""

    path: str
    picture: Picture


@frozen
class PictureChanges:
    """A sentence for each set of ranks that has moved."""

    sentences: list[str]


@frozen
class PictureText:
    """A picture in Markdown, without secrets."""

    text: str


@frozen
class PausedGroupName:
    """A group in the list of paused workers."""

    cluster: str
    title: str
    post_mortem: bool


@frozen
class CandidateProcess:
    """A Python process of this user on this machine: its command without secrets, and its age in seconds."""

    pid: int
    command: str
    age_s: float


@frozen
class CandidateProcesses:
    """The processes that may be sampled, the newest first."""

    processes: tuple[CandidateProcess, ...]


PROCESSES = Request("eagleray/hangs/processes", NoneType, CandidateProcesses)
PICTURE = LongRequest("eagleray/hangs/picture", PictureTarget, Picture)
SAVE = Request("eagleray/hangs/save", PictureToSave, NoneType)
OF_STACKS = LongRequest("eagleray/hangs/ofStacks", GivenStacks, GivenPicture)
OPEN = Request("eagleray/hangs/open", PictureFile, Picture)
COMPARE = Request("eagleray/hangs/compare", EarlierPicture, PictureChanges)
OF_GROUP = Request("eagleray/hangs/ofGroup", PausedGroupName, Picture)
MARKDOWN = Request("eagleray/hangs/markdown", Picture, PictureText)
