# Images without a registry: buildah builds them from what is on this machine, containerd imports them. Sourced by
# scripts/cluster.sh.

build() { buildah --root "$state/buildah" --runroot "$state/buildah-run" --storage-driver overlay "$@"; }

# load LOCAL-NAME IMAGE-NAME
load() {
  build push --quiet "$1" "oci-archive:$state/image.tar:$2" > /dev/null
  ctr -a "$state/containerd.sock" -n k8s.io images import --base-name "${2%:*}" "$state/image.tar" > /dev/null
  rm -f "$state/image.tar"
}

# The image of the process that holds a pod's namespaces open.
pause_image() {
  local container
  container=$(build from scratch)
  build copy --quiet "$container" "$(command -v busybox)" /busybox > /dev/null
  build config --entrypoint '["/busybox", "sleep", "2147483647"]' "$container"
  build commit --quiet --rm "$container" pause > /dev/null
  load pause localhost/whetstone/pause:1
}

base_tar=$cache/base-bookworm-1.tar

# A small Debian with Python and the jail, kept in the cache.
base_archive() {
  if [ -e "$base_tar" ]; then return; fi
  local tree=$cache/.base.$$
  echo "cluster: making the base image (debootstrap)"
  debootstrap --variant=minbase --include=python3,bubblewrap,ca-certificates bookworm "$tree" > "$cache/debootstrap.log"
  # debootstrap leaves a busy /proc mounted. What is mounted there is neither archived nor removed.
  local mounted
  for mounted in proc sys dev; do
    if mountpoint --quiet "$tree/$mounted"; then umount --lazy "$tree/$mounted"; fi
  done
  rm -rf "$tree"/var/cache/apt "$tree"/var/lib/apt/lists "$tree"/usr/share/{doc,locale,man}
  ln -sf python3 "$tree/usr/bin/python"
  tar -C "$tree" --one-file-system --exclude=./dev -cf "$base_tar.$$" .
  mv "$base_tar.$$" "$base_tar"
  rm -rf --one-file-system "$tree"
}

# The base image gets the very Python that the project's packages were installed for: another patch version may make
# other pickles and hashes.
base_image() {
  if build inspect --type image base > /dev/null 2>&1; then return; fi
  local container python=$root/.toolchain/venv/bin/python prefix name
  container=$(build from scratch)
  build add --quiet "$container" "$base_tar" / > /dev/null
  prefix=$("$python" -c 'import sys; print(sys.base_prefix)')
  if [ "$prefix" != /usr ]; then
    mkdir -p "$state/python"
    tar -C "$prefix" --exclude=site-packages --exclude=test --exclude=__pycache__ --exclude='*.a' --exclude=include \
      -cf - . | tar -C "$state/python" -xf -
    # At the same path, which is compiled into it. Parents such as /root are opened to the pod's user.
    build copy --quiet "$container" "$state/python" "$prefix" > /dev/null
    rm -rf "$state/python"
    name=$("$python" -c 'import sys; print("python%d.%d" % sys.version_info[:2])')
    build run --isolation chroot "$container" -- sh -c \
      "echo $prefix/lib > /etc/ld.so.conf.d/python.conf && ldconfig && ln -sf $prefix/bin/$name /usr/bin/python &&
       d=$prefix; while [ \$d != / ]; do chmod a+rx \$d; d=\$(dirname \$d); done"
  fi
  build commit --quiet --rm "$container" base > /dev/null
}

# The project's Dockerfile on that base. The Python packages (5.6 GB with torch's CUDA) are not in the image: pods mount
# them from this machine, read-only, as a volume that the tests give to the Job builder.
trainer_image() {
  base_image
  build bud --quiet --isolation chroot --build-arg BASE_IMAGE=localhost/base --build-arg PACKAGES=mounted \
    -t trainer -f trainer-image/Dockerfile "$root" > /dev/null
  load trainer localhost/whetstone/trainer:1
  echo localhost/whetstone/trainer:1
}
