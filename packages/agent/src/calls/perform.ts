import type { Clock } from '@millrace/providers';
import type { Execution, Tool, ToolContext, ToolOutput, ToolReturn } from '../tool/tool.ts';
import { outputOf } from './result-part.ts';

export interface Performance {
  readonly output: ToolOutput['output'];
  /** It ended by itself, with or without an error; otherwise it was stopped. */
  readonly isOwn: boolean;
  readonly hasThrown: boolean;
}

export interface PerformOptions {
  readonly clock: Clock;
  /** How long one that was told to stop is waited for. */
  readonly graceMs: number;
  /** Aborts when the run, or the attempt, stops. */
  readonly stop: AbortSignal;
}

/** Runs a tool to its end, to its time-out, or until it is told to stop. It never throws. */
export async function perform(
  tool: Tool,
  input: unknown,
  context: Omit<ToolContext, 'signal'>,
  { clock, graceMs, stop }: PerformOptions,
): Promise<Performance> {
  const own = new AbortController();
  const ended = Promise.withResolvers<Performance>();
  let why = 'It was stopped before it was done.';
  let cancel = () => {};
  const halt = (reason: string) => {
    if (own.signal.aborted) return;
    why = reason;
    own.abort(new Error(reason));
    cancel();
    // Whatever does not stop when it is told to is not waited for.
    cancel = clock.after(graceMs, () => ended.resolve(stopped(why)));
  };
  const onStop = () => halt('It was stopped before it was done.');
  const { timeoutMs } = tool;
  if (timeoutMs !== undefined)
    cancel = clock.after(timeoutMs, () =>
      halt(`It took longer than ${timeoutMs} ms and was stopped.`),
    );
  stop.addEventListener('abort', onStop);
  if (stop.aborted) onStop();
  const run = async () =>
    outputOf(await drained(tool.execute(input, { ...context, signal: own.signal }), context));
  const isHalted = () => own.signal.aborted;
  run().then(
    (output) => ended.resolve({ output, isOwn: true, hasThrown: false }),
    (error: unknown) =>
      ended.resolve(isHalted() ? stopped(why) : { ...failed(error), isOwn: true, hasThrown: true }),
  );
  const performance = await ended.promise;
  cancel();
  stop.removeEventListener('abort', onStop);
  return performance;
}

/** What a generator yields is what it tells meanwhile. */
async function drained(
  execution: Execution,
  { update }: Pick<ToolContext, 'update'>,
): Promise<ToolReturn> {
  if (!(Symbol.asyncIterator in execution)) return execution;
  for (;;) {
    const next = await execution.next();
    if (next.done) return next.value;
    update(next.value);
  }
}

function failed(error: unknown): Pick<Performance, 'output'> {
  const text = error instanceof Error ? error.message : String(error);
  return { output: { text: text === '' ? 'It failed without saying why.' : text, isError: true } };
}

function stopped(why: string): Performance {
  return { output: { text: why, isError: true }, isOwn: false, hasThrown: false };
}
