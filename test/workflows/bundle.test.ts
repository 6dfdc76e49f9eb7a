// integration: what the workflow bundle contains. A library that a workflow imports as a value is bundled without an
// error, and the workflow worker then loads it into every context.
import { workflowBundle } from '../helpers/workflow-bundle';

/** Largest bundle in characters, source map included: about 15 % more than it has. */
const MAX_CHARS = 2_480_000;
const PACKAGES = ['@temporalio/common', '@temporalio/workflow', 'long', 'ms', 'nexus-rpc'];

let code: string;
/** Path of each module in the bundle, as webpack writes it above the module's code. */
let modules: string[];
beforeAll(async () => {
  ({ code } = await workflowBundle());
  modules = [...code.matchAll(/^\/\*{3}\/ "([^"?]+)"$/gm)].map(([, path]) => path as string);
});

const packageOf = (path: string) => /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1];

test('is not much larger than it was', () => {
  expect(code.length).toBeLessThan(MAX_CHARS);
});

test('has no package but those of the Temporal runtime: no zod, no openai', () => {
  expect([...new Set(modules.map(packageOf).filter(Boolean))].sort()).toEqual(PACKAGES);
});

test('has of the project only the workflows and the files of contracts that import nothing', () => {
  const own = modules.filter((path) => packageOf(path) === undefined);
  expect(own).toContain('./workflows/runs/improvement-run.ts');
  expect(
    own.filter(
      (path) =>
        !/^\.\/(workflows\/|contracts\/(names|limits|failures\/(run|trainer)|clean-text|failed-episodes|pluralise)\.ts$)/.test(
          path,
        ),
    ),
  ).toEqual([]);
});

// The bundler refuses modules of Node by itself; this holds when somebody tells it to ignore one.
test('has no module of Node', () => {
  expect(modules.filter((path) => path.startsWith('node:'))).toEqual([]);
  expect(code).not.toMatch(/\brequire\("(node:[^"]+|fs|path|crypto|child_process|os|http|https|net)"\)/);
});
