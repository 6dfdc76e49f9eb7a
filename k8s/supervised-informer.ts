import {
  type KubeConfig,
  type KubernetesListObject,
  type KubernetesObject,
  ListWatch,
  Watch,
} from '@kubernetes/client-node';

/** Time between full lists. They add everything that a watch has silently missed. */
const RELIST_MS = 10_000;
const RETRY_MS = 500;
const MAX_RETRY_MS = 5_000;

/**
 * Keeps an up-to-date copy of all objects of one kind. client-node's informer stops at almost every error, and a broken
 * connection may not show any error. So a new informer is started after each error, with a growing, jittered delay. In
 * addition, a timer fetches the whole list, which replaces the copy.
 */
export class SupervisedInformer<T extends KubernetesObject> {
  private readonly known = new Map<string, T>();
  private readonly timers = new Set<NodeJS.Timeout>();
  private current: ListWatch<T> | null = null;
  private retryMs = RETRY_MS;
  private closed = false;
  /** Time of the API's last answer, in milliseconds since 1970; 0 before the first. */
  contactMs = 0;

  constructor(
    private readonly config: KubeConfig,
    private readonly path: string,
    private readonly selector: string | undefined,
    private readonly list: () => Promise<KubernetesListObject<T>>,
  ) {}

  /** Starts watching and listing. */
  start(): void {
    this.begin();
    this.later(RELIST_MS, () => this.relist());
  }

  /** The current copy. */
  items(): T[] {
    return [...this.known.values()];
  }

  /** Stops the watch and the timers. It cannot be started again. */
  close(): void {
    this.closed = true;
    for (const timer of this.timers) clearTimeout(timer);
    void this.current?.stop();
  }

  /** Fetches the whole list now. Rejects if the API does not answer. */
  async refresh(): Promise<void> {
    await this.ask();
  }

  /**
   * Begins with a new ListWatch each time. An aborted ListWatch later reports its own abort as an error, which would
   * also stop the next attempt.
   */
  private begin(): void {
    if (this.closed) return;
    const list = async () => {
      const answer = await this.ask();
      // A ListWatch that is stopped while it lists would still open its watch.
      if (this.closed || this.current !== informer) throw new Error('no longer wanted');
      return answer;
    };
    // The same holds for an informer that is stopped while it waits to reconnect, because it does not check again.
    const delayFn = (ms: number) =>
      new Promise<void>((resolve) => this.later(ms, () => this.current === informer && resolve()));
    const informer: ListWatch<T> = new ListWatch<T>(
      this.path,
      new Watch(this.config),
      list,
      false,
      this.selector,
      undefined,
      { delayFn },
    );
    const previous = this.current;
    this.current = informer;
    void previous?.stop();
    const mine = (act: () => void) => {
      if (this.current === informer && !this.closed) act();
    };
    const changed = (item: T) => mine(() => this.put(item));
    const broken = () => mine(() => this.restart());
    informer.on('add', changed);
    informer.on('update', changed);
    informer.on('delete', (item) => mine(() => this.known.delete(key(item))));
    informer.on('error', broken);
    informer.start().catch(broken);
  }

  private restart(): void {
    // Until the next informer begins, further errors belong to the same break and must not count again.
    this.current = null;
    const delay = this.retryMs * (0.5 + Math.random());
    this.retryMs = Math.min(this.retryMs * 2, MAX_RETRY_MS);
    this.later(delay, () => this.begin());
  }

  private async ask(): Promise<KubernetesListObject<T>> {
    const list = await this.list();
    this.noteContact();
    const present = new Set(list.items.map(key));
    for (const [uid, item] of this.known) {
      // An object that is newer than the list came from the watch, and the list does not contain it yet.
      if (!present.has(uid) && !isNewer(item.metadata?.resourceVersion, list.metadata?.resourceVersion))
        this.known.delete(uid);
    }
    for (const item of list.items) this.put(item);
    return list;
  }

  private put(item: T): void {
    this.noteContact();
    const before = this.known.get(key(item));
    if (!isNewer(before?.metadata?.resourceVersion, item.metadata?.resourceVersion)) this.known.set(key(item), item);
  }

  private noteContact(): void {
    this.contactMs = Date.now();
    this.retryMs = RETRY_MS;
  }

  private async relist(): Promise<void> {
    // A failure is visible in contactMs, which is then not updated.
    await this.ask().catch(() => undefined);
    this.later(RELIST_MS, () => this.relist());
  }

  private later(ms: number, action: () => unknown): void {
    if (this.closed) return;
    const timer = setTimeout(() => {
      this.timers.delete(timer);
      action();
    }, ms);
    // The timer must not keep the process alive.
    timer.unref();
    this.timers.add(timer);
  }
}

const key = (item: KubernetesObject): string => item.metadata?.uid ?? '';

/** Compares resource versions, which are growing integers; false if one of them is none, as behind some proxies. */
function isNewer(version: string | undefined, than: string | undefined): boolean {
  return /^\d+$/.test(version ?? '') && /^\d+$/.test(than ?? '') && BigInt(version!) > BigInt(than!);
}
