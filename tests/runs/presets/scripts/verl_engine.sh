set -x
ENGINE=${1:-vllm}
python3 -m verl.trainer.main_ppo \
    actor_rollout_ref.rollout.name=$ENGINE \
    trainer.total_epochs=15 $@
