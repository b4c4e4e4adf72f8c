#!/bin/sh
# Builds the root of the sandbox within namespaces of its own and runs a command in it: enter.sh CHECKOUT TOOLS RECORD FILES ARGUMENTS…
# Of the FILES, separated by blanks, those named python are stubs, and others are empty.
# Only the libraries of this machine are visible, read-only; the checkout is a scratch layer over the real one.
set -e
checkout=$1 tools=$2 record=$3 files=$4
shift 4
root=$record/root
mkdir "$root"
mount -t tmpfs -o size=64m,mode=755 trial "$root"
cd "$root"
mkdir -p usr/bin proc dev tmp/home record .upper .work ".$checkout"
for folder in lib lib64 usr/lib usr/lib64; do
  if [ -L "/$folder" ]; then
    ln -s "$(readlink "/$folder")" "$folder"
  elif [ -d "/$folder" ]; then
    mkdir -p "$folder"
    mount --rbind "/$folder" "$folder"
    mount -o remount,bind,ro "$folder"
  fi
done
ln -s usr/bin bin
mount --bind "$tools" usr/bin
mount -o remount,bind,ro usr/bin
mount -t overlay -o "lowerdir=$checkout,upperdir=$root/.upper,workdir=$root/.work" trial ".$checkout"
mount --bind "$record/shared" record
for file in $files; do
  mkdir -p ".${file%/*}"
  case $file in
    */python*) cp usr/bin/stub ".$file" ;;
    *) touch ".$file" ;;
  esac
done
mount -t proc -o ro,nosuid,nodev,noexec proc proc
for device in null zero urandom; do
  touch "dev/$device"
  mount --bind "/dev/$device" "dev/$device"
done
ln -s /proc/self/fd dev/fd
ln -s /proc/self/fd/1 dev/stdout
ln -s /proc/self/fd/2 dev/stderr
exec chroot "$root" /usr/bin/setpriv --bounding-set=-all --inh-caps=-all --no-new-privs \
  /usr/bin/prlimit --cpu=10 --as=2000000000 --fsize=16000000 --core=0 \
  /usr/bin/timeout 15 /usr/bin/env -C "$checkout" "$@"
