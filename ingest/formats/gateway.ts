import { SEVERAL_MODELS, trajectorySchema } from '../../contracts/artifacts/trajectory';
import type { Format } from '../format';

/**
 * Trajectories of ours: what the gateway writes of live traffic, and what runs collect. A conversation of live traffic
 * is written again when it goes on; its seed names it.
 */
export const gateway: Format = {
  name: 'gateway',
  detects: ({ task, samplingSeed, messages, finish }) =>
    typeof task === 'object' && samplingSeed !== undefined && finish !== undefined && Array.isArray(messages),
  read(record, _head, sink) {
    const {
      id,
      task,
      model,
      messages,
      leftOut = [],
      branches,
      reward,
      success,
      finish,
    } = trajectorySchema.parse(record);
    const key = task.split === 'live' ? `live-${task.seed}` : id;
    sink.fragment({
      format: 'gateway',
      key,
      model: model === SEVERAL_MODELS ? null : model,
      startedAt: null,
      messages,
      leftOut,
      seed: task.seed,
      ...(branches && { branches }),
    });
    if (finish === 'failed') return sink.leaveOut('the outcome of an episode in which something else failed (finish)');
    // The agent's own threshold has decided.
    const passesFrom = success ? Math.min(reward, 1) : Math.min(reward + Number.EPSILON, 1.1);
    sink.score({ conversation: key, name: 'reward', value: reward, passesFrom, from: 'trace' });
  },
};
