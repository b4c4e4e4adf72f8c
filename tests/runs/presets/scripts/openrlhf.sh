#!/bin/bash
set -e
SAVE_PATH="./exp/Qwen 3"

CKPT_ARGS=(
   --actor.model_name_or_path Qwen/Qwen3-4B
   # --reward.model_name_or_path none
   --ckpt.load_enable
   --ckpt.output_dir "${SAVE_PATH}"
)

python3 -m openrlhf.cli.train_ppo_ray \
   "${CKPT_ARGS[@]}" \
   --rollout.batch_size 128 \
   --train.max_epochs 1 \
   --ckpt.save_hf \
   --logger.wandb.key s3cr3t
