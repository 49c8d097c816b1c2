import type { Item } from '@millrace/core';
import type { PrintArgs } from '../args/args.ts';
import { UsageError } from '../args/usage-error.ts';
import { userItem } from '../store/user-item.ts';

export interface RunInputOptions {
  readonly args: Pick<PrintArgs, 'prompt' | 'session'>;
  /** What was piped in. */
  readonly piped: string | undefined;
  readonly cwd: string;
}

/**
 * What is said to the model: the prompt, with what was piped in as its context, or as the prompt where
 * there is no other. Undefined where nothing is said and a session is to go on with what it has.
 */
export function runInput({ args, piped = '', cwd }: RunInputOptions): Item | undefined {
  const { prompt = '', session } = args;
  const context = piped.trim() === '' ? [] : [`<stdin>\n${piped.replace(/\n$/, '')}\n</stdin>`];
  if (prompt.trim() !== '') return userItem([prompt, ...context], { cwd });
  if (context.length > 0) return userItem([piped.trim()], { cwd });
  if (session !== 'new') return undefined;
  throw new UsageError(
    'Cannot begin: there is nothing to say. Give a prompt (millrace -p "Say hello"), or pipe one in',
  );
}
