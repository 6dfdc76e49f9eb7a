#!/usr/bin/env bash
# A real Kubernetes of one node for the tests: etcd, API server, controller manager, scheduler, kubelet, containerd.
#
#     scripts/cluster.sh prepare  install and build what is missing, and start nothing
#     scripts/cluster.sh up       start it (after `prepare`); a second time does nothing
#     scripts/cluster.sh image    build the trainer image from this checkout and import it
#     scripts/cluster.sh helm     print the path of helm (built when it is not there; needs Go, not root)
#     scripts/cluster.sh api|node stop|start   the API server or the kubelet alone, for tests that run without it;
#                 `start` waits until it serves again, and does nothing where it runs
#     scripts/cluster.sh down     end every process that `up` recorded, remove mounts, bridge and state
#     scripts/cluster.sh why      nothing when it can run here, else the reason why not (exit code 3)
#
# Kubernetes' programs and Helm are built with Go (k8s/cluster/go.mod) and kept in the user's cache; the rest are Debian
# packages. The last line of `up` is the kubeconfig's path. Only root can run it, and it needs the package mirrors once.
set -euo pipefail
cd "$(dirname "$0")/.."
umask 022
root=$PWD
version=$(sed -n 's#^.*k8s.io/kubernetes \(v[0-9.]*\).*#\1#p' k8s/cluster/go.mod)
cache=${WHET_CLUSTER_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/whetstone}
programs=$cache/kube-$version
state=${WHET_CLUSTER_STATE:-/var/tmp/whetstone-cluster}
node=whet-node
bridge=whetcni0
api_port=${WHET_CLUSTER_PORT:-26443}
binaries=(kube-apiserver kube-controller-manager kube-scheduler kubelet)
helm_package=helm.sh/helm/v3/cmd/helm
packages=(etcd-server containerd crun runc buildah containernetworking-plugins debootstrap busybox-static)
export GOMAXPROCS=${GOMAXPROCS:-2}

. scripts/cluster/checks.sh
. scripts/cluster/programs.sh
. scripts/cluster/processes.sh
. scripts/cluster/services.sh
. scripts/cluster/images.sh

# One at a time: a second call waits until the first one has done the work.
prepare() {
  mkdir -p "$cache"
  kernel_settings
  exec 9> "$cache/.lock"
  flock --nonblock 9 || { echo "cluster: waiting for another 'prepare'" && flock 9; }
  install_packages
  base_archive
  build_programs
  exec 9>&-
}

up() {
  if alive kubelet && alive api; then
    echo "$state/kubeconfig"
    return
  fi
  prepare >&2
  down
  mkdir -p "$state" && chmod 700 "$state"
  cat /proc/sys/net/ipv4/ip_forward > "$state/ip_forward"
  start_control_plane >&2
  start_node >&2
  echo "$state/kubeconfig"
}

case ${1:-} in
  prepare) require_able; prepare ;;
  up) require_able; up ;;
  image) require_able; trainer_image ;;
  helm) helm_program ;;
  api)
    case ${2:-} in
      stop) end api ;;
      start) alive api || start_api; wait_ready ;;
      *) usage ;;
    esac
    ;;
  node)
    case ${2:-} in
      stop) end kubelet ;;
      start) alive kubelet || start_kubelet; wait_schedulable ;;
      *) usage ;;
    esac
    ;;
  down) down ;;
  why) require_able ;;
  *) usage ;;
esac
