import { VirtualClock } from '../../../providers/src/testing/virtual-clock.ts';

export { VirtualClock };

/** How far in the future anything may be that a test waits for. */
const stepMs = 50;
const mostSteps = 20_000;

/** Lets virtual time pass until the promise is settled: what is due happens, in order, and nobody waits. */
export async function play<T>(clock: VirtualClock, result: Promise<T>): Promise<T> {
  let isDone = false;
  const done = result.finally(() => {
    isDone = true;
  });
  done.catch(() => {});
  for (let step = 0; !isDone; step++) {
    if (step > mostSteps) throw new Error('There is no end to it');
    await quiet();
    if (!isDone) clock.advance(stepMs);
  }
  return done;
}

/** When everything that needs no time has happened. */
export async function quiet(): Promise<void> {
  for (let round = 0; round < 4; round++) await new Promise((resolve) => setImmediate(resolve));
}
