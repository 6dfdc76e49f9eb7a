import type { Context } from '@temporalio/activity';
import type { ActivityInboundCallsInterceptor } from '@temporalio/worker';
import { HEARTBEAT_MS } from '../contracts/limits';

/**
 * Interceptor that sends heartbeats for activities without progress to report: those of the orchestration queue. With
 * them, Temporal soon restarts such an activity on another worker when the first worker was killed. Other activities
 * send their own heartbeats.
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
