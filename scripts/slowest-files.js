// The ten slowest files of a runner, from jest's JSON or pytest's JUnit file. A file's time is that of the clock: other
// files run in parallel, and what a file made for later ones is counted as its own.
const { relative } = require('node:path');

const MOST = 10;

/** Of `[file, seconds]`, one entry a file, the slowest first. */
function slowest(times) {
  const seconds = new Map();
  for (const [file, time] of times) seconds.set(file, (seconds.get(file) ?? 0) + time);
  return [...seconds].sort(([, one], [, other]) => other - one).slice(0, MOST);
}

const jestTimes = (json) =>
  JSON.parse(json).testResults.map((file) => [
    relative(process.cwd(), file.name),
    (file.endTime - file.startTime) / 1_000,
  ]);

const pytestTimes = (xml) =>
  [...xml.matchAll(/<testcase classname="([^"]*)"[^>]* time="([^"]*)"/g)].map(([, module, time]) => [
    `${module.replaceAll('.', '/')}.py`,
    Number(time),
  ]);

/** Lines for the end of the output; none without files. */
function slowestLines(runner, times) {
  const files = slowest(times).map(([file, seconds]) => `  ${seconds.toFixed(1).padStart(7)} s  ${file}`);
  return files.length === 0 ? [] : [`slowest files of ${runner}:`, ...files];
}

module.exports = { jestTimes, pytestTimes, slowestLines };
