#!/bin/bash
set -ex
HERE="$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)"
source "${HERE}/models/tiny.sh"

CKPT_ARGS=(
   --hf-checkpoint /models/tiny
   #--load /old
   --ref-load /models/tiny_dist
   --load /runs/tiny
   --save /runs/tiny
   --save-interval=20
)

ROLLOUT_ARGS=(
   --num-rollout 3000
   --rollout-batch-size 32
)
EVAL_ARGS=(--eval-interval 20 --eval-prompt-data aime /data/aime.jsonl)

if [ -n "$WANDB_KEY" ]; then
   WANDB_ARGS=(
      --use-wandb
      --wandb-group tiny
   )
else
   WANDB_ARGS=()
fi

ray job submit --address="http://127.0.0.1:8265" \
   --runtime-env-json="{\"env_vars\": {\"PYTHONPATH\": \"/opt/Megatron-LM/\"}}" \
   -- python3 train.py \
   --colocate \
   ${MODEL_ARGS[@]} \
   ${CKPT_ARGS[@]} \
   ${ROLLOUT_ARGS[@]} \
   ${EVAL_ARGS[@]} \
   ${WANDB_ARGS[@]}
