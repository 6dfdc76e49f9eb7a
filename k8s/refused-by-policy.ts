import { refusedWishes, type Wish, type WorkerPolicy } from '../contracts/config/operator-policy';
import type { KubernetesSpec } from '../contracts/config/kubernetes-spec';

/**
 * Says what the section `training.kubernetes` of an agent asks for and the operator's policy does not allow: a line for
 * each field, with the entry that would allow it. Null: all of it is allowed. What a Job gets where agent.yaml is
 * silent needs no entry, except for namespace, image and store. Choice of nodes, resources, user, times and counts need
 * none either: quotas and admission of the cluster bound them.
 */
export function refusedByPolicy(worker: WorkerPolicy, agent: string, spec: KubernetesSpec): string | null {
  return refusedWishes(worker, agent, wishesOf(spec));
}

function wishesOf(spec: KubernetesSpec): Wish[] {
  const { namespace, image, imagePullSecrets, serviceAccount, seccomp, appArmor, store, volumes } = spec;
  const { priorityClass, runtimeClass, queue } = spec;
  const wishes: (Wish | null)[] = [
    { field: 'namespace', value: namespace, list: 'namespaces' },
    { field: 'image', value: image, list: 'images' },
    ...imagePullSecrets.map((value, index): Wish => ({
      field: `imagePullSecrets.${index}`,
      value,
      list: 'pullSecrets',
    })),
    serviceAccount === 'default' ? null : { field: 'serviceAccount', value: serviceAccount, list: 'serviceAccounts' },
    seccomp === 'RuntimeDefault' ? null : { field: 'seccomp', value: seccomp, list: 'seccomp' },
    appArmor === undefined || appArmor === 'RuntimeDefault'
      ? null
      : { field: 'appArmor', value: appArmor, list: 'appArmor' },
    priorityClass === undefined ? null : { field: 'priorityClass', value: priorityClass, list: 'priorityClasses' },
    runtimeClass === undefined ? null : { field: 'runtimeClass', value: runtimeClass, list: 'runtimeClasses' },
    queue === undefined ? null : { field: 'queue', value: queue, list: 'queues' },
    { field: 'store', value: store.claim ?? store.hostPath ?? '', list: 'stores' },
    ...volumes.map(({ claim, hostPath, readOnly }, index): Wish => ({
      field: `volumes.${index}.${claim === undefined ? 'hostPath' : 'claim'}`,
      value: claim ?? hostPath ?? '',
      list: readOnly ? 'volumes' : 'writableVolumes',
    })),
  ];
  return wishes.flatMap((wish) => (wish === null ? [] : { ...wish, field: `training.kubernetes.${wish.field}` }));
}
