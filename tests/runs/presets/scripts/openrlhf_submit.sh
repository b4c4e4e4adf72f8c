ray job submit --address="http://127.0.0.1:8265" \
   --runtime-env-json='{"working_dir": "/w"}' \
   -- python3 -m openrlhf.cli.train_ppo_ray \
   --ckpt.load_enable \
   --rollout.batch_size 64
