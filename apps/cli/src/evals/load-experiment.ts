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
  return withModule(path, async ({ default: given }) => {
    const made: unknown = typeof given === 'function' ? await given({ log }) : given;
    if (!isExperiment(made)) throw noExperiment(path, wrongExport);
    return made;
  });
}

/** True for an object with a field that only experiments have. `runExperiment` checks all fields. */
function isExperiment(value: unknown): value is Experiment {
  if (typeof value !== 'object' || value === null) return false;
  return ['variants', 'cases', 'scorers'].some((name) => name in value);
}

/** Throws if the module does not exist. Call it before the store is opened, because that creates the store. */
export function assertModule(path: string): void {
  if (existsSync(path)) return;
  throw noExperiment(path, 'the file does not exist. Name a module: millrace eval <file>');
}

const wrongExport =
  'its default export is not an experiment. Write export default ({ log }) => ({ name, variants, cases, scorers })';

function noExperiment(path: string, why: string): MillraceError {
  return new MillraceError('no_experiment', `Cannot run ${path}: ${why}`, { path });
}
