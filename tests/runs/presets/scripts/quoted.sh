#!/bin/bash
#SBATCH --nodes=2
srun --overlap bash -c "cd /w && python3 -m openrlhf.cli.train_ppo_ray \
    --rollout.batch_size 64"
