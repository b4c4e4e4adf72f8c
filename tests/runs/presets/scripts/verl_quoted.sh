set -x
export WANDB_API_KEY=abc123secret
export NCCL_TIMEOUT=300

python3 -m verl.trainer.main_ppo \
    algorithm.adv_estimator=grpo \
    "data.note=two words, a=b" \
    trainer.logger='["console","wandb"]' \
    trainer.test_freq=5 \
    "$@"
