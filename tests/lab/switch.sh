#!/bin/bash
# PID 1 of a site: its network namespace is the site's switch, and all hosts end with it.
# Arguments: the site's folder and its hosts, each as `name=address[,outside address]`.  It ends when its stdin is closed.
set -u
here=$(dirname "$0")
site=$1
shift

fail() {
  echo "the site did not start: $*" >&2
  exit 1
}

# own_pid: this process as /proc names it, which in a PID namespace is not $$.
own_pid() {
  read -r pid _ </proc/self/stat
  echo "$pid"
}

# await FILE: hosts tell by files how far they are.
await() {
  for _ in $(seq 1500); do
    [ -s "$1" ] && return
    sleep 0.02
  done
  fail "no $1"
}

# plug HOST BRIDGE INTERFACE ADDRESS: a cable from the switch to the host.
plug() {
  local port="$1-$3" net
  net=/proc/$(cat "$site/run/$1.pid")/ns/net
  ip link add "$port" type veth peer name cable netns "$net" || fail "no cable to $1"
  ip link set "$port" master "$2" up
  nsenter --net="$net" sh -c "
    ip link set cable name $3 && ip addr add $4/24 dev $3 && ip link set $3 up" || fail "no address for $1"
}

own_pid >"$site/run/switch.pid"
ip link set lo up
for bridge in outside inside; do
  ip link add "$bridge" type bridge stp_state 0 forward_delay 0 && ip link set "$bridge" up || fail "no bridge"
done
for host in "$@"; do
  name=${host%%=*}
  unshare --mount --uts --ipc --net --pid --fork --kill-child=SIGKILL \
    "$here/host.sh" "$site" "$name" </dev/null >"$site/run/$name.log" 2>&1 &
done
for host in "$@"; do
  name=${host%%=*} addresses=${host#*=}
  await "$site/run/$name.pid"
  inside=${addresses%%,*} outside=${addresses#*,}
  [ -n "$inside" ] && plug "$name" inside eth0 "$inside"
  [ "$outside" != "$addresses" ] && plug "$name" outside eth1 "$outside"
  echo plugged >"$site/run/$name.plugged"
done
for host in "$@"; do await "$site/run/${host%%=*}.up"; done
echo ready
read -r _
