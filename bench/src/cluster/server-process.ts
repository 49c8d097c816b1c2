import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { firstMessage } from '../../../scripts/child-message.ts';
import type { StoreLocation } from './stores.ts';

/** A server that runs in its own process. */
export interface ServerProcess extends AsyncDisposable {
  readonly port: number;
}

export async function startServerProcess(location: StoreLocation): Promise<ServerProcess> {
  const path = join(import.meta.dirname, 'server-program.ts');
  const child = fork(path, [JSON.stringify(location)]);
  const port = await firstMessage<number>(child);
  return {
    port,
    async [Symbol.asyncDispose]() {
      const exited = once(child, 'exit');
      child.kill();
      await exited;
    },
  };
}
