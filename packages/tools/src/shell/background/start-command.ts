import type { Clock } from '@millrace/agent';
import type { SecretMask } from '../mask-secrets.ts';
import type { ReadyCommand } from '../prepare-command.ts';
import type { CommandOutcome } from '../run-command.ts';
import type { StartedCommand } from './background-commands.ts';
import { liveOutput } from './live-output.ts';

interface StartOptions {
  readonly command: string;
  /** Time limit in milliseconds. Undefined means no limit. */
  readonly timeoutMs: number | undefined;
  readonly maxKeptBytes: number;
  readonly mask: SecretMask | undefined;
  /** If it aborts before the program has started, the program does not start. */
  readonly signal: AbortSignal;
  /** Also gets the output, after masking. Default: none. */
  readonly onOutput?: ((bytes: Uint8Array) => Promise<void> | undefined) | undefined;
}

/** Number of bytes at the end of an output in which the reason of a failure is searched. */
const explainedBytes = 4000;

/**
 * Starts a command whose output can be read while it runs. Resolves when the program has started, and rejects
 * if it cannot start.
 */
export async function startCommand(
  ready: ReadyCommand,
  { command, timeoutMs, maxKeptBytes, mask, signal, onOutput }: StartOptions,
): Promise<StartedCommand> {
  const stop = new AbortController();
  const output = liveOutput({ maxKeptBytes, mask, onOutput });
  const isStarted = Promise.withResolvers<void>();
  const onAbort = () => stop.abort(signal.reason);
  signal.addEventListener('abort', onAbort);
  if (signal.aborted) onAbort();
  const running = ready.run({
    ...{ signal: stop.signal, timeoutMs, recordsChanges: false },
    ...{ onOutput: output.add, onStart: isStarted.resolve },
  });
  const ended = running.then(async (outcome) => {
    await output.end();
    const { text } = await output.read(Math.max(0, output.length - explainedBytes), explainedBytes);
    return { outcome, notes: ready.notes(outcome, text) };
  });
  ended.catch(() => {});
  await Promise.race([isStarted.promise, running]).catch(async (error: unknown) => {
    await output.close();
    throw error;
  });
  // From now on, the command also survives an abort of the run.
  signal.removeEventListener('abort', onAbort);
  return { command, output, stop, ended };
}

interface WaitOptions {
  readonly timeoutMs: number;
  /** Stops the command. */
  readonly signal: AbortSignal;
  readonly clock: Clock;
}

/** Waits for the end of a command. Returns undefined if it still runs after `timeoutMs`. */
export async function endsInTime(
  { ended, stop }: StartedCommand,
  { timeoutMs, signal, clock }: WaitOptions,
): Promise<CommandOutcome | undefined> {
  const late = Promise.withResolvers<undefined>();
  const cancel = clock.after(timeoutMs, () => late.resolve(undefined));
  const onAbort = () => stop.abort();
  signal.addEventListener('abort', onAbort);
  if (signal.aborted) onAbort();
  try {
    const end = await Promise.race([ended, late.promise]);
    // An abort has stopped the command, so its end is near.
    return (end ?? (stop.signal.aborted ? await ended : undefined))?.outcome;
  } finally {
    cancel();
    signal.removeEventListener('abort', onAbort);
  }
}

/** Stops a command that has exceeded its time limit. */
export async function stopLate({ stop, ended }: StartedCommand): Promise<CommandOutcome> {
  stop.abort();
  const { outcome } = await ended;
  return outcome.reason === 'aborted' ? { ...outcome, reason: 'timed_out' } : outcome;
}
