import { createInterface } from 'node:readline/promises';
import type { Host } from './host.ts';

/** Asks a person at the terminal, before there is a chat; undefined when they leave instead. */
export async function askPerson(
  { stdin, stdout, signal }: Pick<Host, 'stdin' | 'stdout' | 'signal'>,
  question: string,
): Promise<string | undefined> {
  const lines = createInterface({ input: stdin, output: stdout });
  const left = new Promise<undefined>((resolve) => {
    lines.once('close', () => resolve(undefined));
    lines.once('SIGINT', () => resolve(undefined));
    signal.addEventListener('abort', () => resolve(undefined), { once: true });
  });
  try {
    // It never settles when the input ends, which is why `left` is raced with it.
    return await Promise.race([lines.question(question), left]);
  } finally {
    lines.close();
  }
}
