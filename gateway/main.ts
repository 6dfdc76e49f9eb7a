/** Entry point of the gateway process. cli/supervisor/gateway-arguments.ts has its start arguments. */
import { cleanStandardStreams } from '../contracts/clean-streams';
import { logFatalErrors } from '../contracts/log-fatal-errors';
import { GatewayConfigError } from '../loaders/gateway-config';
import { LocalStore } from '../store';
import { readProcessConfig } from './process-config';
import { Gateway } from './gateway';
import { GatewayServer } from './server';
import { ListenError } from './listen-error';
import { createLog } from './log';
import { createTracing } from './opentelemetry';

async function main(): Promise<void> {
  cleanStandardStreams();
  logFatalErrors('gateway');
  const { gateway: config, storeRoot, modelApiKey } = readProcessConfig();
  const log = createLog();
  const gateway = new Gateway(config, {
    store: new LocalStore(storeRoot),
    log,
    modelApiKey,
    tracing: await createTracing(),
  });
  const server = new GatewayServer(gateway);
  await gateway.start();
  const port = await server.listen(config.host, config.port);
  const { admin } = config;
  if (admin !== undefined) {
    const adminPort = await server.listenForOperators(admin.host, admin.port);
    log.info({ url: `http://${admin.host}:${adminPort}` }, 'metrics are served');
  }
  console.log(`listening on http://${config.host}:${port}`);
  let stopping = false;
  const hurry = new AbortController();
  const stop = async (signal: NodeJS.Signals) => {
    // The wait for load balancers is skipped after Ctrl-C in a terminal, and after a second signal.
    if (stopping || signal === 'SIGINT') hurry.abort();
    if (stopping) return;
    stopping = true;
    const cut = await server.drain(config.timeouts.drainMs, config.timeouts.unreadyMs, hurry.signal);
    await gateway.stop();
    log.info({ cut }, 'stopped');
    process.exit(0);
  };
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => void stop(signal));
}

main().catch((error: unknown) => {
  const isWrongInput = error instanceof GatewayConfigError || (error instanceof ListenError && error.isConfiguration);
  console.error(isWrongInput || error instanceof ListenError ? error.message : error);
  process.exit(isWrongInput ? 2 : 1);
});
