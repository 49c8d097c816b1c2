import { setImmediate } from 'node:timers/promises';
import { limitYoungGeneration, youngGenerationBytes } from '../serve/young-generation.ts';

// Allocates objects that survive some collections, and prints the size of the young generation in bytes.
// The argument is the limit in bytes. Without it, there is no limit.

const [limit] = process.argv.slice(2);
if (limit !== undefined) limitYoungGeneration(Number(limit));
const kept: unknown[] = [];
for (let round = 0; round < 400; round++) {
  for (let index = 0; index < 5_000; index++) {
    kept[(round * 5_000 + index) % 100_000] = { round, index, text: `${round} ${index}` };
  }
  // The collections are reported between two tasks.
  await setImmediate();
}
process.stdout.write(`${youngGenerationBytes()}\n`);
