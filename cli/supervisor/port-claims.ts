import { tryLock } from './kernel-lock';

/** Ports that this process has claimed. */
const claimed = new Set<number>();

/**
 * Claims a port for this process, so that two `whet up` at the same time choose different ports. Minutes may pass
 * between the choice and the first `listen`, while a model is made. A claim ends with its process; by then a service
 * listens at the port, or none needs it. Returns false when another process has claimed it.
 */
export async function claimPort(port: number): Promise<boolean> {
  if (claimed.has(port)) return true;
  if ((await tryLock(`\0whet-port-${port}`)) === null) return false;
  claimed.add(port);
  return true;
}
