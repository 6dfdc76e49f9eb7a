import { Context } from '@temporalio/activity';
import { startProgress } from '../../progress';

/** Runs work that sends no heartbeats of its own. */
export async function withHeartbeats<T>(note: string, work: () => Promise<T>): Promise<T> {
  const { heartbeat } = Context.current();
  const progress = startProgress({ stage: 'evaluate', unit: 'routers', total: 1, heartbeat, note });
  try {
    return await work();
  } finally {
    progress.stop();
  }
}
