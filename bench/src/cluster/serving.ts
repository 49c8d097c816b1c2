import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { Place } from './stores.ts';

/** A server in a process of its own. */
export interface Serving extends AsyncDisposable {
  readonly port: number;
}

export async function startServing(place: Place): Promise<Serving> {
  const path = join(import.meta.dirname, 'serving-process.ts');
  const child = fork(path, [JSON.stringify(place)]);
  const [port] = (await once(child, 'message')) as [number];
  return {
    port,
    async [Symbol.asyncDispose]() {
      const gone = once(child, 'exit');
      child.kill();
      await gone;
    },
  };
}
