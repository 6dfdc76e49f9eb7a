# The control plane and the node. Sourced by scripts/cluster.sh.
# The reasons for the settings: CAP_SYS_RESOURCE may be missing here (restrict_oom_score_adj, no control groups for QoS
# classes); control groups may have version 1, or both versions at once (failCgroupV1); there is no swap, quota or DNS.

random_token() { od -An -N24 -tx1 /dev/urandom | tr -d ' \n'; }

kubeconfig() {
  local user=$1 token=$2
  cat > "$state/$user.kubeconfig" <<Y
apiVersion: v1
kind: Config
clusters:
  - name: whetstone
    cluster: {server: "https://127.0.0.1:$api_port", certificate-authority: "$state/certs/apiserver.crt"}
users: [{name: $user, user: {token: "$token"}}]
contexts: [{name: whetstone, context: {cluster: whetstone, user: $user}}]
current-context: whetstone
Y
}

# Each component has a token of its own and only the rights that Kubernetes gives to it.
credentials() {
  umask 077
  openssl genrsa -out "$state/accounts.key" 2048 2> /dev/null
  openssl rsa -in "$state/accounts.key" -pubout -out "$state/accounts.pub" 2> /dev/null
  openssl req -x509 -newkey rsa:2048 -nodes -days 30 -subj /CN=whetstone-kubelet-client \
    -keyout "$state/to-kubelet.key" -out "$state/to-kubelet.crt" 2> /dev/null
  local user name groups token
  : > "$state/tokens.csv"
  while IFS='|' read -r user name groups; do
    token=$(random_token)
    echo "$token,$name,$user,\"$groups\"" >> "$state/tokens.csv"
    kubeconfig "$user" "$token"
  done << 'U'
admin|admin|system:masters
controllers|system:kube-controller-manager|
scheduler|system:kube-scheduler|
kubelet|system:node:whet-node|system:nodes
U
  cp "$state/admin.kubeconfig" "$state/kubeconfig"
  umask 022
}

start_api() {
  start api "$programs/kube-apiserver" --etcd-servers=http://127.0.0.1:22379 \
    --service-account-issuer=https://whetstone.cluster \
    --service-account-key-file="$state/accounts.pub" --service-account-signing-key-file="$state/accounts.key" \
    --token-auth-file="$state/tokens.csv" --authorization-mode=Node,RBAC --enable-admission-plugins=NodeRestriction \
    --cert-dir="$state/certs" --bind-address=127.0.0.1 --secure-port="$api_port" \
    --service-cluster-ip-range=10.96.0.0/16 \
    --kubelet-client-certificate="$state/to-kubelet.crt" --kubelet-client-key="$state/to-kubelet.key" \
    --kubelet-preferred-address-types=InternalIP --allow-privileged=true
}

# Asks the API as the administrator: api_call METHOD PATH [curl's arguments].
api_call() {
  local method=$1 path=$2
  shift 2
  curl --silent --fail --max-time 5 --cacert "$state/certs/apiserver.crt" -X "$method" \
    -H "Authorization: Bearer $(head -n 1 "$state/tokens.csv" | cut -d , -f 1)" \
    "$@" "https://127.0.0.1:$api_port$path"
}

wait_until() {
  local what=$1 log=$2 seconds=$3 i
  shift 3
  for i in $(seq $((seconds * 4))); do
    if "$@" > /dev/null 2>&1; then return; fi
    sleep 0.25
  done
  echo "cluster: $what did not come up within $seconds s; the end of $state/$log.log:" >&2
  tail -n 15 "$state/$log.log" >&2
  return 1
}
wait_ready() { wait_until "the API server" api 90 api_call GET /readyz; }

start_control_plane() {
  credentials
  local clients=http://127.0.0.1:22379 peers=http://127.0.0.1:22380
  start etcd etcd --data-dir "$state/etcd" --listen-client-urls $clients --advertise-client-urls $clients \
    --listen-peer-urls $peers --initial-advertise-peer-urls $peers --initial-cluster default=$peers
  start_api
  wait_ready
  local absent='-nodeipam,-cloud-node-lifecycle-controller,-service-lb-controller,-node-route-controller'
  start controllers "$programs/kube-controller-manager" --kubeconfig="$state/controllers.kubeconfig" \
    --leader-elect=false --secure-port=0 --service-account-private-key-file="$state/accounts.key" \
    --use-service-account-credentials=true --root-ca-file="$state/certs/apiserver.crt" \
    --node-monitor-grace-period=20s --controllers="*,$absent"
  start scheduler "$programs/kube-scheduler" --kubeconfig="$state/scheduler.kubeconfig" \
    --leader-elect=false --secure-port=0
}

container_runtime() {
  mkdir -p "$state/cni"
  cat > "$state/containerd.toml" <<T
version = 2
root = "$state/containerd/root"
state = "$state/containerd/state"
[grpc]
address = "$state/containerd.sock"
[plugins."io.containerd.grpc.v1.cri"]
sandbox_image = "localhost/whetstone/pause:1"
restrict_oom_score_adj = true
disable_apparmor = true
netns_mounts_under_state_dir = true
[plugins."io.containerd.grpc.v1.cri".containerd]
snapshotter = "overlayfs"
[plugins."io.containerd.grpc.v1.cri".cni]
bin_dir = "/usr/lib/cni"
conf_dir = "$state/cni"
T
  # Pods reach each other and this machine only: there is no masquerading.
  cat > "$state/cni/10-whetstone.conflist" <<C
{"cniVersion": "0.4.0", "name": "whetstone", "plugins": [{
  "type": "bridge", "bridge": "$bridge", "isGateway": true, "ipMasq": false,
  "ipam": {"type": "host-local", "dataDir": "$state/cni-ipam", "ranges": [[{"subnet": "10.88.77.0/24"}]],
    "routes": [{"dst": "0.0.0.0/0"}]}}]}
C
  start containerd containerd -c "$state/containerd.toml"
  wait_until containerd containerd 30 ctr -a "$state/containerd.sock" version
}

start_node() {
  container_runtime
  pause_image
  mkdir -p "$state/kubelet/seccomp"
  cp k8s/seccomp/*.json "$state/kubelet/seccomp/"
  cat > "$state/kubelet.yaml" <<Y
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
authentication: {anonymous: {enabled: false}, webhook: {enabled: false}, x509: {clientCAFile: "$state/to-kubelet.crt"}}
authorization: {mode: AlwaysAllow}
port: 26250
readOnlyPort: 0
healthzPort: 0
cgroupDriver: cgroupfs
cgroupsPerQOS: false
enforceNodeAllocatable: []
failSwapOn: false
failCgroupV1: false
containerRuntimeEndpoint: "unix://$state/containerd.sock"
staticPodPath: ""
resolvConf: ""
localStorageCapacityIsolation: false
nodeStatusUpdateFrequency: 5s
evictionHard: {memory.available: "100Mi", nodefs.available: "1%", imagefs.available: "1%"}
imageGCHighThresholdPercent: 100
Y
  start_kubelet
  wait_schedulable
  # GPUs that the scheduler counts and that do not exist.
  api_call PATCH "/api/v1/nodes/$node/status" -H 'Content-Type: application/json-patch+json' \
    -d '[{"op": "add", "path": "/status/capacity/nvidia.com~1gpu", "value": "8"}]' > /dev/null
}

# What the kubelet sets when it starts. It is set early because tests that run at the same time compare the settings
# before and after an attack. Where they cannot be set, the kubelet says so.
kernel_settings() {
  local setting
  for setting in vm/overcommit_memory=1 kernel/panic=10 kernel/panic_on_oops=1; do
    { echo "${setting#*=}" > "/proc/sys/${setting%=*}"; } 2> /dev/null || true
  done
}

start_kubelet() {
  start kubelet "$programs/kubelet" --config "$state/kubelet.yaml" --kubeconfig "$state/kubelet.kubeconfig" \
    --root-dir "$state/kubelet" --hostname-override $node
}

# A node that was away keeps its taints for a moment after it is ready again.
node_schedulable() {
  local found
  found=$(api_call GET "/api/v1/nodes/$node") && grep -q '"reason": *"KubeletReady"' <<< "$found" &&
    ! grep -q '"taints":' <<< "$found"
}
wait_schedulable() { wait_until "the node" kubelet 90 node_schedulable; }
