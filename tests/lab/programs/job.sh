#!/bin/bash
# Starts Ray in an allocation as published launch scripts do: the nodes sorted as strings, the head on the first of
# them, its dashboard on its own address only, or on DASHBOARD_HOST; the driver is the rest of the job's life.
set -u
nodes=($(scontrol show hostnames "$SLURM_JOB_NODELIST" | sort))
head=${nodes[0]}
address=$(getent hosts "$head" | cut -d' ' -f1)
here="srun --overlap --nodes=1 --ntasks=1 --nodelist"
start="python -m ray.scripts.scripts start --block --disable-usage-stats --num-cpus=2
  --object-store-memory=80000000 --min-worker-port=0 --max-worker-port=0"
# A raylet waits 15 s for its agents and then dies, which is too short on a busy machine.
again() { for try in 1 2 3 4; do "$@" && return; done; }
again $here "$head" $start --head --node-ip-address="$address" --dashboard-host="${DASHBOARD_HOST:-$address}" \
  --include-dashboard=true &
until $here "$head" python -c "
import socket
socket.create_connection(('$address', 6379), 5)
"; do sleep 0.5; done 2>/dev/null
for node in "${nodes[@]:1}"; do
  again $here "$node" $start --address="$address:6379" --node-ip-address="$(getent hosts "$node" | cut -d' ' -f1)" &
done
wait
