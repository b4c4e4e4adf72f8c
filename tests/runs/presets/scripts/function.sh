#!/bin/bash
train() {
  python3 -m verl.trainer.main_ppo trainer.nnodes=1 "$@"
}
cat > /dev/null <<'EOF'
python3 -m verl.trainer.main_ppo "in a here-document
EOF
train trainer.n_gpus_per_node=8
