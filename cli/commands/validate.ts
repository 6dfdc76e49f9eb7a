import { readAgent } from '../agent';
import type { Context } from '../context';

/** `whet validate AGENT_YAML`: checks the file and starts nothing; with --json prints it with all defaults. */
export function validateCommand({ out }: Context, path: string): void {
  const { spec, path: absolute } = readAgent(path);
  out.result({ path: absolute, spec }, `${absolute}: valid (agent ${spec.name})`);
}
