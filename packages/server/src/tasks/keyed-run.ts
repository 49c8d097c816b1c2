import { type FoldState, type RunId, runId, toArray } from '@millrace/core';

/** The run that answers a message which was sent with a key: the message's item has both. */
export function keyedRun({ items }: FoldState, key: string): RunId | undefined {
  const said = toArray(items).find(({ metadata }) => metadata?.['key'] === key);
  const run = said?.metadata?.['run'];
  return typeof run === 'string' ? runId(run) : undefined;
}
