import { compareAppendToSse } from './append-to-sse.ts';
import { compareFanOut } from './fan-out.ts';
import { compareManyTasks } from './many-tasks.ts';
import { compareMemory } from './memory.ts';
import { compareReconnects } from './reconnects.ts';

/** Measures streams to many viewers, compared with a bare `node:http` server that writes the same frames. */
export async function compareServer(): Promise<void> {
  console.log('\nStreams over HTTP: viewers run in another process');
  await compareFanOut(200);
  await compareFanOut(1_000);
  await compareReconnects();
  await compareManyTasks();
  await compareMemory();
  await compareAppendToSse();
}
