import { createHash } from 'node:crypto';
import { REPORT_AUDIENCE } from '../../../k8s/names';
import type { Cluster } from '../../../k8s/cluster';
import type { TokenCheck } from './report-inbox';
import type { TokenStatus } from './report-token';

/** How long the API server's word about a token is believed: reports come every iteration. */
const BELIEVED_MS = 60_000;
/** Where TokenReview says which pod a projected token was made for. */
const POD_NAME = 'authentication.kubernetes.io/pod-name';
/** Kubernetes labels a Job's pods with its name. */
const JOB_LABEL = 'batch.kubernetes.io/job-name';

/** Checks the projected tokens of a namespace's pods: of our audience, not expired, and of a pod of that very Job. */
export function podTokenCheck(cluster: Cluster, namespace: string): TokenCheck {
  const believed = new Map<string, { verdict: TokenStatus; untilMs: number }>();
  return async (token, job) => {
    const key = createHash('sha256').update(`${job}\0${token}`).digest('hex');
    const known = believed.get(key);
    if (known !== undefined && Date.now() < known.untilMs) return known.verdict;
    const verdict = await ask(cluster, namespace, token, job);
    // Bounded whoever asks: a stranger's tokens push each other out.
    if (believed.size >= 256) believed.clear();
    believed.set(key, { verdict, untilMs: Date.now() + BELIEVED_MS });
    return verdict;
  };
}

async function ask(cluster: Cluster, namespace: string, token: string, job: string): Promise<TokenStatus> {
  if (token === '') return 'forged';
  const { status } = await cluster.reviewToken(token, REPORT_AUDIENCE);
  if (status?.authenticated !== true) return /expired/i.test(status?.error ?? '') ? 'late' : 'forged';
  const name = status.user?.extra?.[POD_NAME]?.[0];
  if (name === undefined || status.user?.username?.startsWith(`system:serviceaccount:${namespace}:`) !== true)
    return 'forged';
  const pod = await cluster.readPod(namespace, name);
  return pod?.metadata?.labels?.[JOB_LABEL] === job ? 'good' : 'forged';
}
