#! /bin/bash

export EMBODIED_PATH="$( cd "$(dirname "${BASH_SOURCE[0]}" )" && pwd )"
export SRC_FILE="${EMBODIED_PATH}/train.py"
export NCCL_DEBUG=${NCCL_DEBUG:-WARN}

if [ -z "$1" ]; then
    CONFIG_NAME=${CONFIG_NAME:-"ppo"}
else
    CONFIG_NAME=$1
fi
EXTRA=""
[ -n "${STEPS:-}" ] && [ "$STEPS" != "-2" ] && EXTRA+=" runner.max_steps=${STEPS}"

CMD="python3 ${SRC_FILE} --config-path ${EMBODIED_PATH}/config/ --config-name ${CONFIG_NAME}${EXTRA}"
echo ${CMD}
${CMD} 2>&1 | cat
