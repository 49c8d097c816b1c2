import { existsSync } from 'node:fs';
import type { Experiment } from '@millrace/agent/evals';
import { MillraceError } from '@millrace/core';
import type { Log } from '@millrace/log';
import { withModule } from '../serve/served-agents.ts';

/**
 * Loads the experiment that a module exports as its default: an object, or a function that gets the log of the
 * store and returns the object.
 */
export async function loadExperiment(path: string, log: Log): Promise<Experiment> {
  if (!existsSync(path)) throw noExperiment(path, 'the file does not exist');
  return withModule(path, async ({ default: given }) => {
    const made: unknown = typeof given === 'function' ? await given({ log }) : given;
    if (typeof made !== 'object' || made === null) throw noExperiment(path, wrongExport);
    return made as Experiment;
  });
}

const wrongExport =
  'its default export is not an experiment. Write export default ({ log }) => ({ name, variants, cases, scorers })';

function noExperiment(path: string, why: string): MillraceError {
  return new MillraceError('no_experiment', `Cannot run ${path}: ${why}`, { path });
}
