// The agent and the log load these modules on demand. Loading takes real time, in which virtual time
// would advance. They are therefore loaded here. `runToEnd` waits for all other modules.
import '../../../log/src/any-log/load-state.ts';
import '../../../log/src/engine/producer.ts';
import '../../../log/src/rewrite/copy-session.ts';
import '../../../log/src/rewrite/redact.ts';
import '../../../log/src/rewrite/settle.ts';
import '../branch/plan-branch.ts';
import '../calls/child-call.ts';
import '../context/clip-item.ts';
import '../context/prepare-step.ts';
import '../input/submit-command.ts';
import '../observers/observers.ts';
import '../run/child-link.ts';
import '../run/compaction.ts';
import '../run/recovery.ts';
import { vi } from 'vitest';
import { VirtualClock } from '../../../providers/src/testing/virtual-clock.ts';

export { VirtualClock };

/** The step by which virtual time advances, in milliseconds. */
const stepMs = 50;
const mostSteps = 20_000;
/**
 * The number of steps after which virtual time waits for modules that the agent loads on demand. Loading
 * takes real time. Without the wait, hours of virtual time would pass and each timeout would fire.
 */
const stepsBetweenWaits = 40;

/** Advances virtual time until the promise settles. */
export async function runToEnd<T>(clock: VirtualClock, result: Promise<T>): Promise<T> {
  let isDone = false;
  const done = result.finally(() => {
    isDone = true;
  });
  done.catch(() => {});
  for (let step = 0; !isDone; step++) {
    if (step > mostSteps) throw new Error('There is no end to it');
    await flushPendingWork();
    if (!isDone && step % stepsBetweenWaits === stepsBetweenWaits - 1)
      await vi.dynamicImportSettled();
    if (!isDone) clock.advance(stepMs);
  }
  return done;
}

/** Resolves when all pending work that needs no time is done. */
export async function flushPendingWork(): Promise<void> {
  for (let round = 0; round < 4; round++) await new Promise((resolve) => setImmediate(resolve));
}
