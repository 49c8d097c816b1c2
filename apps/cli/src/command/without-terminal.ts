import { Readable } from 'node:stream';
import type { ChatArgs, PrintArgs } from '../contract/args.ts';
import { UsageError } from '../contract/errors.ts';
import type { Host } from '../contract/host.ts';
import { type PipedInputOptions, readPipedInput, waitingMessage } from '../print/piped-input.ts';
import { writeText } from '../text/terminal/terminal-gate.ts';

/** A print run that is used in place of the chat, because there is no terminal. */
interface PrintFallback {
  readonly args: PrintArgs;
  /** A stream that repeats the piped input, because the original stream is already read. */
  readonly stdin: Host['stdin'];
  /**
   * True if there was no input. In this case, one turn of the demo runs, and its session is not
   * stored.
   */
  readonly isDemo: boolean;
}

export function hasTerminal({ stdin, stdout }: Pick<Host, 'stdin' | 'stdout'>): boolean {
  return stdin.isTTY === true && stdout.isTTY === true;
}

/**
 * Turns a chat into a print run if there is no terminal. Piped input becomes the prompt. If there
 * is no input, the demo runs, so that `npm start` in a script has a visible result. An empty prompt
 * is an error.
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
    throw new UsageError('--resume needs an id here, because there is no terminal to choose one');
  }
  const onSilence = () => writeText(stderr, `${waitingMessage}\n`);
  const piped = (await readPipedInput(stdin, { signal, clock, onSilence })) ?? '';
  const args = { ...chat, command: 'print', json: false, verbose: false } as const;
  const bufferedStdin = Readable.from(piped === '' ? [] : [piped]);
  const hasInput = chat.prompt !== undefined || piped.trim() !== '' || chat.session !== 'new';
  if (!hasInput && chat.hasEmptyPrompt) throw noPromptError();
  if (hasInput || chat.model !== undefined) return { args, stdin: bufferedStdin, isDemo: false };
  return { args: { ...args, ...demoArgs }, stdin: bufferedStdin, isDemo: true };
}

/** Returns the error for a command without a prompt. A script that calls it expects an answer. */
function noPromptError(): UsageError {
  return new UsageError('Cannot answer: the prompt is empty. Add one: millrace -p "Say hello"');
}

/** The demo is read-only, because no user is present who could approve changes. */
const demoArgs = {
  model: 'demo',
  permissions: 'read-only',
  stream: 'all',
  prompt: 'Look around in this folder and report what you see.',
} as const;
