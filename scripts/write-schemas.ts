/** Writes the JSON Schemas for editors into dist/schemas: `node dist/scripts/write-schemas.js`, after tsc. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { projectRoot } from '../contracts/project-root';
import { editorSchemas } from './generated-documents';

const folder = join(projectRoot(), 'dist', 'schemas');
mkdirSync(folder, { recursive: true });
for (const [name, schema] of Object.entries(editorSchemas())) writeFileSync(join(folder, name), schema);
