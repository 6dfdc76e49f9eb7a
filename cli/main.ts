#!/usr/bin/env node
import { onStreamError } from './output';
import { runCommandLine } from './run-command-line';

// A reader may close the pipe early (`whet ls | head -1`). Then the command ends quietly, with the code that shells use
// for SIGPIPE.
const PIPE_CLOSED = 141;
onStreamError((error) => {
  if (error.code === 'EPIPE') process.exit(PIPE_CLOSED);
  // The output is on a full disk, so nothing more can be written there.
  if (error.code === 'ENOSPC' || error.code === 'EDQUOT') process.exit(1);
  throw error;
});

void runCommandLine(process.argv.slice(2)).then((code) => {
  process.exitCode = code;
});
