// Adds up pytest's JUnit file and jest's JSON files, names the slowest files and the tests and checks that failed with the
// first lines of their messages, and ends with 'N passed, N failed'.
// A runner that left no result and a check that failed count as one failure each. A skipped test with vLLM counts as a
// failure: what it needs can be installed.
// Exit code 1 unless everything passed.
const { readFileSync } = require('node:fs');
const { join, relative } = require('node:path');
const { stripVTControlCharacters } = require('node:util');
const { jestTimes, pytestTimes, slowestLines } = require('./slowest-files');

// `--only=cluster` or `--only=vllm`: only these tests were run. `--with=...`: they had to be among the others.
const option = (name) =>
  process.argv.filter((argument) => argument.startsWith(`--${name}=`)).map((argument) => argument.split('=')[1]);
const [only] = option('only');
const required = option('with');
const [directory, ...failedChecks] = process.argv.slice(2).filter((argument) => !argument.startsWith('--'));
const read = (name) => {
  try {
    return readFileSync(join(directory, name), 'utf8');
  } catch {
    return null;
  }
};

function pytestCounts(xml) {
  const number = (name) => Number(new RegExp(`<testsuite [^>]*\\b${name}="(\\d+)"`).exec(xml)?.[1] ?? 0);
  const failed = number('failures') + number('errors');
  const skipped = number('skipped');
  return { passed: number('tests') - failed - skipped, failed, skipped };
}

function jestCounts(json) {
  const result = JSON.parse(json);
  // A file that fails to load has no failed test, so it is counted as one.
  const broken = result.testResults.filter(
    (file) => file.status === 'failed' && file.assertionResults.every((test) => test.status !== 'failed'),
  );
  return {
    passed: result.numPassedTests,
    failed: result.numFailedTests + broken.length,
    skipped: result.numPendingTests + result.numTodoTests,
  };
}

// The first lines of a message, without the colours of a terminal: enough to see what failed when the rest of the
// output is lost.
const excerpt = (message) =>
  stripVTControlCharacters(message)
    .split('\n')
    .filter((line) => line.trim() !== '')
    .slice(0, 12)
    .map((line) => `    ${line.slice(0, 200)}`)
    .join('\n');

const ENTITIES = { '&#10;': '\n', '&quot;': '"', '&gt;': '>', '&lt;': '<', '&amp;': '&' };
const plain = (xml) => xml.replace(/&(?:#10|quot|gt|lt|amp);/g, (entity) => ENTITIES[entity]);

function pytestFailures(xml) {
  const cases = xml.matchAll(
    /<testcase classname="([^"]*)" name="([^"]*)"[^>]*>\s*<(?:failure|error) message="([^"]*)"/g,
  );
  return [...cases].map(([, file, name, message]) => ({
    title: `${plain(file)} ${plain(name)}`,
    message: plain(message),
  }));
}

function jestFailures(json) {
  return JSON.parse(json).testResults.flatMap((file) => {
    const tests = file.assertionResults.filter((test) => test.status === 'failed');
    const path = relative(process.cwd(), file.name);
    if (tests.length === 0) return file.status === 'failed' ? [{ title: path, message: file.message }] : [];
    return tests.map((test) => ({ title: `${path}: ${test.fullName}`, message: test.failureMessages.join('\n') }));
  });
}

const withoutSkips = ({ passed, failed, skipped }) => ({ passed, failed: failed + skipped, skipped: 0 });

const optional = new Set(['vllm', 'cluster'].filter((name) => !required.includes(name)));
const runners = [
  ['pytest', read('pytest.xml'), pytestCounts, pytestFailures, pytestTimes],
  ['jest', read('jest.json'), jestCounts, jestFailures, jestTimes],
  ['end-to-end', read('e2e.json'), jestCounts, jestFailures],
  ['vllm', read('vllm.xml'), (xml) => withoutSkips(pytestCounts(xml)), pytestFailures],
  ['cluster', read('cluster.json'), jestCounts, jestFailures],
]
  .filter(([name, text]) => (only === undefined ? !optional.has(name) || text !== null : name === only))
  .map(([name, text, count, failures, times]) => ({
    name,
    ...(text === null ? { passed: 0, failed: 1, skipped: 0 } : count(text)),
    failures: text === null ? [] : failures(text),
    slowest: text === null || times === undefined ? [] : slowestLines(name, times(text)),
  }));

const checks = failedChecks.filter((name) => !runners.some((runner) => runner.name === name && runner.failed > 0));
console.log('');
for (const { slowest } of runners) for (const line of slowest) console.log(line);
for (const { name, failures } of runners)
  for (const { title, message } of failures) console.log(`failed in ${name}: ${title}\n${excerpt(message)}\n`);
for (const { name, passed, failed, skipped } of runners)
  console.log(`${name}: ${passed} of ${passed + failed} passed${skipped ? `, ${skipped} skipped` : ''}`);
if (checks.length > 0) console.log(`checks that failed: ${checks.join(', ')}`);

const passed = runners.reduce((sum, runner) => sum + runner.passed, 0);
const failed = runners.reduce((sum, runner) => sum + runner.failed, 0) + checks.length;
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 && passed > 0 ? 0 : 1;
