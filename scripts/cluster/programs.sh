# Installs Debian's part and builds Kubernetes' part. Sourced by scripts/cluster.sh.

install_packages() {
  if have_packages; then return; fi
  echo "cluster: installing ${packages[*]}"
  # The packages' own services are not wanted: this keeps their scripts from starting any.
  local policy=/usr/sbin/policy-rc.d made=no
  if [ ! -e $policy ]; then printf '#!/bin/sh\nexit 101\n' > $policy && chmod +x $policy && made=yes; fi
  export DEBIAN_FRONTEND=noninteractive
  { apt-get install -y --no-install-recommends "${packages[@]}" || { apt-get update && apt-get install -y --no-install-recommends "${packages[@]}"; }; } > /dev/null
  if [ $made = yes ]; then rm -f $policy; fi
}

# About eight minutes of two cores, once per version: one build, so that one program is linked while another is compiled, and with few garbage
# collections, since there is memory.
build_programs() {
  if have_programs; then return; fi
  local part=$programs.$$ minor=${version#v1.}
  mkdir -p "$programs" "$part"
  echo "cluster: building Kubernetes $version"
  (
    cd k8s/cluster
    # go.sum in the repository holds every hash, so nothing depends on a checksum database that does not answer for these modules.
    CGO_ENABLED=0 GOGC=400 GONOSUMDB='k8s.io/*,sigs.k8s.io/*' nice -n 10 go build -p "$GOMAXPROCS" -mod=readonly -trimpath -o "$part/" \
      -ldflags "-s -w -X k8s.io/component-base/version.gitVersion=$version -X k8s.io/component-base/version.gitMajor=1 -X k8s.io/component-base/version.gitMinor=${minor%%.*}" \
      "${binaries[@]/#/k8s.io/kubernetes/cmd/}"
  )
  mv "$part"/* "$programs/" && rmdir "$part"
}

# Helm, which renders the chart; two minutes of two cores, once per version. Prints its path.
helm_program() {
  local version path part
  version=$(sed -n 's#^require helm.sh/helm/v3 \(v[0-9.]*\)#\1#p' k8s/helm/go.mod)
  path=$cache/helm-$version
  if [ ! -x "$path" ]; then
    echo "cluster: building helm $version" >&2
    mkdir -p "$cache"
    part=$cache/.helm.$$
    (cd k8s/helm && CGO_ENABLED=0 GOGC=400 GONOSUMDB='k8s.io/*,sigs.k8s.io/*,helm.sh/*' nice -n 10 go build -p "$GOMAXPROCS" -mod=readonly -trimpath -ldflags '-s -w' -o "$part" helm.sh/helm/v3/cmd/helm)
    mv "$part" "$path"
  fi
  echo "$path"
}
