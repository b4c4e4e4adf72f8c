#!/usr/bin/env bash
set -xeuo pipefail

# if [ -f .env ]; then source .env; fi
nnodes=1
project_name='Coder'
exp_name='Coder-1.5B-Single'
max_prompt_length=$((1024 * 2))
CKPTS_DIR=./output/${project_name}/${exp_name}
TRAIN_FILE=./data/train.json

mkdir -p "${CKPTS_DIR}"

python3 -m dapo.main_dapo \
    data.train_files="${TRAIN_FILE}" \
    data.truncation='error' \
    data.max_prompt_length=${max_prompt_length} \
    +actor_rollout_ref.actor.token_entropy=True \
    trainer.logger=['console','wandb'] \
    trainer.project_name="${project_name}" \
    trainer.experiment_name="${exp_name}" \
    trainer.nnodes="${nnodes}" \
    trainer.val_before_train=False \
    trainer.test_freq=-1 \
    trainer.save_freq=10 \
    trainer.total_epochs=10 \
    trainer.default_local_dir="${CKPTS_DIR}" \
    trainer.resume_mode=auto $@ 2>&1 | tee ${CKPTS_DIR}/${exp_name}.log
