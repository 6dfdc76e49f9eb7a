import { createHash } from 'node:crypto';
import { REPORT_AUDIENCE } from '../../../k8s/names';
import type { Cluster } from '../../../k8s/cluster';
import type { TokenCheck, TokenStatus } from './report-inbox';

/** How long the API server's answer about a token is reused. Reports arrive with every iteration. */
const CACHE_MS = 60_000;
/** Key under which TokenReview names the pod of a projected token. */
const POD_NAME = 'authentication.kubernetes.io/pod-name';
/** Label with the Job's name that Kubernetes gives to the Job's pods. */
const JOB_LABEL = 'batch.kubernetes.io/job-name';

/**
 * Makes the function that checks projected tokens of a namespace's pods. A token is valid if it has the audience of
 * reports, has not expired, and belongs to a pod of the Job. The check throws if the API server does not answer.
 */
export function podTokenCheck(cluster: Cluster, namespace: string): TokenCheck {
  const cache = new Map<string, { status: TokenStatus; untilMs: number }>();
  return async (token, job) => {
    const key = createHash('sha256').update(`${job}\0${token}`).digest('hex');
    const known = cache.get(key);
    if (known !== undefined && Date.now() < known.untilMs) return known.status;
    const status = await review(cluster, namespace, token, job);
    // The size is limited, because a caller can send any number of invalid tokens.
    if (cache.size >= 256) cache.clear();
    cache.set(key, { status, untilMs: Date.now() + CACHE_MS });
    return status;
  };
}

async function review(cluster: Cluster, namespace: string, token: string, job: string): Promise<TokenStatus> {
  if (token === '') return 'forged';
  const { status } = await cluster.reviewToken(token, REPORT_AUDIENCE);
  if (status?.authenticated !== true) return /expired/i.test(status?.error ?? '') ? 'late' : 'forged';
  const name = status.user?.extra?.[POD_NAME]?.[0];
  if (name === undefined || status.user?.username?.startsWith(`system:serviceaccount:${namespace}:`) !== true)
    return 'forged';
  const pod = await cluster.readPod(namespace, name);
  return pod?.metadata?.labels?.[JOB_LABEL] === job ? 'good' : 'forged';
}
