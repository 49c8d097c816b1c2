import { compareAppendToSse } from './append-to-sse.ts';
import { compareFanOut } from './fan-out.ts';
import { compareManyTasks } from './many-tasks.ts';
import { compareMemory } from './memory.ts';
import { compareStorm } from './storm.ts';

/** What it costs to stream to many, against a bare `node:http` writer of the same frames. */
export async function compareServer(): Promise<void> {
  console.log('\nStreams over HTTP: viewers in a process of their own');
  await compareFanOut(200);
  await compareFanOut(1_000);
  await compareStorm();
  await compareManyTasks();
  await compareMemory();
  await compareAppendToSse();
}
