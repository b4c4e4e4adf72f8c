#!/bin/bash
# PID 1 of one host of a site: a root of its own made of bind mounts, then its daemons.
# Arguments: the site's folder and the host's name.  Overlays are not used, since they cannot be stacked at will.
set -eu
site=$1
name=$2
own=$site/hosts/$name # what tests/lab/files.py has written for this host: etc, binds, daemons
root=$own/root

# The /proc of outside is still mounted, so this is the pid as the tests see it.
read -r pid _ </proc/self/stat
echo "$pid" >"$site/run/$name.pid.new"
mv "$site/run/$name.pid.new" "$site/run/$name.pid"
until [ -s "$site/run/$name.plugged" ]; do sleep 0.02; done

mkdir -p "$root"
mount -t tmpfs -o mode=755 root "$root"
for folder in usr bin sbin lib lib32 lib64 libx32 opt; do
  if [ -L "/$folder" ]; then
    cp -a "/$folder" "$root/$folder"
  elif [ -d "/$folder" ]; then
    mkdir "$root/$folder"
    mount --rbind "/$folder" "$root/$folder"
  fi
done
cp -a /etc "$root/etc"
cp -a "$own/etc/." "$root/etc/"
: >"$root/etc/resolv.conf"
mkdir -p "$root"/{root,home,tmp,proc,sys,dev,run/sshd,run/munge,var/log/slurm,var/log/munge,var/lib/munge,var/lib/slurm,var/spool,var/tmp,old}
ln -s ../run "$root/var/run"
chmod 1777 "$root/var/tmp"
mount --bind "$own/tmp" "$root/tmp"
mount --bind "$(cat "$own/home")" "$root/home"
while read -r folder; do
  mkdir -p "$root$folder"
  mount --rbind "$folder" "$root$folder"
  mount -o remount,bind,ro "$root$folder"
done <"$own/binds"

mount -t proc proc "$root/proc"
mount -t sysfs sysfs "$root/sys" || echo "no sysfs"
# slurmd 22.05 wants something to be mounted here and is content with an empty folder.
mount -t tmpfs -o size=64k cgroup "$root/sys/fs/cgroup" || echo "no place for cgroups"
mount -t tmpfs -o mode=755 dev "$root/dev"
for device in null zero full random urandom tty; do
  : >"$root/dev/$device"
  mount --bind "/dev/$device" "$root/dev/$device"
done
mkdir "$root/dev/pts" "$root/dev/shm"
mount -t devpts -o newinstance,ptmxmode=0666,mode=620,gid=5 devpts "$root/dev/pts"
mount -t tmpfs -o mode=1777,size=2g shm "$root/dev/shm"
ln -s pts/ptmx "$root/dev/ptmx"
ln -s /proc/self/fd "$root/dev/fd"
for n in 0:stdin 1:stdout 2:stderr; do ln -s "/proc/self/fd/${n%:*}" "$root/dev/${n#*:}"; done

exec 9>"$site/run/$name.up" # stays open beyond the change of the root
daemons=$(cat "$own/daemons")
cd "$root"
pivot_root . old
cd /
umount -l old
rmdir old
hostname "$name"
ip link set lo up
# As on many nodes of such sites there is no ::1.
echo 1 >/proc/sys/net/ipv6/conf/all/disable_ipv6 || true
start() {
  case $1 in
    sshd) /usr/sbin/sshd -f /etc/ssh/lab_config -E /var/log/sshd.log ;;
    munged)
      install -d -m 700 -o munge -g munge /etc/munge /var/log/munge /var/lib/munge
      chown munge:munge /run/munge /etc/munge/munge.key
      setpriv --reuid munge --regid munge --clear-groups /usr/sbin/munged
      ;;
    slurmctld)
      chown slurm:slurm /var/log/slurm /var/lib/slurm
      /usr/sbin/slurmctld
      ;;
    slurmd) /usr/sbin/slurmd -N "$name" ;;
  esac
}
for daemon in $daemons; do
  start "$daemon" || echo "$daemon did not start"
done
echo up >&9
exec 9>&-
while :; do
  sleep 3600 &
  wait $!
done
