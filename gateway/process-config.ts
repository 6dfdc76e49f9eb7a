import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { GatewayConfig } from '../contracts/config/gateway-config';
import { jsonFault } from '../contracts/json-fault';
import { checkGatewayConfig, GatewayConfigError, loadGatewayConfig } from '../loaders/gateway-config';

/** Configuration of the gateway process. */
export interface ProcessConfig {
  gateway: GatewayConfig;
  /** Folder of the artifact store. */
  storeRoot: string;
  /** WHET_MODEL_API_KEY: the API key for the model servers. */
  modelApiKey: string | null;
}

/**
 * Reads the configuration from the first of these: the descriptor WHET_GATEWAY_CONFIG_FD (JSON; `whet gateway` uses it,
 * because an environment variable holds at most 128 KB), WHET_GATEWAY_CONFIG (JSON), and the file WHET_GATEWAY_FILE
 * (default gateway.yaml). Reads the store's folder from WHET_STORE or WHET_HOME. Throws GatewayConfigError.
 */
export function readProcessConfig(environment: NodeJS.ProcessEnv = process.env): ProcessConfig {
  const { WHET_GATEWAY_CONFIG_FD: descriptor, WHET_GATEWAY_FILE: file } = environment;
  const inline = environment['WHET_GATEWAY_CONFIG'];
  const home = environment['WHET_HOME'] || '.whetstone';
  return {
    gateway:
      descriptor !== undefined
        ? checked('WHET_GATEWAY_CONFIG_FD', readDescriptor(descriptor))
        : inline
          ? checked('WHET_GATEWAY_CONFIG', inline)
          : loadGatewayConfig(file || 'gateway.yaml'),
    storeRoot: resolve(environment['WHET_STORE'] || join(home, 'store')),
    // Secrets of a cluster often end with a line feed, which no header may hold.
    modelApiKey: environment['WHET_MODEL_API_KEY']?.trim() || null,
  };
}

function readDescriptor(descriptor: string): string {
  try {
    // As a number, an empty text is 0: standard input, which may never end.
    if (!/^\d{1,9}$/.test(descriptor)) throw new Error('that is no number of a descriptor');
    return readFileSync(Number(descriptor), 'utf8');
  } catch (error) {
    const message = `cannot be read from descriptor ${JSON.stringify(descriptor)}: ${(error as Error).message}.`;
    throw new GatewayConfigError('WHET_GATEWAY_CONFIG_FD', [{ path: '', message }]);
  }
}

function checked(name: string, text: string): GatewayConfig {
  try {
    return checkGatewayConfig(JSON.parse(text), name);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw new GatewayConfigError(name, [{ path: '', message: `is not JSON: ${jsonFault(error)}.` }]);
  }
}
