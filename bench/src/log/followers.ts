import { sessionId } from '@millrace/core';
import { memoryLog } from '@millrace/log';
import { timed } from '../measure.ts';
import { textWorkload } from '../workloads.ts';
import { drive } from './drive.ts';

/** Measures the cost of many followers. */
export async function compareFollowers(): Promise<void> {
  const { reads } = textWorkload(5_000);
  for (const count of [0, 1, 100, 1000]) {
    const log = memoryLog();
    let batches = 0;
    // A session must exist before it can be followed.
    const name = sessionId(nextName());
    await (await log.open(name)).release();
    const following = Array.from({ length: count }, async () => {
      for await (const _ of log.follow(name)) batches++;
    });
    const { ms } = await timed(() => drive(log, reads, name));
    await log.close();
    await Promise.all(following);
    console.log(
      `5,000 deltas with ${count} followers: ${ms.toFixed(1)} ms, ${batches} batches delivered`,
    );
  }
}

let count = 0;
const nextName = () => `followed ${++count}`;
