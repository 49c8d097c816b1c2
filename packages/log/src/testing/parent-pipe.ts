import { writeSync } from 'node:fs';
import { createInterface } from 'node:readline';

/**
 * Says something to the process that started this one. It is said when this returns: whatever happens
 * to this process afterwards, the other one hears it.
 */
export function tell(value: unknown): void {
  let left = Buffer.from(`${JSON.stringify(value)}\n`);
  while (left.length > 0) left = left.subarray(writeSync(1, left));
}

/** What the process that started this one says, until it has no more to say. */
export async function* orders<Order>(): AsyncGenerator<Order> {
  for await (const line of createInterface({ input: process.stdin })) {
    yield JSON.parse(line) as Order;
  }
}
