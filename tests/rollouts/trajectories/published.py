"""Files as other programs write them, in the shape of their sources, and what is right about each."""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from typing import Any

from attrs import frozen

Rewards = tuple[float, float, float]


@frozen
class Published:
    """A file: who writes it (`source`: repository, commit, file, function), and what its statistics must say.

    `rewards`: least, mean and most, None if the file has none.  `groups` counts groups of two and more.  `missing`: the
    roles that must be named as missing.  `prompt` and `completion` are parts of the first trajectory.
    """

    name: str
    source: str
    file: str
    content: bytes
    items: int
    rewards: Rewards | None = None
    groups: int | None = None
    missing: Sequence[str] = ()
    prompt: str = ""
    completion: str = ""


def lines(*records: Any) -> bytes:
    return "".join(json.dumps(record) + "\n" for record in records).encode()


def printed(value: Any, indent: int = 2) -> bytes:
    """One document, over lines."""
    return (json.dumps(value, indent=indent) + "\n").encode()


def user(text: str) -> dict[str, str]:
    return {"role": "user", "content": text}


def assistant(text: str) -> dict[str, str]:
    return {"role": "assistant", "content": text}


def _verl(step: int, sample: int) -> dict[str, Any]:
    return {
        "input": f"user\nAdd {step} and 1\nassistant\n",
        "output": f"sum {sample}",
        "gts": "2",
        "score": float(sample),
        "step": step,
        "acc": bool(sample),
        "pred": "2",
    }


def _skyrl(score: Any, at: int) -> dict[str, Any]:
    return {
        "input_prompt": "<|im_start|>user\nPick a door<|im_end|>\n",
        "output_response": f"door {at}<|im_end|>",
        "score": score,
        "stop_reason": "stop" if at else "length",
        "env_class": "doors",
        "env_extras": {"reward_model": {"ground_truth": "3"}},
        "data_source": "doors",
    }


def _sample(at: int) -> dict[str, Any]:
    """`Sample.to_dict`: the mask and the logprobs cover the response."""
    return {
        "group_index": at // 2,
        "index": at,
        "prompt": "<|user|>\nName a river",
        "tokens": [11, 12, 13, 21, 22],
        "response": f"River {at}",
        "response_length": 2,
        "label": "Elbe",
        "reward": at / 2,
        "loss_mask": [1, 1],
        "rollout_log_probs": [-0.5, -0.25],
        "status": "truncated" if at == 3 else "completed",
        "metadata": {},
        "remove_sample": False,
    }


def _miles(at: int) -> dict[str, Any]:
    return {
        "sample_index": at,
        "group_index": 0,
        "status": "completed",
        "reward": float(at),
        "prompt": [user("Name a lake")],
        "messages": [user("Name a lake"), assistant(f"Lake {at}")],
    }


def _episode(task: str, at: int) -> dict[str, Any]:
    step = {
        "observation": {"question": task},
        "thought": "",
        "action": "4",
        "reward": 0.0,
        "done": True,
        "model_response": f"It is {at}",
        "chat_completions": [user(task), assistant(f"It is {at}")],
    }
    return {
        "training_step": 3,
        "episode_id": f"{task}:{at}",
        "task": {"question": task, "ground_truth": "4"},
        "is_correct": at == 1,
        "termination_reason": "env_done",
        "metrics": {"solver_acc": float(at)},
        "trajectories": [
            {"name": "solver", "uid": f"u{at}", "reward": at / 4, "num_steps": 1, "steps": [step]}
        ],
    }


def _gym(task: int, rollout: int) -> dict[str, Any]:
    text = {"annotations": [], "text": f"Tuesday {rollout}", "type": "output_text"}
    thought = {"id": "rs_1", "summary": [{"text": "Monday plus 1", "type": "summary_text"}]}
    return {
        "responses_create_params": {"input": [{**user(f"Day {task}?"), "type": "message"}]},
        "response": {
            "id": "resp_1",
            "object": "response",
            "output": [
                {**thought, "type": "reasoning", "encrypted_content": None},
                {"id": "m", "content": [text], "role": "assistant", "type": "message"},
            ],
            "usage": {"input_tokens": 9, "output_tokens": 16, "total_tokens": 25},
        },
        "reward": float(rollout),
        "_ng_task_index": task,
        "_ng_rollout_index": rollout,
        "agent_ref": {"name": "day_agent"},
    }


def _verifiers(example: int, reward: float) -> dict[str, Any]:
    return {
        "example_id": example,
        "prompt": [{"role": "system", "content": "Be brief."}, user("Spell cat")],
        "completion": [assistant(f"c a t {reward}")],
        "answer": "c-a-t",
        "info": {},
        "reward": reward,
        "error": None,
        "timing": {"total": 1.5},
        "is_completed": True,
        "is_truncated": False,
        "stop_condition": "max_turns_reached",
        "metrics": {"spelled": reward},
    }


def _trace_episode(score: float) -> dict[str, Any]:
    nodes = [
        {"message": user("Sort b a"), "sampled": False},
        {"parent": 0, "message": assistant("a b"), "sampled": True},
    ]
    trace = {
        "id": "t1",
        "nodes": nodes,
        "rewards": {
            "sorted": {"score": score, "weight": 2.0},
            "style": {"score": 0.5, "weight": 1.0},
        },
        "is_completed": True,
    }
    return {"id": "e1", "env": {"id": "sorting"}, "ok": True, "traces": [trace]}


def _completions_table(step: int) -> dict[str, Any]:
    return {
        "step": [str(step)] * 4,
        "prompt": ["Q1", "Q1", "Q2", "Q2"],
        "completion": ["a", "b", "c", "d"],
        "MathAccuracy": [0.0, 1.0, 1.0, 1.0],
        "advantages": [-1.0, 1.0, 0.0, 0.0],
    }


def _simulation(task: str, trial: int, reward: float) -> dict[str, Any]:
    return {
        "id": f"s{trial}",
        "task_id": task,
        "trial": trial,
        "termination_reason": "user_stop",
        "reward_info": {"reward": reward, "reward_basis": ["DB"]},
        "messages": [user("Change my seat"), assistant("Which one?")],
    }


ALPACA = [
    {"instruction": "Translate", "input": "Guten Tag", "output": "Good day"},
    {"instruction": "Name a colour", "input": "", "output": "Blue"},
]
SHAREGPT = [
    {
        "id": f"c{at}",
        "conversations": [
            {"from": "human", "value": f"Hello {at}"},
            {"from": "gpt", "value": "Hi"},
            {"from": "human", "value": "Bye"},
            {"from": "gpt", "value": "See you"},
        ],
    }
    for at in range(3)
]
NO_GROUP = ("group",)
NO_REWARD = ("reward", "group")
PUBLISHED = (
    Published(
        "verl",
        "volcengine/verl b178a3cd verl/trainer/ppo/ray_trainer.py _dump_generations",
        "5.jsonl",
        lines(*(_verl(5, sample) for sample in range(4))),
        4,
        (0.0, 1.5, 3.0),
        1,
        NO_GROUP,
        "Add 5",
        "sum 0",
    ),
    Published(
        "gzip",
        "the same, compressed by logrotate or by hand",
        "5.jsonl.gz",
        gzip.compress(lines(*(_verl(5, sample) for sample in range(4)))),
        4,
        (0.0, 1.5, 3.0),
        1,
        NO_GROUP,
        "Add 5",
        "sum 0",
    ),
    Published(
        "SkyRL",
        "NovaSky-AI/SkyRL a9564572 skyrl/train/utils/trainer_utils.py dump_per_dataset_eval_results",
        "doors.jsonl",
        lines(_skyrl(0.0, 0), _skyrl(1.0, 1), _skyrl(0.5, 2)),
        3,
        (0.0, 0.5, 1.0),
        1,
        NO_GROUP,
        "Pick a door",
        "door 0",
    ),
    Published(
        "SkyRL, rewards of tokens",
        "the same with rewards of tokens (skyrl/train/generators/base.py); the metrics sum them",
        "doors.jsonl",
        lines(_skyrl([0.0, 0.0, 1.0], 0), _skyrl([0.0, -0.5, 0.5], 1)),
        2,
        (0.0, 0.5, 1.0),
        1,
        NO_GROUP,
        "Pick a door",
        "door 0",
    ),
    Published(
        "SkyRL, metrics",
        "the same function, aggregated_results.jsonl",
        "aggregated_results.jsonl",
        lines({"eval/all/avg_score": 0.4, "eval/all/pass_at_1": 0.4}),
        1,
        missing=("prompt", "completion", "reward", "group"),
    ),
    Published(
        "slime",
        "THUDM/slime 624b824a slime/utils/types.py Sample.to_dict, as JSON lines",
        "rollout_7.jsonl",
        lines(*map(_sample, range(4))),
        4,
        (0.0, 0.75, 1.5),
        2,
        (),
        "Name a river",
        "River 0",
    ),
    Published(
        "slime, one document",
        "THUDM/slime 624b824a slime/observability/rollout_data_utils.py save_debug_rollout_data, as JSON",
        "rollout_7.json",
        printed({"rollout_id": 7, "samples": list(map(_sample, range(4)))}),
        4,
        (0.0, 0.75, 1.5),
        2,
        (),
        "Name a river",
        "River 0",
    ),
    Published(
        "slime, rewards by name",
        "THUDM/slime 624b824a slime/utils/types.py Sample.reward is a dict with --reward-key",
        "rollout_8.jsonl",
        lines(*({**_sample(at), "reward": {"score": 1.0, "acc": 0}} for at in range(2))),
        2,
        None,
        1,
        ("reward",),
        "Name a river",
        "River 0",
    ),
    Published(
        "miles",
        "radixark/miles 31f1ca96 miles/ray/rollout/debug_data.py trajectory_rows",
        "12.jsonl",
        lines(_miles(0), _miles(1)),
        2,
        (0.0, 0.5, 1.0),
        1,
        (),
        "Name a lake",
        "Lake 0",
    ),
    Published(
        "rLLM, an episode",
        "rllm-org/rllm 9beb6e0f rllm/utils/episode_logger.py log_episode",
        "episode_hash1_id7.json",
        printed(_episode("2+2", 1)),
        1,
        (0.25, 0.25, 0.25),
        0,
        NO_GROUP,
        "2+2",
        "It is 1",
    ),
    Published(
        "rLLM, a list of episodes",
        "rllm-org/rllm 9beb6e0f examples/countdown/run_countdown.py",
        "results.json",
        printed([_episode("2+2", 0), _episode("2+2", 1), _episode("3+1", 2)], 4),
        3,
        (0.0, 0.25, 0.5),
        1,
        NO_GROUP,
        "2+2",
        "It is 0",
    ),
    Published(
        "NeMo Gym",
        "NVIDIA-NeMo/Gym 07d6b0d0 nemo_gym/rollout_collection.py; environments/*/data/example_rollouts.jsonl",
        "rollouts.jsonl",
        lines(_gym(0, 0), _gym(0, 1), _gym(1, 0), _gym(1, 1)),
        4,
        (0.0, 0.5, 1.0),
        2,
        (),
        "Day 0?",
        "Tuesday 0",
    ),
    Published(
        "verifiers",
        "PrimeIntellect-ai/verifiers a60a606e verifiers/legacy/utils/save_utils.py state_to_output",
        "results.jsonl",
        lines(_verifiers(0, 0.0), _verifiers(0, 1.0), _verifiers(1, 0.5)),
        3,
        (0.0, 0.5, 1.0),
        1,
        (),
        "Spell cat",
        "c a t 0.0",
    ),
    Published(
        "prime-rl",
        "PrimeIntellect-ai/prime-rl 559b4477 src/prime_rl/monitors/file.py; verifiers/v1/episode.py to_record",
        "traces.jsonl",
        lines(_trace_episode(0.0), _trace_episode(1.0)),
        2,
        (0.5, 1.5, 2.5),
        1,
        NO_GROUP,
        "Sort b a",
        "a b",
    ),
    Published(
        "TRL, as JSON lines",
        "huggingface/trl f2cd5771 trl/trainer/grpo_trainer.py log, the Parquet table converted",
        "completions_00010.jsonl",
        lines(
            *(
                {
                    "step": 10,
                    "prompt": [user("Pi?")],
                    "completion": [assistant(f"3.{at}")],
                    "accuracy_reward": float(at),
                    "format_reward": 1.0,
                    "advantage": 0.5 - at,
                }
                for at in range(2)
            )
        ),
        2,
        None,
        1,
        NO_REWARD,
        "Pi?",
        "3.0",
    ),
    Published(
        "ms-swift, a table a line",
        "modelscope/ms-swift 3602360a swift/rlhf_trainers/grpo_trainer.py log",
        "completions.jsonl",
        lines(_completions_table(1), _completions_table(2)),
        8,
        None,
        4,
        NO_REWARD,
        "Q1",
        "a",
    ),
    Published(
        "ms-swift, inference",
        "modelscope/ms-swift 3602360a swift/pipelines/infer/infer.py _batch_infer",
        "infer_result.jsonl",
        lines(
            {
                "response": "Oslo",
                "labels": "Oslo",
                "logprobs": None,
                "messages": [user("Capital of Norway"), assistant("Oslo")],
            }
        ),
        1,
        None,
        0,
        NO_REWARD,
        "Capital of Norway",
        "Oslo",
    ),
    Published(
        "OpenRLHF",
        "OpenRLHF/OpenRLHF 0.5 openrlhf/cli/batch_inference.py batch_rm_inference",
        "generated.jsonl",
        lines(
            {"input": "Joke?", "output": "Knock", "reward": -1.25},
            {"input": "Joke?", "output": "Who", "reward": 0.75},
        ),
        2,
        (-1.25, -0.25, 0.75),
        1,
        NO_GROUP,
        "Joke?",
        "Knock",
    ),
    Published(
        "responses of a prompt",
        "RLHFlow/RLHF-Reward-Modeling; verl main_generation.py writes `responses` so",
        "scored.jsonl",
        lines(
            {"prompt": "Rhyme cat", "responses": ["hat", "dog"], "rewards": [1.0, 0.0]},
            {"prompt": "Rhyme sun", "responses": ["fun", "run"], "rewards": [1.0, 1.0]},
        ),
        4,
        (0.0, 0.75, 1.0),
        2,
        (),
        "Rhyme cat",
        "hat",
    ),
    Published(
        "generations of a problem",
        "open-r1/OpenR1-Math-220k, data set card: generations, correctness_math_verify",
        "math.jsonl",
        lines(
            {
                "problem": "1+1",
                "solution": "Count.",
                "answer": "2",
                "generations": ["<think>2</think> 2", "3"],
                "correctness_math_verify": [True, False],
                "uuid": "x",
            }
        ),
        2,
        None,
        1,
        ("reward",),
        "1+1",
        "<think>2</think> 2",
    ),
    Published(
        "ShareGPT",
        "hiyouga/LLaMA-Factory ff6d4d12 data/glaive_toolcall_en_demo.json",
        "sharegpt.json",
        printed(SHAREGPT),
        3,
        None,
        0,
        NO_REWARD,
        "Hello 0",
        "Hi",
    ),
    Published(
        "ShareGPT, a list in a line",
        "lm-sys/FastChat, data/dummy_conversation.json, compact",
        "sharegpt.json",
        lines(SHAREGPT),
        3,
        None,
        0,
        NO_REWARD,
        "Hello 0",
        "Hi",
    ),
    Published(
        "Alpaca",
        "hiyouga/LLaMA-Factory ff6d4d12 data/alpaca_en_demo.json",
        "alpaca.json",
        printed(ALPACA),
        2,
        None,
        0,
        NO_REWARD,
        "Guten Tag",
        "Good day",
    ),
    Published(
        "pairs of messages",
        "hiyouga/LLaMA-Factory ff6d4d12 data/dpo_en_demo.json",
        "dpo.json",
        printed(
            [
                {
                    "conversations": [{"from": "human", "value": "Draw"}],
                    "chosen": {"from": "gpt", "value": "I draw"},
                    "rejected": {"from": "gpt", "value": "No"},
                }
            ]
        ),
        2,
        None,
        1,
        ("reward",),
        "Draw",
        "I draw",
    ),
    Published(
        "pairs of texts",
        "Anthropic/hh-rlhf, data set card",
        "hh.jsonl",
        lines(
            {"chosen": "\n\nHuman: A?\n\nAssistant: B", "rejected": "\n\nHuman: A?\n\nAssistant: C"}
        ),
        2,
        None,
        1,
        ("prompt", "reward"),
        "",
        "Assistant: B",
    ),
    Published(
        "pairs with scores",
        "HuggingFaceH4/ultrafeedback_binarized, data set card",
        "binarized.jsonl",
        lines(
            {
                "prompt": "Why rain",
                "chosen": [user("Why rain"), assistant("Clouds")],
                "rejected": [user("Why rain"), assistant("Magic")],
                "messages": [user("Why rain"), assistant("Clouds")],
                "score_chosen": 8.0,
                "score_rejected": 4.0,
            }
        ),
        2,
        (4.0, 6.0, 8.0),
        1,
        (),
        "Why rain",
        "Clouds",
    ),
    Published(
        "scores of pairs",
        "hiyouga/LLaMA-Factory ff6d4d12 src/llamafactory/train/rm/trainer.py save_predictions",
        "generated_predictions.jsonl",
        lines({"chosen": 1.25, "rejected": -0.5}, {"chosen": 0.5, "rejected": 0.75}),
        2,
        missing=("prompt", "completion", "reward", "group"),
    ),
    Published(
        "LLaMA-Factory",
        "hiyouga/LLaMA-Factory ff6d4d12 src/llamafactory/train/sft/trainer.py save_predictions",
        "generated_predictions.jsonl",
        lines({"prompt": "<s>Hi", "predict": "Hello", "label": "Hey"}),
        1,
        None,
        0,
        NO_REWARD,
        "Hi",
        "Hello",
    ),
    Published(
        "lm-evaluation-harness",
        "EleutherAI/lm-evaluation-harness 4e7e0d47 lm_eval/evaluator.py log_samples",
        "samples_gsm8k.jsonl",
        lines(
            {
                "doc_id": 0,
                "doc": {"question": "1+2", "answer": "3"},
                "target": "3",
                "arguments": {"gen_args_0": {"arg_0": "Q: 1+2", "arg_1": {}}},
                "resps": [["It is 3"]],
                "filtered_resps": ["3"],
                "filter": "strict",
                "exact_match": 1.0,
            }
        ),
        1,
        None,
        0,
        ("prompt", "completion", "reward"),
    ),
    Published(
        "tau2-bench",
        "sierra-research/tau2-bench a2c0247 src/tau2/data_model/simulation.py Results",
        "airline.json",
        printed(
            {
                "timestamp": "t",
                "info": {"num_trials": 2},
                "tasks": [{"id": "0", "user_scenario": {}}],
                "simulations": [_simulation("0", 0, 0.0), _simulation("0", 1, 1.0)],
            }
        ),
        2,
        (0.0, 0.5, 1.0),
        1,
        (),
        "Change my seat",
        "Which one?",
    ),
    Published(
        "mini-swe-agent",
        "SWE-agent/mini-swe-agent a83fcae8 src/minisweagent/agents/default.py save",
        "last_run.traj.json",
        printed(
            {
                "info": {"model_stats": {"api_calls": 1}, "exit_status": "Submitted"},
                "messages": [user("Fix it"), assistant("Done")],
                "trajectory_format": "mini-swe-agent-1.1",
            }
        ),
        1,
        None,
        0,
        NO_REWARD,
        "Fix it",
        "Done",
    ),
    Published(
        "batch of a server",
        "vllm-project/vllm docs/examples openai_batch.md; OpenAI's batch output",
        "output.jsonl",
        lines(
            {
                "id": "vllm-1",
                "custom_id": "request-1",
                "response": {
                    "status_code": 200,
                    "body": {"choices": [{"message": assistant("Hi")}]},
                },
                "error": None,
            }
        ),
        1,
        missing=("prompt", "completion", "reward", "group"),
    ),
    Published(
        "atropos",
        "NousResearch/atropos 296a0bc5 atroposlib/envs/base.py, a ScoredDataGroup a line",
        "groups.jsonl",
        lines(
            *(
                {
                    "tokens": [[1, 2, 3], [1, 2, 4]],
                    "masks": [[-100, 2, 3], [-100, -100, 4]],
                    "scores": [score, 1.0],
                    "messages": [[user(f"Q{score}"), assistant("A")], [user("Q"), assistant("B")]],
                    "overrides": None,
                }
                for score in (0.0, 0.5)
            )
        ),
        4,
        (0.0, 0.625, 1.0),
        2,
        (),
        "Q0.0",
        "A",
    ),
    Published(
        "OpenCompass",
        "open-compass/opencompass a5acc4bb opencompass/openicl/icl_inferencer/icl_base_inferencer.py save_results",
        "gsm8k.json",
        printed(
            {
                str(at): {
                    "origin_prompt": [{"role": "HUMAN", "prompt": f"1+{at}"}],
                    "prediction": "2",
                    "gold": "2",
                }
                for at in range(2)
            }
        ),
        2,
        None,
        0,
        NO_REWARD,
        "1+0",
        "2",
    ),
    Published(
        "ROLL",
        "alibaba/ROLL main roll/pipeline/rlvr/utils.py write_to_json_process: a batch as columns on a line",
        "rollout_dump_data.step_5.jsonl",
        lines(
            {
                "step": 5,
                "id": [0, 1, 2, 3],
                "prompt": ["1+1?", "1+1?", "2+2?", "2+2?"],
                "responses": ["2", "3", "4", "5"],
                "scores": [1.0, 0.0, 1.0, 1.0],
            }
        ),
        4,
        (0.0, 0.75, 1.0),
        2,
        NO_GROUP,
        "1+1?",
        "2",
    ),
    Published(
        "MATH",
        "hendrycks/competition_math, data set card, as one list",
        "math.json",
        printed(
            [
                {"problem": f"1+{at}", "level": "Level 1", "type": "Algebra", "solution": "2"}
                for at in range(2)
            ]
        ),
        2,
        None,
        0,
        ("completion", *NO_REWARD),
        "1+0",
    ),
    Published(
        "responses as objects",
        "openbmb/UltraFeedback, data set card",
        "ultra.jsonl",
        lines(
            {
                "instruction": "Sing",
                "models": ["a", "b"],
                "completions": [
                    {"model": "a", "response": "La", "overall_score": 7.5},
                    {"model": "b", "response": "Lo", "overall_score": 3.5},
                ],
            }
        ),
        2,
        None,
        1,
        NO_REWARD,
        "Sing",
        "La",
    ),
)
