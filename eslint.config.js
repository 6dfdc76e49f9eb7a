const { readdirSync, readFileSync } = require('node:fs');
const { join } = require('node:path');
const { defineConfig, globalIgnores } = require('eslint/config');
const { TypeFlags } = require('typescript');
const tseslint = require('typescript-eslint');
const { importX, createNodeResolver } = require('eslint-plugin-import-x');
const { default: jsdoc } = require('eslint-plugin-jsdoc');

/** Folders and what each may import at run time besides itself and npm packages (docs/architecture.md). */
const LAYERS = {
  contracts: [],
  loaders: ['contracts'],
  store: ['contracts'],
  llm: ['contracts'],
  sandbox: ['contracts'],
  k8s: ['contracts'],
  // The fits of routers use means and random numbers, which import nothing.
  routing: ['contracts', 'activities/statistics'],
  dialects: ['contracts'],
  ingest: ['contracts', 'store', 'dialects'],
  activities: ['contracts', 'loaders', 'store', 'llm', 'sandbox', 'k8s', 'routing', 'dialects'],
  workflows: ['contracts'],
  'environment-tool': ['contracts', 'loaders', 'sandbox', 'activities'],
  workers: ['contracts', 'loaders', 'store', 'llm', 'sandbox', 'k8s', 'routing', 'activities'],
  // A command that works without Temporal draws its page itself; these two rooms import contracts alone.
  cli: ['contracts', 'loaders', 'store', 'ingest', 'activities/charts', 'activities/html'],
  gateway: ['contracts', 'loaders', 'store', 'routing', 'dialects'],
};
/** Folders that nothing above may import. */
const OUTSIDE = ['bench', 'examples', 'scripts', 'test'];

/** Rooms of activities/ that every stage may use; each other folder there is a stage, and stages do not import stages. */
const SHARED_ROOMS = [
  ...['analyst', 'budget', 'charts', 'endpoints', 'environment-checks', 'html', 'label-prompt', 'reuse', 'rollout'],
  ...['statistics', 'target-profile'],
];

/** Parts of gateway/ from the lowest to the highest: a part imports only from earlier rows (CONTRIBUTING.md). */
const GATEWAY_ORDER = [
  ['listen-error.ts', 'log.ts', 'opentelemetry.ts', 'process-config.ts', 'http'],
  ['client-shares.ts', 'clients.ts', 'conversations.ts', 'registry-poller.ts'],
  ['upstream'],
  ['routing'],
  ['metrics.ts'],
  ['drops.ts'],
  ['canary'],
  ['agents'],
  ['traces'],
  ['gateway.ts'],
  ['handlers'],
  ['server.ts'],
  ['main.ts'],
];

/** The same of workflows/ (docs/architecture.md). */
const WORKFLOWS_ORDER = [['shared'], ['waits'], ['stages'], ['runs'], ['index.ts']];

/** An import that leaves its folder (`../<folder>/`) for one that is not allowed. */
const layerRule = (folder) => [
  'error',
  {
    patterns: [
      {
        regex:
          `^(\\.\\./)+(?!(${[folder, ...LAYERS[folder]].join('|')})(/|$))` +
          `(${[...Object.keys(LAYERS), ...OUTSIDE].join('|')})(/|$)`,
        allowTypeImports: true,
        message: `${folder}/ may import ${LAYERS[folder].join(', ') || 'nothing of the other folders'} (docs/architecture.md).`,
      },
    ],
  },
];

const foldersOf = (folder) =>
  readdirSync(join(__dirname, folder), { withFileTypes: true }).flatMap((entry) =>
    entry.isDirectory() ? entry.name : [],
  );

const stageZones = () => {
  const stages = foldersOf('activities').filter((name) => !SHARED_ROOMS.includes(name));
  const zone = (target, from, message) => ({
    target: `./activities/${target}`,
    from: from.map((f) => `./activities/${f}`),
    message,
  });
  return [
    ...stages.map((stage) =>
      zone(
        stage,
        stages.filter((other) => other !== stage),
        'A stage does not import another one: what both need is a room of its own (docs/architecture.md).',
      ),
    ),
    ...SHARED_ROOMS.map((room) => zone(room, stages, 'A shared room does not import a stage (docs/architecture.md).')),
  ];
};

/** Zones of a folder whose parts have an order. @throws when a part has no place in it. */
const orderZones = (folder, order, page) => {
  const unplaced = readdirSync(join(__dirname, folder)).filter((name) => !order.flat().includes(name));
  if (unplaced.length > 0)
    throw new Error(`${folder}/: ${unplaced.join(', ')} has no place in the order of ${folder}/ (eslint.config.js).`);
  return order.slice(0, -1).flatMap((row, i) =>
    row.map((part) => ({
      target: `./${folder}/${part}`,
      from: [...row.filter((other) => other !== part), ...order.slice(i + 1).flat()].map((p) => `./${folder}/${p}`),
      message: `${folder}/${part} is above it or next to it (${page}).`,
    })),
  );
};

const ZONES = [
  ...stageZones(),
  ...orderZones('gateway', GATEWAY_ORDER, 'CONTRIBUTING.md'),
  ...orderZones('workflows', WORKFLOWS_ORDER, 'docs/architecture.md'),
];

/** Exported declarations, but for the type of a schema (`z.infer`, `z.input`), whose comment is the schema's. */
const DOCUMENTED = [
  'ExportNamedDeclaration[declaration]:not([declaration.type="TSTypeAliasDeclaration"])',
  'ExportNamedDeclaration[declaration.type="TSTypeAliasDeclaration"]:not(:has(TSQualifiedName[left.name="z"]))',
];

const NO_BARRELS = { selector: 'ExportAllDeclaration', message: 'Export by name: a barrel hides who needs what.' };

/**
 * Kinds of environments and presets of them. Code asks for facts, or for what plays the episodes: nothing but a kind's
 * own file, and what starts or plays it, names it.
 */
const KINDS = readdirSync(join(__dirname, 'contracts', 'config', 'environment-kinds')).flatMap((file) => {
  const [, kind] =
    /\bkind: z\.literal\('([^']+)'\)/.exec(
      readFileSync(join(__dirname, 'contracts', 'config', 'environment-kinds', file), 'utf8'),
    ) ?? [];
  return kind ?? [];
});
const KIND_FILES = [
  'contracts/config/environment-kinds/*.ts',
  'sandbox/environment-source.ts',
  'sandbox/open-environment.ts',
  'activities/environment.ts',
  'activities/rollout/player.ts',
];
const isKind = `[right.value=/^(${KINDS.join('|')})$/]`;
const NO_KINDS = [
  `BinaryExpression[left.property.name=/^(kind|plays)$/]${isKind}`,
  `BinaryExpression[left.name=/^(kind|plays)$/]${isKind}`,
  `Property[key.name=/^(kind|plays)$/][value.value=/^(${KINDS.join('|')})$/]`,
  `SwitchCase[test.value=/^(${KINDS.join('|')})$/]`,
].map((selector) => ({
  selector,
  message: "Ask for the environment's facts: no other file names a kind (contracts/config/environment-kinds).",
}));

/** Ways to a terminal that do not lead through cli/output.ts. */
const PAST_THE_OUTPUT = [
  'MemberExpression[object.name="process"][property.name=/^std(out|err)$/]',
  'MemberExpression[object.name="process"][computed=true][property.value=/^std(out|err)$/]',
  'VariableDeclarator[init.name="process"]',
  'AssignmentPattern[right.name="process"]',
  'Identifier[name="console"]',
  'ImportDeclaration[source.value=/^(node:)?console$/]',
].map((selector) => ({
  selector,
  message: 'Write through cli/output.ts: text of others must not reach a terminal uncleaned.',
}));

/** Names of lengths. Hashes and dates, which have one unit for each character, are cut to fewer units, or to 32. */
const LENGTH_NAME = /^(?!.*DIGITS)(?:[A-Z][A-Z_]{2,}|(?:max|most|half|width|room|limit|length|char|keep)\w*)$/;
const isLength = ({ type, value, name, left, right }) =>
  (type === 'Literal' && value >= 30 && value !== 32) ||
  (type === 'Identifier' && LENGTH_NAME.test(name)) ||
  (type === 'BinaryExpression' && (isLength(left) || isLength(right)));
const isEndOf = ({ type, operator, argument, right }) =>
  operator === '-' && isLength(type === 'UnaryExpression' ? argument : right);

/** Text that is shortened by its units: `text.slice(0, MAX)`, `text.slice(-MAX)`, `text.slice(text.length - MAX)`. */
const CUT_TEXT = {
  meta: {
    type: 'problem',
    schema: [],
    messages: { cut: 'Shorten text by startOf or endOf (contracts/clean-text.ts), which cut no character in two.' },
  },
  create: (context) => ({
    'CallExpression[callee.property.name=/^(slice|substring|substr)$/]'(node) {
      const [from, to] = node.arguments;
      const isCut = to === undefined ? from && isEndOf(from) : from.value === 0 && isLength(to);
      if (!isCut) return;
      const type = context.sourceCode.parserServices.getTypeAtLocation(node.callee.object);
      const isText = (type.types ?? [type]).some(({ flags }) => flags & TypeFlags.StringLike);
      if (isText) context.report({ node, messageId: 'cut' });
    },
  }),
};

module.exports = defineConfig(
  globalIgnores(['dist/', 'coverage/', '.toolchain/', '.whetstone/', '**/*.js', '**/*.mjs']),
  {
    files: ['**/*.ts'],
    extends: [tseslint.configs.recommendedTypeChecked],
    plugins: { 'import-x': importX, jsdoc },
    languageOptions: { parserOptions: { project: './tsconfig.json', tsconfigRootDir: __dirname } },
    settings: {
      'import-x/extensions': ['.ts', '.js'],
      'import-x/parsers': { '@typescript-eslint/parser': ['.ts'] },
      'import-x/resolver-next': [createNodeResolver({ extensions: ['.ts', '.js', '.json'] })],
    },
    linterOptions: { reportUnusedDisableDirectives: 'error' },
    rules: {
      'import-x/no-cycle': ['error', { ignoreExternal: true }],
      'import-x/no-self-import': 'error',
      'import-x/no-duplicates': ['error', { 'prefer-inline': true }],
      'import-x/no-restricted-paths': ['error', { basePath: __dirname, zones: ZONES }],
      '@typescript-eslint/consistent-type-imports': ['error', { disallowTypeAnnotations: false }],
      '@typescript-eslint/no-floating-promises': 'error',
      '@typescript-eslint/no-misused-promises': ['error', { checksVoidReturn: { arguments: false } }],
      '@typescript-eslint/switch-exhaustiveness-check': ['error', { considerDefaultExhaustiveForUnions: true }],
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', varsIgnorePattern: '^_' }],
      // Interfaces of activities and stores promise a Promise; an implementation that happens to need no await is still one.
      '@typescript-eslint/require-await': 'off',
      '@typescript-eslint/no-unnecessary-type-assertion': 'error',
      eqeqeq: ['error', 'always', { null: 'ignore' }],
      'no-console': 'off',
      'max-len': ['error', { code: 120, ignoreUrls: true, ignoreRegExpLiterals: true, ignoreTemplateLiterals: true }],
      'max-lines': ['error', 400],
      'no-restricted-syntax': ['error', NO_BARRELS],
    },
  },
  {
    files: [...Object.keys(LAYERS), 'scripts', 'bench'].map((folder) => `${folder}/**/*.ts`),
    rules: { 'max-lines-per-function': ['error', { max: 80, skipBlankLines: true, skipComments: true }] },
  },
  {
    files: Object.keys(LAYERS).map((folder) => `${folder}/**/*.ts`),
    rules: {
      'jsdoc/require-jsdoc': [
        'error',
        { enableFixer: false, contexts: DOCUMENTED, require: { FunctionDeclaration: false } },
      ],
    },
  },
  {
    // Routers read openings for their words alone.
    files: Object.keys(LAYERS).map((folder) => `${folder}/**/*.ts`),
    ignores: ['routing/**'],
    plugins: { text: { rules: { cut: CUT_TEXT } } },
    rules: { 'text/cut': 'error' },
  },
  ...Object.keys(LAYERS)
    .filter((folder) => folder !== 'workflows')
    .map((folder) => ({
      files: [`${folder}/**/*.ts`],
      rules: { '@typescript-eslint/no-restricted-imports': layerRule(folder) },
    })),
  {
    files: Object.keys(LAYERS).map((folder) => `${folder}/**/*.ts`),
    ignores: KIND_FILES,
    rules: { 'no-restricted-syntax': ['error', NO_BARRELS, ...NO_KINDS] },
  },
  {
    // What generated code, models and logs wrote must not act on a terminal: output.ts cleans it, and is the only way.
    files: ['cli/**/*.ts'],
    ignores: ['cli/output.ts'],
    rules: { 'no-restricted-syntax': ['error', NO_BARRELS, ...NO_KINDS, ...PAST_THE_OUTPUT] },
  },
  {
    // What workflow code imports at run time ends up in the bundle, unseen: a stray zod or openai multiplies its size.
    files: ['workflows/**/*.ts'],
    rules: {
      '@typescript-eslint/no-restricted-imports': [
        'error',
        {
          patterns: [
            {
              regex:
                '^(?!@temporalio/(workflow|common)$|\\./|\\.\\./(shared|waits|stages)/' +
                '|\\.\\./\\.\\./contracts/(names|failures/run|limits|clean-text|pluralise|failed-episodes)$)',
              allowTypeImports: true,
              message:
                'Workflows import @temporalio/workflow, each other and contracts/{names,failures/run,limits,clean-text,pluralise,failed-episodes}; of everything else only types.',
            },
          ],
        },
      ],
    },
  },
  {
    files: ['test/**/*.ts'],
    rules: {
      // Titles of tests are sentences.
      'max-len': [
        'error',
        { code: 120, ignoreStrings: true, ignoreRegExpLiterals: true, ignoreTemplateLiterals: true },
      ],
      '@typescript-eslint/no-unsafe-assignment': 'off',
      '@typescript-eslint/no-unsafe-member-access': 'off',
      '@typescript-eslint/no-unsafe-argument': 'off',
      '@typescript-eslint/no-unsafe-call': 'off',
      '@typescript-eslint/no-unsafe-return': 'off',
      '@typescript-eslint/unbound-method': 'off',
    },
  },
);
