import { Readable } from 'node:stream';
import type { ChatArgs, PrintArgs } from '../contract/args.ts';
import { UsageError } from '../contract/errors.ts';
import type { Host } from '../contract/host.ts';
import { type PipedInputOptions, readPipedInput, waitingMessage } from '../print/piped-input.ts';

/** A run that prints, instead of the chat that nobody could see. */
interface PrintFallback {
  readonly args: PrintArgs;
  /** What was piped in has been read; this gives it again. */
  readonly stdin: Host['stdin'];
  /** Nothing was said: one turn of the demo, of which nothing is kept. */
  readonly isDemo: boolean;
}

export function hasTerminal({ stdin, stdout }: Pick<Host, 'stdin' | 'stdout'>): boolean {
  return stdin.isTTY === true && stdout.isTTY === true;
}

/**
 * What a chat becomes without a terminal: what was piped in is said, and where there is nothing to say
 * the demo shows what it can do, so that `npm start` in a script does something.
 */
export async function printInsteadOfChat(
  chat: ChatArgs,
  {
    stdin,
    stderr,
    signal,
    clock,
  }: Pick<Host, 'stdin' | 'stderr' | 'signal'> & Pick<PipedInputOptions, 'clock'>,
): Promise<PrintFallback> {
  if (chat.session === 'pick') {
    throw new UsageError('--resume needs an id here: there is no terminal to choose one in');
  }
  const onSilence = () => void stderr.write(`${waitingMessage}\n`);
  const piped = (await readPipedInput(stdin, { signal, clock, onSilence })) ?? '';
  const args = { ...chat, command: 'print', json: false, verbose: false } as const;
  const bufferedStdin = Readable.from(piped === '' ? [] : [piped]);
  const hasInput = chat.prompt !== undefined || piped.trim() !== '' || chat.session !== 'new';
  if (hasInput || chat.model !== undefined) return { args, stdin: bufferedStdin, isDemo: false };
  return { args: { ...args, ...demoArgs }, stdin: bufferedStdin, isDemo: true };
}

/** It only looks: nobody is there to approve of more. */
const demoArgs = {
  model: 'demo',
  permissions: 'read-only',
  prompt: 'Look around in this folder and say what you see.',
} as const;
