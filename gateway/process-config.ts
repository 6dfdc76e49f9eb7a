import { join, resolve } from 'node:path';
import type { GatewayConfig } from '../contracts/config/gateway-config';
import { checkGatewayConfig, GatewayConfigError, loadGatewayConfig } from '../loaders/gateway-config';

/** What the gateway process is told. */
export interface ProcessConfig {
  gateway: GatewayConfig;
  storeRoot: string;
  /** WHET_MODEL_API_KEY, for the model servers. */
  modelApiKey: string | null;
}

/**
 * From WHET_GATEWAY_CONFIG (JSON, what `whet gateway` hands over) or the file that WHET_GATEWAY_FILE names, and
 * WHET_STORE or WHET_HOME. Throws GatewayConfigError.
 */
export function readProcessConfig(environment: NodeJS.ProcessEnv = process.env): ProcessConfig {
  const { WHET_GATEWAY_CONFIG: inline, WHET_GATEWAY_FILE: file } = environment;
  const home = environment['WHET_HOME'] || '.whetstone';
  return {
    gateway: inline
      ? checkGatewayConfig(parsed(inline), 'WHET_GATEWAY_CONFIG')
      : loadGatewayConfig(file || 'gateway.yaml'),
    storeRoot: resolve(environment['WHET_STORE'] || join(home, 'store')),
    modelApiKey: environment['WHET_MODEL_API_KEY'] || null,
  };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new GatewayConfigError('WHET_GATEWAY_CONFIG', [
      { path: '', message: `is not JSON: ${(error as Error).message}` },
    ]);
  }
}
