/**
 * The recorded analyst of a world, whose folder `analyst` is named with --assets. `whet up` starts it where an
 * agent.yaml has analyst/capabilities.json and analyst/labels.py beside it.
 */
import { runAnalyst } from './run-analyst';
import { openWorldAnalyst } from './world-analyst';

runAnalyst((assets) => {
  if (assets === undefined) throw new Error('Name the folder `analyst` of the world with --assets.');
  return openWorldAnalyst(assets);
});
