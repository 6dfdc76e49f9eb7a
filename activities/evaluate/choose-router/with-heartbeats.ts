import { Progress } from '../../progress';

/** Runs work that sends no heartbeats of its own. */
export async function withHeartbeats<T>(note: string, work: () => Promise<T>): Promise<T> {
  using _ = new Progress({ stage: 'evaluate', unit: 'routers', total: 1, note });
  return await work();
}
