import type { Context } from '@temporalio/activity';
import type { ActivityInboundCallsInterceptor } from '@temporalio/worker';
import { HEARTBEAT_MS } from '../contracts/limits';

/**
 * Interceptor that sends the heartbeats of activities without progress to report, which are the orchestration queue's.
 * Temporal gives such an activity to another worker soon after its own was killed. The others send their own.
 * @param everyMs time between two heartbeats, in milliseconds.
 */
export function heartbeatInterceptor(
  context: Pick<Context, 'info' | 'heartbeat'>,
  everyMs = HEARTBEAT_MS.timeout.orchestration / 6,
): { inbound: ActivityInboundCallsInterceptor } {
  return {
    inbound: {
      async execute(input, next) {
        if (context.info.heartbeatTimeoutMs !== HEARTBEAT_MS.timeout.orchestration) return next(input);
        const timer = setInterval(() => context.heartbeat(), everyMs);
        try {
          return await next(input);
        } finally {
          clearInterval(timer);
        }
      },
    },
  };
}
