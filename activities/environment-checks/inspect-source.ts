import { z } from 'zod';
import { ALLOWED_MODULES } from '../allowed-modules';
import type { OpenEnvironment } from '../environment';
import { askPython } from './ask-python';

/**
 * The answer of inspect_source.py: sentences about the source, and its own texts. `rules` is empty if `syntax` is not.
 */
const findingsSchema = z.strictObject({
  syntax: z.array(z.string()),
  rules: z.array(z.string()),
  texts: z.array(z.string()),
});

/**
 * Checks a source without running it. It finds text that is not Python, forbidden imports and names, uses of the shared
 * random generator, and clocks. The source is parsed in the jail.
 * @throws SandboxError when the source crashes the parser.
 */
export function inspectSource(
  openEnvironment: OpenEnvironment,
  source: string,
  name: string,
): Promise<z.infer<typeof findingsSchema>> {
  const given = { source, allowed: [...ALLOWED_MODULES] };
  return askPython(openEnvironment, 'inspect_source.py', `inspector of ${name}`, given, findingsSchema);
}
