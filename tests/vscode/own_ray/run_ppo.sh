#!/usr/bin/env bash
# A run script as people of verl have them; nothing in it is ever started here.
set -x

python3 -m verl.trainer.main_ppo \
    algorithm.adv_estimator=grpo \
    data.train_files="$HOME/data/gsm8k/train.parquet" \
    data.train_batch_size=1024 \
    actor_rollout_ref.model.path=Qwen/Qwen2.5-0.5B-Instruct \
    trainer.logger='["console","wandb"]' \
    trainer.project_name='verl_grpo' \
    trainer.experiment_name='qwen2.5_0.5b' \
    trainer.n_gpus_per_node=8 \
    trainer.save_freq=20 \
    trainer.test_freq=5 \
    trainer.total_epochs=15 "$@"
