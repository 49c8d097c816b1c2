import { exitCodes } from '../exit-code.ts';
import { Output } from '../print/output.ts';
import type { Host } from './host.ts';

/** Prints and is done. That nobody reads it is no mistake; that it cannot be written is. */
export async function printText(stdout: Host['stdout'], text: string): Promise<number> {
  const output = new Output(stdout);
  await output.write(text);
  if (output.failure?.code === 'cannot_write') throw output.failure;
  return exitCodes.done;
}
