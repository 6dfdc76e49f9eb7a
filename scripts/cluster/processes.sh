# Starts processes, records them, and ends them by the record. Sourced by scripts/cluster.sh.

# A process is identified by its number and its start time: a later process may have the same number.
identity() { awk '{ sub(/.*\) /, ""); print $20 }' "/proc/$1/stat" 2>/dev/null; }

start() {
  local name=$1
  shift
  setsid "$@" >> "$state/$name.log" 2>&1 < /dev/null &
  local pid=$!
  # setsid replaces itself with the program, unless it leads a process group already, so the number is the program's.
  echo "$pid $(identity $pid)" > "$state/$name.pid"
}

alive() {
  local pid began
  [ -e "$state/$1.pid" ] || return 1
  read -r pid began < "$state/$1.pid"
  [ -n "$began" ] && [ "$(identity "$pid")" = "$began" ]
}

end() {
  local name=$1 pid began i
  alive "$name" || return 0
  read -r pid began < "$state/$name.pid"
  kill -TERM "$pid" 2>/dev/null || true
  for i in $(seq 50); do alive "$name" || return 0; sleep 0.1; done
  kill -KILL "$pid" 2>/dev/null || true
}

# Processes of containers are children of shims, which outlive containerd.
end_containers() {
  if ! alive containerd; then return; fi
  local task
  for task in $(ctr -a "$state/containerd.sock" -n k8s.io tasks ls -q 2>/dev/null); do
    ctr -a "$state/containerd.sock" -n k8s.io tasks kill -s SIGKILL -a "$task" >/dev/null 2>&1 || true
  done
  sleep 0.5
  for task in $(ctr -a "$state/containerd.sock" -n k8s.io tasks ls -q 2>/dev/null); do
    ctr -a "$state/containerd.sock" -n k8s.io tasks rm -f "$task" >/dev/null 2>&1 || true
  done
}

# Ends the shims that containerd no longer knows. Their command line names our socket.
end_shims() {
  local line pid
  for line in /proc/[0-9]*/cmdline; do
    # Processes end meanwhile.
    if { tr '\0' ' ' < "$line"; } 2>/dev/null |
      grep -q "^[^ ]*containerd-shim-runc-v2 .*-address $state/containerd.sock"; then
      pid=${line#/proc/}
      kill -KILL "${pid%/cmdline}" 2>/dev/null || true
    fi
  done
}

down() {
  local name mounted
  if [ ! -d "$state" ]; then return; fi
  end kubelet
  end_containers
  for name in containerd scheduler controllers api etcd; do end $name; done
  end_shims
  for mounted in $(awk -v top="$state/" 'index($2, top) == 1 { print $2 }' /proc/self/mounts | sort -r); do
    umount -l "$mounted" || true
  done
  ip link delete $bridge 2>/dev/null || true
  if [ -e "$state/ip_forward" ]; then cat "$state/ip_forward" > /proc/sys/net/ipv4/ip_forward; fi
  rm -rf "$state"
}
