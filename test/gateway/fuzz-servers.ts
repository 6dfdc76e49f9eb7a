/**
 * Sends the same odd requests to a gateway and to the policy server behind it: duplicate and escaped keys, numbers at
 * the edge, depth, size. Fails on a 5xx, an answer that is not in OpenAI's format, a model server that was ready and is
 * not, or memory that grew: `node dist/test/gateway/fuzz-servers.js [--cases 1000] [--seed 1] [--per-second 50]`. By
 * default eight requests are always under way, which is all that two cores can answer; `--per-second` leaves room, so
 * that the times show what an odd request holds up rather than a full machine. The last line is the result as JSON,
 * with the times of another client alone, beside ordinary requests and beside the odd ones. The gateway lies in this
 * process, which runs with the flags with which a gateway is started.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { percentile } from '../../bench/shared/percentile';
import { gatewayArguments } from '../../cli/supervisor/gateway-arguments';
import { makeModel, PolicyServer } from './clients/policy-server';
import { FuzzSender } from './fuzz-sender';
import { GatewayFixture } from './gateway-fixture';

/** Growth of memory that is allowed, as a factor. */
const MEMORY_GROWTH = 1.2;
/** Share of the cases that come before memory is measured for the first time, so that heaps and caches are filled. */
const WARM_UP = 0.2;
/** Requests of the other client alone: enough that ten of them are slower than the 99th percentile. */
const ALONE_REQUESTS = 1_000;

/** Resident memory of a process in bytes. */
function residentBytes(pid: number): number {
  const line = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'));
  return Number(line?.[1] ?? 0) * 1_024;
}

const inMb = (bytes: number): number => Math.round(bytes / 1e6);

/** Memory of this process that something still refers to, in MB: heap, and buffers beside it. */
function reachableMb(): { heap: number; buffers: number } {
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return { heap: inMb(heapUsed), buffers: inMb(arrayBuffers) };
}

/** Starts this file again with a gateway's flags for Node, unless it has them. Returns whether it did. */
function startedWithFlags(): boolean {
  const flags = gatewayArguments('').filter((word) => word.startsWith('--'));
  if (flags.every((flag) => process.execArgv.includes(flag))) return false;
  const { status } = spawnSync(process.execPath, [...flags, __filename, ...process.argv.slice(2)], {
    stdio: 'inherit',
  });
  process.exitCode = status ?? 1;
  return true;
}

async function main(): Promise<void> {
  if (startedWithFlags()) return;
  const { values } = parseArgs({
    options: {
      cases: { type: 'string', default: '1000' },
      seed: { type: 'string', default: '1' },
      'per-second': { type: 'string' },
    },
  });
  const cases = Number(values.cases);
  const perSecond = values['per-second'] === undefined ? null : Number(values['per-second']);
  const folder = mkdtempSync(join(tmpdir(), 'whet-fuzz-'));
  makeModel(join(folder, 'model'), join(folder, 'adapter'));
  const policy = await PolicyServer.start(join(folder, 'model'), 'desk-base');
  const fixture = await new GatewayFixture().start({
    registry: { versions: [] },
    replicas: 0,
    agent: { replicas: [policy.url], traces: { sample: 1 } },
  });
  const replica = fixture.agent.replicas.all[0]!;
  const gatewayUrl = `${fixture.url}/v1`;
  const targets = [
    { where: 'gateway', url: gatewayUrl, model: 'desk' },
    { where: 'policy server', url: policy.url, model: 'desk-base' },
  ];
  const [sender, client] = [new FuzzSender(), new FuzzSender()];
  const memory = () => ({ gateway: residentBytes(process.pid), policy: residentBytes(policy.pid) });
  const send = (from: number, to: number, seed: number | null = Number(values.seed)) =>
    sender.carryOut({ kind: 'cases', targets, seed, from, to, perSecond });
  /** What another client's requests take while this work is done, in milliseconds. */
  const timesBeside = async <T>(work: () => Promise<T>): Promise<{ result: T; times: number[] }> => {
    const running = client.carryOut({ kind: 'client', url: gatewayUrl, requests: null });
    const result = await work();
    client.over();
    return { result, times: (await running).times };
  };
  const quiet = (await client.carryOut({ kind: 'client', url: gatewayUrl, requests: ALONE_REQUESTS })).times;
  const cold = memory();
  const warmUp = Math.floor(cases * WARM_UP);
  const first = await send(0, warmUp);
  const ordinary = await timesBeside(() => send(0, warmUp, null));
  const { epoch } = replica;
  const before = memory();
  const { result: second, times } = await timesBeside(() => send(warmUp, cases));
  const after = memory();
  const findings = [...first.findings, ...second.findings, ...ordinary.result.findings];
  const ready = replica.ready && replica.epoch === epoch;
  const both = ({ gateway, policy }: typeof cold) => [gateway, policy].map(inMb);
  const growth = { gateway: after.gateway / before.gateway, policy: after.policy / before.policy };
  for (const finding of findings.slice(0, 20)) console.log(JSON.stringify(finding));
  const p99 = (list: number[]) => Number(percentile(list, 0.99).toFixed(1));
  console.log(
    JSON.stringify({
      name: 'fuzz-servers',
      cases,
      perSecond,
      findings: findings.length,
      statuses: [first.statuses, second.statuses],
      ready,
      growth,
      // Of the gateway and of the policy server. Growth is from `warm`: after so many odd and ordinary requests.
      warmUp: { odd: warmUp, ordinary: warmUp },
      residentMb: { cold: both(cold), warm: both(before), after: both(after) },
      // Of the gateway, at the end.
      reachableMb: reachableMb(),
      nodeFlags: process.execArgv,
      // Of another client: alone, beside as many ordinary requests at once, beside the odd ones.
      aloneP99Ms: p99(quiet),
      besideOrdinaryP99Ms: p99(ordinary.times),
      besideOddP99Ms: p99(times),
    }),
  );
  sender.stop();
  client.stop();
  await fixture.stop();
  await policy.stop();
  rmSync(folder, { recursive: true, force: true });
  const grew = Math.max(growth.gateway, growth.policy) > MEMORY_GROWTH;
  process.exitCode = findings.length === 0 && ready && !grew && fixture.errors.length === 0 ? 0 : 1;
}

main().catch((error: unknown) => {
  console.error(error);
  process.exitCode = 1;
});
