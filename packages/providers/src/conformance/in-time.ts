import { systemClock } from '../transport/clock.ts';
import { check } from './check.ts';

/** A provider that waits for ever is told of, not waited for; nor may its own time-out help it. */
const atMostMs = 2000;

export async function inTime<T>(result: Promise<T>, otherwise: string): Promise<T> {
  let cancel = () => {};
  const late = new Promise<undefined>((resolve) => {
    cancel = systemClock.after(atMostMs, () => resolve(undefined));
  });
  try {
    const first = await Promise.race([result.then((value) => ({ value })), late]);
    check(first !== undefined, otherwise);
    return first.value;
  } finally {
    cancel();
  }
}
