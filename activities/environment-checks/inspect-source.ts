import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import { ALLOWED_MODULES } from '../allowed-modules';
import type { OpenEnvironment } from '../environment';

/** Answer of inspect_source.py: sentences about the source. `rules` is empty when `syntax` is not. */
const findingsSchema = z.strictObject({ syntax: z.array(z.string()), rules: z.array(z.string()) });
type SourceFindings = z.infer<typeof findingsSchema>;

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
    source: readInspectorSource(),
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

/** Text of inspect_source.py. The build leaves it in the source tree: beside this file, or above the compiled one. */
function readInspectorSource(): string {
  for (let folder = __dirname; ; folder = dirname(folder)) {
    for (const path of [
      join(folder, 'inspect_source.py'),
      join(folder, 'activities', 'environment-checks', 'inspect_source.py'),
    ]) {
      if (existsSync(path)) return readFileSync(path, 'utf8');
    }
    if (folder === dirname(folder))
      throw new Error(
        'activities/environment-checks/inspect_source.py was not found. Install the whole project, not only dist/.',
      );
  }
}
