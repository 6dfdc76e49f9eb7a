import { type GatewayConfig, gatewayConfigSchema } from '../contracts/config/gateway-config';
import { readYaml } from './read-yaml';
import { problemLines, schemaProblems, shown, type SpecProblem } from './schema-problems';

/**
 * A gateway configuration cannot be used. The message has a line for each problem: source, field, value and the allowed
 * values.
 */
export class GatewayConfigError extends Error {
  readonly type = 'Gateway.ConfigInvalid';

  constructor(source: string, problems: readonly SpecProblem[]) {
    super(problemLines(source, problems));
    this.name = 'GatewayConfigError';
  }
}

/**
 * Reads and checks a gateway.yaml and fills in all defaults. @throws GatewayConfigError with every problem that was
 * found.
 */
export function loadGatewayConfig(file: string): GatewayConfig {
  const read = readYaml(file);
  if ('problems' in read) throw new GatewayConfigError(file, read.problems);
  return checkGatewayConfig(read.value, file);
}

/** Checks a configuration and fills in its defaults. @throws GatewayConfigError */
export function checkGatewayConfig(raw: unknown, source: string): GatewayConfig {
  const parsed = gatewayConfigSchema.safeParse(raw);
  if (!parsed.success) throw new GatewayConfigError(source, schemaProblems(parsed.error, raw, gatewayConfigSchema));
  const problems = crossChecks(parsed.data);
  if (problems.length > 0) throw new GatewayConfigError(source, problems);
  return parsed.data;
}

const LOOPBACK = ['127.0.0.1', '::1', 'localhost'];

/** Checks that involve several fields, which the schema cannot express. */
function crossChecks({ agents, keys, host }: GatewayConfig): SpecProblem[] {
  const problems: SpecProblem[] = [];
  const names = agents.map(({ name }) => name);
  names.forEach((name, i) => {
    if (names.indexOf(name) !== i)
      problems.push({
        path: `agents.${i}.name`,
        message: `${JSON.stringify(name)} is there twice. Allowed: each agent once.`,
      });
  });
  const clients = new Map<string, string>();
  keys.forEach(({ client, sha256 }, i) => {
    const first = clients.get(sha256);
    if (first === undefined) clients.set(sha256, client);
    else
      problems.push({
        path: `keys.${i}.sha256`,
        message: `${shown(JSON.stringify(client))} has the same key as ${shown(JSON.stringify(first))}. Allowed: each key once.`,
      });
  });
  keys.forEach(({ agents: allowed }, i) => {
    const unknown = allowed?.filter((name) => !names.includes(name)) ?? [];
    if (unknown.length > 0)
      problems.push({
        path: `keys.${i}.agents`,
        message: `there is no agent ${unknown.join(', ')}. Allowed: ${names.join(', ')}.`,
      });
  });
  if (keys.length === 0 && !LOOPBACK.includes(host)) {
    problems.push({
      path: 'host',
      message:
        `${JSON.stringify(host)} can be reached from outside, and no keys are set. Set keys, or listen on ` +
        `one of ${LOOPBACK.join(', ')}.`,
    });
  }
  const adminPorts = new Map<string, number | undefined>();
  agents.forEach(({ replicas: urls, adminPort }, i) => {
    // The gateway, too, treats both spellings as one replica.
    const replicas = urls.map((url) => url.replace(/\/$/, ''));
    const shared = replicas.find((url) => adminPorts.has(url) && adminPorts.get(url) !== adminPort);
    if (shared !== undefined)
      problems.push({
        path: `agents.${i}.adminPort`,
        message: `differs from that of another agent with the server ${shared}. Allowed: one for each server.`,
      });
    for (const url of replicas) adminPorts.set(url, adminPort);
  });
  agents.forEach(({ traces }, i) =>
    traces.redactPatterns.forEach((pattern, j) => {
      try {
        new RegExp(pattern, 'g');
      } catch (error) {
        problems.push({
          path: `agents.${i}.traces.redactPatterns.${j}`,
          message: `${(error as Error).message}. Allowed: regular expressions of JavaScript.`,
        });
      }
    }),
  );
  return problems;
}
