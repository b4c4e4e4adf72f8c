"""The keys of trajectories: one mapping from the role of a value to the keys that programs write it by.

Read in: AReaL 4aef98d8 (`areal/infra/workflow_executor.py`, `_dump_trajectory`), verl b178a3cd
(`verl/trainer/ppo/ray_trainer.py`, `_dump_generations`), NeMo RL 7ea279ab (`nemo_rl/algorithms/grpo.py`, `ppo.py`,
`grpo_sync.py`; `nemo_rl/utils/logger.py`, `log_batched_dict_as_jsonl`), SkyRL a9564572
(`skyrl/train/utils/trainer_utils.py`, `dump_per_dataset_eval_results`), slime 624b824a (`slime/utils/types.py`, `Sample`),
miles 31f1ca96 (`miles/ray/rollout/debug_data.py`, `trajectory_rows`), rLLM 9beb6e0f (`rllm/utils/episode_logger.py`),
NeMo Gym 07d6b0d0 (`nemo_gym/rollout_collection.py`), verifiers a60a606e (`state_to_output`, `verifiers/v1/episode.py`),
tau2-bench a2c0247 (`src/tau2/data_model/simulation.py`), TRL f2cd5771 (`trl/trainer/grpo_trainer.py`, `log`),
ms-swift 3602360a (`swift/rlhf_trainers/grpo_trainer.py`), LLaMA-Factory ff6d4d12 (`data/`, `save_predictions`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

from attrs import field, frozen

# A key, and what leads on into its value.
Path = tuple[str, tuple[str | int, ...]]

# Each role and its keys, the first one that has a value counts; "a.b.-1" leads into objects and lists.  A key that
# means different things in different programs isn't here: `answer` is the ground truth of most, `id` names any object.
_KEYS = {
    "prompt": (
        "prompt input_prompt origin_prompt instruction question problem query "
        "responses_create_params.input request.messages input prompt_text"
    ),
    # Parts that belong to the prompt, after it.
    "context": "",
    "completion": (
        "completion response.output response.choices.-1.message response output_response output generation "
        "generated_text predict prediction model_response response_text llm_response"
    ),
    "contents": (
        "messages conversations conversation chat_completions steps.-1.chat_completions "
        "nodes messages_and_choices traj trajectory history"
    ),
    "reward": (
        "reward score rewards scores total_reward final_reward reward_score reward_info.reward"
    ),
    "group": (
        "group group_id group_index group_idx prompt_id prompt_idx task_id task_hash "
        "example_id problem_id question_id _ng_task_index doc_id instance_id"
    ),
    "sample": "sample sample_idx sample_index trial _ng_rollout_index",
    # A sample may have a row for each (lm-evaluation-harness: for each filter), as it may for turns.
    "variant": (
        "filter filter_name metric metric_name judge judge_name judge_model grader scorer evaluator rater annotator"
    ),
    "turn": "turn turn_idx turn_index turn_id step_idx step_index",
    "step": "step training_step global_step",
    "tokens": "seqlen input_lengths",
    "prompt_tokens": "prompt_len",
    "completion_tokens": "response_length",
    "first_version": "head_version",
    "last_version": "tail_version",
    "ids": "token_ids input_ids tokens",
    "prompt_ids": "prompt_ids prompt_token_ids prompt_tokens",
    "completion_ids": (
        "completion_ids response_ids completion_token_ids response_token_ids response_tokens "
        "output_ids"
    ),
    "texts": "token_texts",
    "mask": "mask loss_mask token_loss_mask response_mask",
    "logprobs": "logprobs generation_logprobs rollout_log_probs output_logprobs",
    "trainer_logprobs": "trainer_logprobs prev_logprobs old_log_probs prox_logp train_logprobs",
    "versions": "versions",
    "advantages": "advantages",
    "finish": "finish_reason stop_reason stop_condition termination_reason status",
    "error": "error",
}
ROLES: Mapping[str, tuple[str, ...]] = {role: tuple(keys.split()) for role, keys in _KEYS.items()}


def _paths(keys: tuple[str, ...]) -> tuple[Path, ...]:
    return tuple(
        (first, tuple(int(part) if part == "-1" else part for part in rest))
        for first, *rest in (key.split(".") for key in keys)
    )


_PATHS = {role: _paths(keys) for role, keys in ROLES.items()}


@frozen
class DumpFormat:
    """The lines of one framework: a line is of it if it has all `needs`; `keys` differ from ROLES.

    `batched`: each value is a list with one element (a batch of one).  `marks_end`: texts have special tokens, so that
    a completion without one at its end was cut.  `sums`: a list of rewards has one for each token, whose sum counts.
    """

    name: str
    needs: frozenset[str]
    keys: Mapping[str, tuple[str, ...]] = field(factory=dict)
    # Keys that repeat others, or mean nothing outside their file.
    unshown: frozenset[str] = frozenset()
    batched: bool = False
    marks_end: bool = False
    sums: bool = False
    paths: Mapping[str, tuple[Path, ...]] = field(init=False)

    def __attrs_post_init__(self) -> None:
        own = {role: _paths(keys) for role, keys in self.keys.items()}
        object.__setattr__(self, "paths", _PATHS | own)


# The key that marks a line of Eagleray's own waves and exported batches; its value is the version of the format.
OWN_KEY = "eagleray"
FORMATS = (
    DumpFormat(
        "Eagleray",
        frozenset({OWN_KEY, "reward"}),
        unshown=frozenset({OWN_KEY, "index", "item", "member", "started", "completion_ids"}),
    ),
    DumpFormat("AReaL", frozenset({"task_id", "prompt", "completion"}), marks_end=True),
    DumpFormat("verl", frozenset({"input", "output", "score"}), {"reward": ("score", "reward")}),
    DumpFormat(
        "NeMo RL", frozenset({"content", "rewards"}), {"contents": ("content",)}, batched=True
    ),
    DumpFormat("SkyRL", frozenset({"input_prompt", "output_response"}), sums=True),
    DumpFormat("slime", frozenset({"group_index", "prompt", "status"})),
    DumpFormat("rLLM", frozenset({"steps", "reward"})),
    DumpFormat("NeMo Gym", frozenset({"responses_create_params", "response"})),
    DumpFormat("verifiers", frozenset({"example_id", "prompt", "completion"})),
    DumpFormat("tau2-bench", frozenset({"reward_info", "messages"})),
    DumpFormat("Alpaca", frozenset({"instruction", "output"}), {"context": ("input",)}),
    # Whatever else has a prompt or messages, by the usual keys.
    DumpFormat("JSON", frozenset()),
)


# Names of files have the step where rows don't (train_data_step12.jsonl of NeMo RL, eps_000010.jsonl).
_STEP_OF_NAME = re.compile(r"(?:step|(?<![a-z])eps)[_-]?(\d{1,9})")


def step_of_name(name: str) -> int | None:
    named = _STEP_OF_NAME.search(name)
    return int(named[1]) if named else None


@lru_cache(maxsize=64)
def layout(keys: tuple[str, ...]) -> tuple[DumpFormat, Mapping[str, tuple[Path, ...]]]:
    """The format of a line with these keys, and the paths of its roles that may lead to a value."""
    present = frozenset(keys)
    format_ = next(format_ for format_ in FORMATS if format_.needs <= present)
    return format_, {
        role: tuple(path for path in paths if path[0] in present)
        for role, paths in format_.paths.items()
    }
