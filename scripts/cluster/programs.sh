# Installs the Debian packages and builds Kubernetes' programs. Sourced by scripts/cluster.sh.

install_packages() {
  if have_packages; then return; fi
  echo "cluster: installing ${packages[*]}"
  # Keeps the packages' scripts from starting services.
  local policy=/usr/sbin/policy-rc.d made=no
  if [ ! -e $policy ]; then printf '#!/bin/sh\nexit 101\n' > $policy && chmod +x $policy && made=yes; fi
  export DEBIAN_FRONTEND=noninteractive
  {
    locked_apt install -y --no-install-recommends "${packages[@]}" ||
      { locked_apt update && locked_apt install -y --no-install-recommends "${packages[@]}"; }
  } > /dev/null
  if [ $made = yes ]; then rm -f $policy; fi
}

# Takes minutes of two cores, once per version. One build for all, so that one program is linked while another is
# compiled.
build_programs() {
  if have_programs; then return; fi
  echo "cluster: building Kubernetes $version and Helm"
  local minor
  minor=$(cut -d . -f 2 <<< "$version")
  go_build "$programs" -ldflags "-s -w -X k8s.io/component-base/version.gitVersion=$version \
    -X k8s.io/component-base/version.gitMajor=1 -X k8s.io/component-base/version.gitMinor=$minor" \
    "${binaries[@]/#/k8s.io/kubernetes/cmd/}" "$helm_package"
}

# Builds Helm alone, which renders the chart, for tests on a cluster that exists already. Prints its path.
helm_program() {
  if [ ! -x "$programs/helm" ]; then
    echo "cluster: building Helm" >&2
    go_build "$programs" -ldflags '-s -w' "$helm_package"
  fi
  echo "$programs/helm"
}

# go_build FOLDER [arguments of go build]: builds programs of k8s/cluster/go.mod. A program in the folder is complete.
# The compiler inlines nothing and writes no data for debuggers, which saves a third of its time; it collects little
# garbage, because there is enough memory.
go_build() {
  local folder=$1 part=$1.$$
  shift
  mkdir -p "$folder" "$part"
  # go.sum in the repository holds every hash, so nothing depends on a checksum database that does not answer for these
  # modules.
  (cd k8s/cluster && CGO_ENABLED=0 GOGC=400 GONOSUMDB='k8s.io/*,sigs.k8s.io/*,helm.sh/*' \
    go build -p "$GOMAXPROCS" -mod=readonly -trimpath -gcflags='all=-l -dwarf=false' \
      -o "$part/" "$@")
  mv "$part"/* "$folder/" && rmdir "$part"
}
