#!/bin/bash
# Evaluates first, then trains; passes nothing on.
cd "$(dirname "$0")"
python3 -m verl.trainer.main_eval data.path=x   # not the training
python3 tools/prepare.py --out data

NCCL_DEBUG=WARN python3 -m verl.trainer.main_ppo \
  trainer.total_training_steps=2 \
  trainer.save_freq=$((10 * 2)) \
  trainer.resume_mode=auto && echo trained
awk '{print $0}' /dev/null
