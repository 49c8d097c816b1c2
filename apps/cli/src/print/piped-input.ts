import { systemClock } from '@millrace/agent';
import type { Item } from '@millrace/core';
import type { Clock } from '@millrace/providers';
import { planNote } from '../agent/session-mode.ts';
import type { RunUnasked } from '../contract/agent.ts';
import type { PrintArgs } from '../contract/args.ts';
import { UsageError } from '../contract/errors.ts';
import { readPictures } from '../input/attachments/mentioned-pictures.ts';
import { userItem } from '../store/session-summaries.ts';

export type InputStream = NodeJS.ReadableStream & { readonly isTTY?: boolean | undefined };

export interface PipedInputOptions {
  readonly signal?: AbortSignal | undefined;
  readonly clock?: Clock | undefined;
  /** Called if no data arrives in the first 3 s and the input has not ended. */
  readonly onSilence?: (() => void) | undefined;
}

/** Maximum size of the input. It is about a million tokens, which is more than models accept. */
const maxBytes = 4 * 2 ** 20;
const silenceMs = 3000;

/** A message that explains why the command does not continue. */
export const waitingMessage =
  'Waiting for the end of standard input. If there is none, use: millrace -p "…" < /dev/null';

/**
 * Reads standard input to its end. Returns undefined if it is a terminal, or if the signal aborts.
 * Throws a `UsageError` if the input is not text or is too large.
 */
export async function readPipedInput(
  stdin: InputStream,
  { signal, clock = systemClock, onSilence = () => {} }: PipedInputOptions = {},
): Promise<string | undefined> {
  if (stdin.isTTY || signal?.aborted) return undefined;
  const bytes = await collect(stdin, signal, (isFirst) => {
    const cancel = clock.after(silenceMs, onSilence);
    isFirst.then(cancel, cancel);
  });
  return bytes && decodeText(bytes);
}

/**
 * Collects the chunks of the input. It uses events, because a pending read of an async iterator
 * cannot be cancelled.
 */
async function collect(
  stdin: InputStream,
  signal: AbortSignal | undefined,
  onBegin: (isFirst: Promise<void>) => void,
): Promise<Buffer | undefined> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer | undefined>();
  const first = Promise.withResolvers<void>();
  onBegin(first.promise);
  const chunks: Buffer[] = [];
  let length = 0;
  const onData = (chunk: Buffer | string) => {
    first.resolve();
    const bytes = Buffer.from(chunk);
    chunks.push(bytes);
    length += bytes.length;
    if (length > maxBytes) reject(tooLarge());
  };
  const onEnd = () => resolve(Buffer.concat(chunks));
  const onError = (error: Error) => reject(unreadableInput(error));
  const onAbort = () => resolve(undefined);
  stdin.on('data', onData).on('end', onEnd).on('error', onError);
  signal?.addEventListener('abort', onAbort);
  try {
    return await promise;
  } finally {
    first.resolve();
    stdin.off('data', onData).off('end', onEnd).off('error', onError);
    signal?.removeEventListener('abort', onAbort);
    // If stdin stays open, the process does not end.
    stdin.pause();
  }
}

function decodeText(bytes: Buffer): string {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    if (!text.includes('\0')) return text;
  } catch {
    // The code below throws the error.
  }
  throw new UsageError(
    'Cannot use the piped input: it is not UTF-8 text. Name the file in the prompt instead, so that the agent can read it',
  );
}

function tooLarge(): UsageError {
  return new UsageError(
    `Cannot use the piped input: it is larger than ${maxBytes / 2 ** 20} MiB. Name the file in the prompt instead, so that the agent reads what it needs`,
  );
}

function unreadableInput(cause: Error): UsageError {
  const { code = 'unknown' } = cause as NodeJS.ErrnoException;
  const message = `Cannot read standard input (${code}). If there is none, use: < /dev/null`;
  return new UsageError(message, { errno: code }, { cause });
}

interface CreateRunInputOptions {
  readonly args: Pick<PrintArgs, 'prompt' | 'session'>;
  /** The piped input. Undefined if there is none. */
  readonly piped: string | undefined;
  readonly cwd: string;
  readonly home?: string | undefined;
  /** Reads pictures with the rules and the hooks of the session. Default: without rules and hooks. */
  readonly runUnasked?: RunUnasked | undefined;
  /** True if the run only plans. The message then has a note for the model. Default: false. */
  readonly isPlan?: boolean | undefined;
  /** Further texts of the message, such as the text of a custom command. Default: none. */
  readonly further?: readonly string[] | undefined;
}

/**
 * Creates the message to the model. It contains the prompt with the piped input as context, or only
 * the piped input. Pictures that the prompt mentions are attached. Returns undefined if there is no
 * prompt and no input, and a session is resumed.
 */
export async function createRunInput({
  args,
  piped = '',
  cwd,
  home,
  runUnasked,
  isPlan = false,
  further = [],
}: CreateRunInputOptions): Promise<Item | undefined> {
  const { prompt = '', session } = args;
  const notes = isPlan ? [planNote] : [];
  const context = piped.trim() === '' ? [] : [`<stdin>\n${piped.replace(/\n$/, '')}\n</stdin>`];
  if (prompt.trim() !== '') {
    const pictures = await readPictures(prompt, { cwd, home, chosen: [prompt], run: runUnasked });
    return userItem([prompt, ...further, ...context, ...notes], { cwd, pictures });
  }
  if (context.length > 0) return userItem([piped.trim(), ...notes], { cwd });
  if (session !== 'new') return undefined;
  throw new UsageError(
    'Cannot start: there is no prompt. Give one (millrace -p "Say hello"), or pipe one in',
  );
}
