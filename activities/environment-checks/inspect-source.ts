import { z } from 'zod';
import { ALLOWED_MODULES } from '../allowed-modules';
import type { OpenEnvironment } from '../environment';
import { readPythonSource } from './python-source';

/**
 * Answer of inspect_source.py: sentences about the source, and its own texts. `rules` is empty when `syntax` is not.
 */
const findingsSchema = z.strictObject({
  syntax: z.array(z.string()),
  rules: z.array(z.string()),
  texts: z.array(z.string()),
});
/** What was found in a source. */
export type SourceFindings = z.infer<typeof findingsSchema>;

/**
 * Reads a source without running it. It finds text that is not Python, forbidden imports and names, uses of the shared
 * random generator, and clocks. The source is parsed in the jail.
 * @throws SandboxError when the source brings the parser down.
 */
export async function inspectSource(
  openEnvironment: OpenEnvironment,
  source: string,
  name: string,
): Promise<SourceFindings> {
  const inspector = await openEnvironment({
    source: readPythonSource('inspect_source.py'),
    trust: 'synthesised',
    name: `inspector of ${name}`,
  });
  try {
    await inspector.reset('inspect', 0);
    const { observations } = await inspector.step('inspect', [
      { name: 'inspect', arguments: { source, allowed: [...ALLOWED_MODULES] } },
    ]);
    return findingsSchema.parse(JSON.parse(observations[0] ?? 'null'));
  } finally {
    await inspector.close();
  }
}
