# What the cluster needs of the machine. Sourced by scripts/cluster.sh.

usage() {
  sed -n '2,11s/^# \{0,1\}//p' scripts/cluster.sh >&2
  exit 2
}

# Prints why this machine cannot have the cluster; nothing when it can.
obstacle() {
  if [ "$(uname -s)" != Linux ]; then
    echo "it needs Linux"
  elif [ "$(id -u)" != 0 ]; then
    echo "it needs root: containers, mounts and a network bridge are made"
  elif ! have_packages && ! command -v apt-get >/dev/null; then
    echo "it needs these programs, and there is no apt-get to install them with: $(missing_packages)"
  elif ! have_programs && ! command -v go >/dev/null; then
    echo "Kubernetes is built with Go once, and there is no go on the PATH"
  elif ! have_packages && ! locked_apt update >/dev/null 2>&1; then
    echo "the Debian mirrors do not answer, and these programs are missing: $(missing_packages)"
  elif ! have_programs && ! module_proxy_answers; then
    echo "the Go module proxy does not answer, and Kubernetes is built from there once"
  elif ! mount -t tmpfs none /mnt 2>/dev/null; then
    echo "mounts are not allowed here"
  else
    umount /mnt
    if ! unshare --mount --pid --net --fork true 2>/dev/null; then
      echo "namespaces are not allowed here"
    elif ! can_make_cgroups; then
      echo "control groups cannot be made here"
    fi
  fi
}

# Control groups of version 1 have a memory hierarchy; version 2 has a single one.
can_make_cgroups() {
  local folder=/sys/fs/cgroup
  if [ -d $folder/memory ]; then folder=$folder/memory; fi
  mkdir "$folder/whet-probe-$$" 2>/dev/null && rmdir "$folder/whet-probe-$$"
}

require_able() {
  local why
  why=$(obstacle)
  if [ -n "$why" ]; then
    echo "cluster: cannot be started here: $why." >&2
    exit 3
  fi
}

# As scripts/setup.sh, which may run at the same time.
locked_apt() { flock /var/lib/apt apt-get "$@"; }

missing_packages() {
  local program
  for program in etcd containerd crun buildah debootstrap busybox; do
    command -v "$program" >/dev/null || echo -n "$program "
  done
  [ -x /usr/lib/cni/bridge ] || echo -n containernetworking-plugins
}
module_proxy_answers() {
  (cd k8s/cluster && timeout 60 go list -mod=mod -m "k8s.io/kubernetes@$version" >/dev/null 2>&1)
}
have_packages() { [ -z "$(missing_packages)" ]; }
have_programs() { local name; for name in "${binaries[@]}" helm; do [ -x "$programs/$name" ] || return 1; done; }
