#!/usr/bin/bash
# Stands for a program in the sandbox: records its arguments and environment as NUL-separated fields, and ends.
name=${STUB_NAME:-${0##*/}}
unset STUB_NAME
{ printf '%s\0' "$name" "$PWD" "$#" "$@"; env -0; } >"/record/calls/$EPOCHREALTIME-$BASHPID"
case $name in
  sleep)
    # A script that waits for a cluster would wait for ever.
    printf . >>/record/sleeps
    [ "$(wc -c </record/sleeps)" -gt 200 ] && kill -KILL -1
    exec pause 0.05
    ;;
  nvidia-smi) for gpu in 0 1 2 3 4 5 6 7; do echo "GPU $gpu: stub"; done ;;
  ray)
    [ "$1" = status ] && echo ' 0.0/8.0 worker_units'
    [[ " $* " == *' --block '* ]] && exec pause 8
    ;;
  git) [ "$1" = rev-parse ] && echo "$TRIAL_CHECKOUT" ;;
  python*) [ "$1" = -c ] && [[ $2 == *npu* ]] && exit 1 ;;
  scontrol)
    case $2 in
      node) echo 'NodeName=node1 CPUTot=64 CfgTRES=cpu=64,gres/gpu=8' ;;
      job) echo "JobId=1 WorkDir=$TRIAL_CHECKOUT" ;;
      *) echo node1 ;;
    esac
    ;;
  hostname) echo node1 ;;
  srun)
    for ((at = 1; at <= $#; at++)); do
      case ${!at} in bash | sh | python | python3 | uv | env | ray | test) exec "${@:at}" ;; esac
    done
    ;;
  sbatch)
    for ((at = 1; at <= $#; at++)); do
      case ${!at} in *.sh | *.sbatch | *.slurm | *.sub) [ -f "${!at}" ] && exec bash "${@:at}" ;; esac
    done
    ;;
esac
exit 0
