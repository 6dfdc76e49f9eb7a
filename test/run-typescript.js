// Lets a child process of a test run TypeScript as the tests do: node -r test/run-typescript.js FILE.ts
const { readFileSync } = require('node:fs');
const { transformSync } = require('@swc/core');

const options = { jsc: { target: 'es2023', parser: { syntax: 'typescript' } }, module: { type: 'commonjs' } };

require.extensions['.ts'] = (module, path) => {
  module._compile(transformSync(readFileSync(path, 'utf8'), { ...options, filename: path }).code, path);
};

// Extensions are tried in this order: './profile' is profile.ts, although profile.json lies beside it.
const json = require.extensions['.json'];
delete require.extensions['.json'];
require.extensions['.json'] = json;
