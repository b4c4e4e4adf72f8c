"""Answers the editor's requests about pictures of hangs."""

from __future__ import annotations

from functools import partial
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

from eagleray.common.blocking_calls import off_loop
from eagleray.common.errors import printable
from eagleray.common.l10n import t
from eagleray.observe.hangs import (
    errors,
    messages,
    picture_changes,
    picture_files,
    processes_here,
    texts,
)
from eagleray.observe.hangs.model import Picture, PictureTarget
from eagleray.observe.hangs.pasted.given_files import STDIN, GivenFiles
from eagleray.observe.hangs.pasted.pasted import picture_of
from eagleray.observe.hangs.pictures import Pictures
from eagleray.observe.hangs.waiting_ranks import PausedSentences

if TYPE_CHECKING:
    from eagleray.wire.requests import ReportProgress, RequestServer


def register(server: RequestServer, pictures: Pictures, sentences: PausedSentences) -> None:
    """Answers the requests of this feature."""
    handlers = HangHandlers(pictures, sentences)
    server.on_request(messages.PROCESSES, handlers.processes)
    server.on_request(messages.PICTURE, handlers.picture)
    server.on_request(messages.SAVE, handlers.save)
    server.on_request(messages.OPEN, handlers.open)
    server.on_request(messages.OF_STACKS, handlers.of_stacks)
    server.on_request(messages.COMPARE, handlers.compare)
    server.on_request(messages.OF_GROUP, handlers.of_group)
    server.on_request(messages.MARKDOWN, handlers.markdown)


class HangHandlers:
    """One method per request about pictures of hangs."""

    def __init__(self, pictures: Pictures, sentences: PausedSentences) -> None:
        self._pictures = pictures
        self._sentences = sentences

    async def picture(self, target: PictureTarget, report: ReportProgress) -> Picture:
        def on_progress(done: int, all_rounds: int) -> None:
            sentence = t("Sample {done} of {all} taken", done=done, all=all_rounds)
            report(sentence, round(100 * done / all_rounds))

        taken = await self._pictures.take(target, on_progress, report)
        self._sentences.note(target.cluster, taken)
        return taken

    async def processes(self) -> messages.CandidateProcesses:
        return messages.CandidateProcesses(await off_loop(processes_here.candidates))

    async def of_group(self, group: messages.PausedGroupName) -> Picture:
        taken = self._sentences.picture(group.cluster, group.title, group.post_mortem)
        if taken is None:
            raise errors.no_longer_paused()
        return taken

    async def save(self, request: messages.PictureToSave) -> None:
        await off_loop(partial(picture_files.save, request.picture, Path(request.path)))

    async def open(self, request: messages.PictureFile) -> Picture:
        return await off_loop(partial(picture_files.load, Path(request.path)))

    async def of_stacks(
        self, given: messages.GivenStacks, _: ReportProgress
    ) -> messages.GivenPicture:
        paths = [*given.paths, *([STDIN] if given.text else [])]
        sources = GivenFiles(paths, BytesIO(given.text.encode()))
        try:
            taken = await off_loop(partial(picture_of, sources))
        finally:
            sources.cancel()
        unread = tuple(messages.UnreadStacks(name, reason) for name, reason in sources.unread)
        return messages.GivenPicture(taken, unread)

    async def compare(self, request: messages.EarlierPicture) -> messages.PictureChanges:
        def sentences() -> list[str]:
            earlier = picture_files.load(Path(request.path))
            moves = picture_changes.moves(earlier, request.picture)
            return [printable(line) for line in texts.comparison(moves)]

        return messages.PictureChanges(await off_loop(sentences))

    async def markdown(self, taken: Picture) -> messages.PictureText:
        return messages.PictureText(await off_loop(partial(texts.markdown, taken)))
