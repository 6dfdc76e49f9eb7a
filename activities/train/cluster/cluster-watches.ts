import type { Cluster } from '../../../k8s/cluster';
import type { NamespaceWatch } from '../../../k8s/namespace-watch';
import { failure } from '../../../contracts/typed-failure';

/** A cluster, and the watch of one of its namespaces, until it is disposed of. */
interface Watched extends Disposable {
  cluster: Cluster;
  watch: NamespaceWatch;
}

/** Shares one watch for each namespace among all trainings in it. */
export class ClusterWatches {
  private cluster: Promise<Cluster> | null = null;
  private readonly open = new Map<string, { watch: NamespaceWatch; users: number }>();

  constructor(private readonly openCluster: () => Promise<Cluster>) {}

  /**
   * Returns the cluster and the namespace's watch, which stays open while it is used.
   * @throws Trainer.ClusterRefused when the cluster cannot be opened.
   */
  async acquire(namespace: string): Promise<Watched> {
    this.cluster ??= this.openCluster();
    const cluster = await this.cluster.catch((error: unknown) => {
      this.cluster = null;
      throw failure('Trainer.ClusterRefused', `The cluster cannot be used: ${(error as Error).message}.`, {
        cause: error as Error,
      });
    });
    const entry = this.open.get(namespace) ?? { watch: cluster.watch(namespace), users: 0 };
    entry.users += 1;
    this.open.set(namespace, entry);
    const release = () => {
      entry.users -= 1;
      if (entry.users > 0) return;
      entry.watch.close();
      this.open.delete(namespace);
    };
    return { cluster, watch: entry.watch, [Symbol.dispose]: release };
  }
}
