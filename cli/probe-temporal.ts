import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client, Connection } from '@temporalio/client';
import { endProcesses, findProcess } from './supervisor/processes';
import type { Plan } from './supervisor/plan';
import { services } from './supervisor/services';

const READY_LIMIT_MS = 60_000;
/**
 * Number of starts of a server that ends at once. Its internal services take ports that another program may take first.
 */
const STARTS = 3;
/** Number of tries of the first question, because a new server answers before its namespace exists. */
const TRIES = 20;

/**
 * Asks the Temporal server of a plan before its services are started, so that no worker continues anything yet. The
 * embedded server runs only as long as `action`. Null if there is nothing to ask: no database yet, or no server that
 * answers. If the server cannot be started, the supervisor gives the reason later.
 */
export async function askTemporal<T>(plan: Plan, action: (client: Client) => Promise<T>): Promise<T | null> {
  const { start, address, namespace } = plan.temporal;
  if (start === null) return ask(address, namespace, action).catch(() => null);
  if (!existsSync(start.database)) return null;
  for (let starts = 1; ; starts++) {
    const asked = await askForAMoment(plan, action);
    if (asked !== 'ended') return asked;
    if (starts === STARTS) return null;
  }
}

/** Starts the embedded server, asks it, and ends it. 'ended' if it ended before it could be asked. */
async function askForAMoment<T>(plan: Plan, action: (client: Client) => Promise<T>): Promise<T | null | 'ended'> {
  const { address, namespace } = plan.temporal;
  const server = services(plan, () => null).find(({ name }) => name === 'temporal')!;
  const child = spawn(server.command, server.arguments(), {
    env: { ...process.env, ...server.environment() },
    stdio: 'ignore',
  });
  const ended = once(child, 'exit').catch(() => undefined);
  const id = child.pid === undefined ? null : findProcess(child.pid);
  if (id === null) return 'ended';
  try {
    const deadline = Date.now() + READY_LIMIT_MS;
    while (!(await server.isReady(id, 0))) {
      if (child.exitCode !== null || child.signalCode !== null) return 'ended';
      if (Date.now() > deadline) return null;
      await sleep(50);
    }
    return await ask(address, namespace, action).catch(() => null);
  } finally {
    await endProcesses([id]);
    await ended;
  }
}

async function ask<T>(address: string, namespace: string, action: (client: Client) => Promise<T>): Promise<T> {
  const connection = await Connection.connect({ address, connectTimeout: '20s' });
  try {
    const client = new Client({ connection, namespace });
    for (let attempt = 1; ; attempt++) {
      try {
        return await action(client);
      } catch (error) {
        if (attempt >= TRIES) throw error;
        await sleep(250);
      }
    }
  } finally {
    await connection.close();
  }
}
