import { spawn } from 'node:child_process';
import { join } from 'node:path';
import type { Writable } from 'node:stream';
import type { GatewayConfig } from '../../contracts/config/gateway-config';
import { checkGatewayConfig, GatewayConfigError, loadGatewayConfig } from '../../loaders/gateway-config';
import { readAgent, requirePlayable } from '../agent';
import { gatewayArguments } from '../supervisor/gateway-arguments';
import type { Context } from '../context';
import { CliError } from '../errors';
import { waitInForeground } from '../foreground';
import type { Settings } from '../settings';
import { projectRoot } from '../../contracts/project-root';
import { readRunningSupervisorState } from '../supervisor/supervisor-state';

/** Flags of `whet gateway`. */
export interface GatewayFlags {
  config?: string;
  host?: string;
  port?: number;
  upstream: string[];
}

/** `whet gateway [AGENT_YAML...] [--config gateway.yaml]`: the routing gateway in the foreground. */
export async function gatewayCommand({ settings }: Context, agentPaths: string[], flags: GatewayFlags): Promise<void> {
  const config = gatewayConfig(settings, agentPaths, flags);
  const child = spawn(process.execPath, gatewayArguments(join(projectRoot(), 'dist')), {
    stdio: ['inherit', 'inherit', 'inherit', 'pipe'],
    env: {
      ...process.env,
      WHET_HOME: settings.home,
      WHET_STORE: settings.storeRoot,
      WHET_GATEWAY_CONFIG_FD: '3',
    },
  });
  // A gateway that ends before it has read the configuration prints the reason itself.
  const pipe = child.stdio[3] as Writable;
  pipe.on('error', () => undefined);
  pipe.end(JSON.stringify(config));
  await waitInForeground(child);
}

/**
 * The configuration of the file, or one made from agent.yaml files; flags override both. @throws CliError (exit 2) with
 * path, value and the allowed values.
 */
export function gatewayConfig(
  settings: Settings,
  agentPaths: string[],
  { config: file, host, port, upstream }: GatewayFlags,
): GatewayConfig {
  if ((file === undefined) === (agentPaths.length === 0)) {
    throw new CliError('Name either agent.yaml files or --config gateway.yaml.', {
      type: 'Gateway.Usage',
    });
  }
  if (file !== undefined && upstream.length > 0) {
    throw new CliError('--upstream goes with agent.yaml files; gateway.yaml names its replicas itself.', {
      type: 'Gateway.Usage',
    });
  }
  const listen = { ...(host === undefined ? {} : { host }), ...(port === undefined ? {} : { port }) };
  try {
    if (file !== undefined) return checkGatewayConfig({ ...loadGatewayConfig(file), ...listen }, file);
    const agents = agentPaths.map((path) => {
      const agent = readAgent(path);
      const { spec } = agent;
      if (spec.model.baseUrl === undefined && upstream.length === 0) requirePlayable(agent);
      const served = spec.model.baseUrl ?? policyServer(settings);
      return { name: spec.name, baseModel: spec.model.name, replicas: upstream.length > 0 ? upstream : [served] };
    });
    return checkGatewayConfig({ version: 1, port: settings.ports.gateway, agents, ...listen }, 'whet gateway');
  } catch (error) {
    if (error instanceof GatewayConfigError) throw new CliError(error.message, { type: error.type, cause: error });
    throw error;
  }
}

/** The policy server of `whet up` in this state directory, else its usual address. */
function policyServer(settings: Settings): string {
  const url = readRunningSupervisorState(settings.home)?.services.find(({ name }) => name === 'policy')?.url;
  return `${url ?? `http://127.0.0.1:${settings.ports.model}`}/v1`;
}
