import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import { ALLOWED_MODULES } from '../allowed-modules';
import type { OpenEnvironment } from '../environment';

/** Sentences about a source. */
const findingsSchema = z.strictObject({ syntax: z.array(z.string()), rules: z.array(z.string()) });
export type SourceFindings = z.infer<typeof findingsSchema>;

/**
 * Findings about a source that was not run: that it is not Python; forbidden imports and names, shared random numbers,
 * clocks. The parsing happens in the jail.
 * @throws SandboxError when the source brings the parser down.
 */
export async function inspectSource(
  openEnvironment: OpenEnvironment,
  source: string,
  name: string,
): Promise<SourceFindings> {
  const inspector = await openEnvironment({
    source: readInspector(),
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

/** The Python file is not compiled, so it lies in the source tree, at or above the compiled file. */
function readInspector(): string {
  for (let folder = __dirname; ; folder = dirname(folder)) {
    for (const path of [
      join(folder, 'inspect_source.py'),
      join(folder, 'activities', 'environment-checks', 'inspect_source.py'),
    ]) {
      if (existsSync(path)) return readFileSync(path, 'utf8');
    }
    if (folder === dirname(folder))
      throw new Error(
        'activities/environment-checks/inspect_source.py was not found. Install the whole project, not only its compiled files.',
      );
  }
}
