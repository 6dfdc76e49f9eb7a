// The end-to-end test trains a model first and takes minutes: `make e2e` and, after the other tests, `make test` run
// it.
const slow = process.env.WHET_E2E ? [] : ['<rootDir>/test/e2e/'];
// These need a Kubernetes: `make test-cluster` runs them.
const cluster = process.env.WHET_TEST_CLUSTER ? [] : ['<rootDir>/test/cluster/'];
// These need the packages of frameworks: `make test-frameworks` installs them.
const frameworks = process.env.WHET_TEST_FRAMEWORKS ? [] : ['<rootDir>/test/with-frameworks/'];

/** @type {import('jest').Config} */
module.exports = {
  testPathIgnorePatterns: ['/node_modules/', ...slow, ...cluster, ...frameworks],
  testEnvironment: 'node',
  roots: ['<rootDir>/test'],
  testMatch: ['**/*.test.ts'],
  modulePathIgnorePatterns: ['<rootDir>/dist/', '<rootDir>/.whetstone/', '<rootDir>/.toolchain/'],
  transform: {
    '^.+\\.[tj]s$': [
      '@swc/jest',
      { jsc: { target: 'es2023', parser: { syntax: 'typescript' } }, module: { type: 'commonjs' } },
    ],
  },
  // Packages that come as ES modules only: jest loads CommonJS, so they are compiled like our own code.
  transformIgnorePatterns: [
    '/node_modules/(?!(@kubernetes/client-node|openid-client|oauth4webapi|jose|jsonpath-plus|(socks|https?)-proxy-agent|agent-base|hpagent)/)',
  ],
  // The machine that the project is tried on has two cores, and a third of the time a file waits for other processes.
  maxWorkers: 3,
  // Only ends a test that waits for what never comes: how fast the machine is must not matter.
  testTimeout: 600_000,
};
