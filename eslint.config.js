const { defineConfig, globalIgnores } = require('eslint/config');
const tseslint = require('typescript-eslint');
const { importX, createNodeResolver } = require('eslint-plugin-import-x');

/** Folders and what each may import at run time besides itself and npm packages (docs/architecture.md). */
const LAYERS = {
  contracts: [],
  loaders: ['contracts'],
  store: ['contracts'],
  llm: ['contracts'],
  sandbox: ['contracts'],
  k8s: ['contracts'],
  activities: ['contracts', 'loaders', 'store', 'llm', 'sandbox', 'k8s'],
  workflows: ['contracts'],
  'environment-tool': ['contracts', 'loaders', 'sandbox', 'activities'],
  workers: ['contracts', 'loaders', 'store', 'llm', 'sandbox', 'k8s', 'activities'],
  cli: ['contracts', 'loaders', 'store'],
  gateway: ['contracts', 'loaders', 'store'],
};

/** An import that leaves its folder (`../<folder>/`) for one that is not allowed. */
const layerRule = (folder) => [
  'error',
  {
    patterns: [
      {
        regex: `^(\\.\\./)+(?!(${[folder, ...LAYERS[folder]].join('|')})(/|$))(${Object.keys(LAYERS).join('|')})(/|$)`,
        allowTypeImports: true,
        message: `${folder}/ may import ${LAYERS[folder].join(', ') || 'nothing of the other folders'} (docs/architecture.md).`,
      },
    ],
  },
];

module.exports = defineConfig(
  globalIgnores(['dist/', 'coverage/', '.toolchain/', '.whetstone/', '**/*.js', '**/*.mjs']),
  {
    files: ['**/*.ts'],
    extends: [tseslint.configs.recommendedTypeChecked],
    plugins: { 'import-x': importX },
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
      '@typescript-eslint/consistent-type-imports': ['error', { disallowTypeAnnotations: false }],
      '@typescript-eslint/no-floating-promises': 'error',
      '@typescript-eslint/no-misused-promises': ['error', { checksVoidReturn: { arguments: false } }],
      '@typescript-eslint/switch-exhaustiveness-check': ['error', { considerDefaultExhaustiveForUnions: true }],
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', varsIgnorePattern: '^_' }],
      // Interfaces of activities and stores promise a Promise; an implementation that happens to need no await is still
      // one.
      '@typescript-eslint/require-await': 'off',
      '@typescript-eslint/no-unnecessary-type-assertion': 'error',
      eqeqeq: ['error', 'always', { null: 'ignore' }],
      'no-console': 'off',
    },
  },
  ...Object.keys(LAYERS)
    .filter((folder) => folder !== 'workflows')
    .map((folder) => ({
      files: [`${folder}/**/*.ts`],
      rules: { '@typescript-eslint/no-restricted-imports': layerRule(folder) },
    })),
  {
    // What workflow code imports at run time ends up in the bundle, unseen: a stray zod or openai multiplies its size.
    files: ['workflows/**/*.ts'],
    rules: {
      '@typescript-eslint/no-restricted-imports': [
        'error',
        {
          patterns: [
            {
              regex: '^(?!@temporalio/(workflow|common)$|\\./|\\.\\./contracts/(names|failures/run|limits)$)',
              allowTypeImports: true,
              message:
                'Workflows import @temporalio/workflow, each other and contracts/{names,failures/run,limits}; of everything else only types.',
            },
          ],
        },
      ],
    },
  },
  {
    files: ['test/**/*.ts'],
    rules: {
      '@typescript-eslint/no-unsafe-assignment': 'off',
      '@typescript-eslint/no-unsafe-member-access': 'off',
      '@typescript-eslint/no-unsafe-argument': 'off',
      '@typescript-eslint/no-unsafe-call': 'off',
      '@typescript-eslint/no-unsafe-return': 'off',
      '@typescript-eslint/unbound-method': 'off',
    },
  },
);
