import { runId, type Stop, sessionId } from '@millrace/core';
import { memoryLog } from '@millrace/log';
import { expect, test } from 'vitest';
import { inputItems, WorkflowRun } from './workflow-run.ts';

const session = sessionId('s');

/** Follows a workflow whose runs end with these stops, while the input stays queued. */
function followRuns(...stops: readonly Stop[]) {
  const log = memoryLog();
  const run = new WorkflowRun({
    ...{ log, session, input: inputItems('Weather?') },
    wake: async () => {
      if ((await log.info(session))?.lease !== undefined) return;
      const driver = await log.open(session);
      for (const [index, stop] of stops.entries()) {
        const id = runId(`r${index}`);
        await driver.append([
          { turn: 0, attempt: 0, fact: { type: 'run_started', runId: id } },
          { turn: 0, attempt: 0, fact: { type: 'run_finished', runId: id, stop } },
        ]);
      }
    },
    // The workflow waits for the next message.
    result: () => new Promise(() => {}),
  });
  return { log, run };
}

test.each(['aborted', 'error', 'limit', 'parked', 'blocked'] as const)(
  'a run that ends as %s has a result, although no further run answers the queued input',
  async (reason) => {
    const { log, run } = followRuns({ reason });
    expect((await run.result).reason).toBe(reason);
    expect((await log.info(session))?.hasWork).toBe(true);
  },
);

test('after a normal end, the result is that of the run that answers the queued input', async () => {
  const { run } = followRuns({ reason: 'stop' }, { reason: 'limit' });
  expect((await run.result).reason).toBe('limit');
});
