import type { AgentSpec } from '../contracts/config/agent-spec';
import { belongsTo, keyRefusal } from '../contracts/key-endpoints';
import { keyAddresses } from './key-addresses';

/**
 * The sentence for an agent whose analyst or model may not have the key that this shell has for it: a run is refused.
 * Null where there is none. A worker on another machine has its own variables.
 */
export function unsentKeyWarning({ analyst, model }: AgentSpec): string | null {
  const listed = keyAddresses(process.env['WHET_KEY_ENDPOINTS']);
  const asked = [
    {
      field: 'analyst.baseUrl',
      url: analyst.baseUrl,
      variable: 'OPENAI_API_KEY',
      own: process.env['OPENAI_BASE_URL'] || 'https://api.openai.com/v1',
    },
    { field: 'model.baseUrl', url: model.baseUrl, variable: 'WHET_MODEL_API_KEY', own: process.env['WHET_MODEL_URL'] },
  ];
  const refused = asked.flatMap(({ field, url, variable, own }) => {
    const allowed = [...keyAddresses(own), ...listed];
    if (url === undefined || !process.env[variable] || belongsTo(url, allowed)) return [];
    return `A worker with the variables of this shell refuses a run: ${keyRefusal(field, url, variable, allowed)}`;
  });
  return refused.length === 0 ? null : refused.join('\n');
}
