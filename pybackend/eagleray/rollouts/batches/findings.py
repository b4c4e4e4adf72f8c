"""Problems of a saved batch, as sentences: a table of rules over the numbers of its tensors."""

from __future__ import annotations

from collections.abc import Iterator

from eagleray.common.l10n import t
from eagleray.rollouts.batches.model import BatchSummary, BatchTensor

IDS = ("input_ids", "prompts", "responses", "token_ids", "ids")
LOGPROBS = ("logprobs", "old_log_probs", "rollout_log_probs", "prox_logp", "generation_logprobs")
REWARDS = ("rewards", "scores", "score", "token_level_scores", "token_level_rewards", "reward")
TRAINED = ("loss_mask", "response_mask", "token_mask", "token_loss_mask")


def findings(summary: BatchSummary, vocabulary: int | None = None) -> list[str]:
    """The worst first: what makes a loss useless, then what is unlikely."""
    sentences = [text for tensor in summary.tensors for text in _of_tensor(tensor, vocabulary)]
    sentences += _lengths(summary)
    for values in summary.masked:
        if values.name.endswith("advantages") and values.count and values.std == 0 == values.mean:
            sentences.append(t("{name} is 0 for all trained tokens.", name=values.name))
    return sentences


def _of_tensor(tensor: BatchTensor, vocabulary: int | None) -> Iterator[str]:
    name, last = tensor.name, tensor.name.rpartition(".")[2]
    if tensor.nan:
        yield t("{name} has {count} values that are NaN.", name=name, count=tensor.nan)
    if tensor.infinite:
        yield t("{name} has {count} infinite values.", name=name, count=tensor.infinite)
    if last in IDS and tensor.least is not None and tensor.most is not None:
        if tensor.least < 0:
            yield t("{name} has negative ids, down to {id}.", name=name, id=int(tensor.least))
        if vocabulary is not None and tensor.most >= vocabulary:
            yield t(
                "{name} has id {id}; the vocabulary ends at {last}.",
                name=name,
                id=int(tensor.most),
                last=vocabulary - 1,
            )
    # Rounding in bf16 may end slightly above 0.
    if last in LOGPROBS and tensor.most is not None and tensor.most > 1e-3:
        yield t("{name} has positive values, up to {most}.", name=name, most=f"{tensor.most:.4g}")
    if last in TRAINED and tensor.row_sums is not None and tensor.row_sums.empty:
        yield t(
            "{name} is 0 in {count} rows, which train nothing.",
            name=name,
            count=tensor.row_sums.empty,
        )
    if last in REWARDS and tensor.std == 0 and tensor.shape and tensor.shape[0] > 1:
        yield t("{name} is {value} everywhere.", name=name, value=f"{tensor.mean:.4g}")


def _lengths(summary: BatchSummary) -> list[str]:
    """Tensors of one folder have the same number of rows."""
    rows: dict[str, dict[int, str]] = {}
    for tensor in summary.tensors:
        if tensor.shape:
            folder = tensor.name.rpartition(".")[0]
            rows.setdefault(folder, {}).setdefault(tensor.shape[0], tensor.name)
    return [
        t(
            "{first} has {rows} rows, {second} has {others}.",
            first=names[0],
            rows=counts[0],
            second=names[1],
            others=counts[1],
        )
        for lengths in rows.values()
        if len(lengths) > 1
        for counts, names in [(list(lengths), list(lengths.values()))]
    ]
