import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parse } from 'yaml';
import { type GatewayConfig, gatewayConfigSchema } from '../contracts';

/** What the gateway process is told. */
export interface ProcessConfig {
  gateway: GatewayConfig;
  storeRoot: string;
  /** WHET_MODEL_API_KEY, for the model servers. */
  modelApiKey: string | null;
}

/** A configuration that cannot be used: one line per problem, with its path. */
export class ConfigError extends Error {}

/**
 * From WHET_GATEWAY_CONFIG (JSON, what `whet gateway` hands over) or the file in WHET_GATEWAY_FILE (YAML), and WHET_STORE / WHET_HOME.
 * Throws ConfigError.
 */
export function readProcessConfig(environment: NodeJS.ProcessEnv = process.env): ProcessConfig {
  const file = environment['WHET_GATEWAY_FILE'];
  const inline = environment['WHET_GATEWAY_CONFIG'];
  if (!inline && !file) throw new ConfigError('Neither WHET_GATEWAY_CONFIG nor WHET_GATEWAY_FILE is set: start the gateway with `whet gateway`.');
  let raw: unknown;
  try {
    raw = inline ? JSON.parse(inline) : parse(readFileSync(file as string, 'utf8'));
  } catch (error) {
    throw new ConfigError(`${inline ? 'WHET_GATEWAY_CONFIG' : file}: ${(error as Error).message}`);
  }
  const home = environment['WHET_HOME'] || '.whetstone';
  return {
    gateway: checkedConfig(raw, inline ? 'WHET_GATEWAY_CONFIG' : (file as string)),
    storeRoot: resolve(environment['WHET_STORE'] || join(home, 'store')),
    modelApiKey: environment['WHET_MODEL_API_KEY'] || null,
  };
}

/** Checks a configuration and fills in its defaults. Throws ConfigError. */
export function checkedConfig(raw: unknown, source: string): GatewayConfig {
  const parsed = gatewayConfigSchema.safeParse(raw);
  if (!parsed.success) throw new ConfigError(parsed.error.issues.map((issue) => `${source}: ${issue.path.join('.') || '(file)'}: ${issue.message}`).join('\n'));
  const problems = crossChecks(parsed.data);
  if (problems.length > 0) throw new ConfigError(problems.map((problem) => `${source}: ${problem}`).join('\n'));
  return parsed.data;
}

const LOOPBACK = new Set(['127.0.0.1', '::1', 'localhost']);

function crossChecks({ agents, keys, host }: GatewayConfig): string[] {
  const problems: string[] = [];
  const names = agents.map(({ name }) => name);
  names.forEach((name, i) => {
    if (names.indexOf(name) !== i) problems.push(`agents.${i}.name: ${name} is there twice.`);
  });
  keys.forEach(({ agents: allowed }, i) => {
    const unknown = allowed?.filter((name) => !names.includes(name)) ?? [];
    if (unknown.length > 0) problems.push(`keys.${i}.agents: there is no agent ${unknown.join(', ')}. Allowed: ${names.join(', ')}.`);
  });
  if (keys.length === 0 && !LOOPBACK.has(host)) {
    problems.push(`host: ${host} can be reached from outside, and no keys are set. Set keys, or listen on 127.0.0.1.`);
  }
  agents.forEach(({ traces: { redactPatterns } }, i) =>
    redactPatterns.forEach((pattern, j) => {
      try {
        new RegExp(pattern);
      } catch (error) {
        problems.push(`agents.${i}.traces.redactPatterns.${j}: ${(error as Error).message}`);
      }
    }),
  );
  return problems;
}
