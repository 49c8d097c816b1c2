import type { Clock } from '@millrace/providers';
import { textOfError } from '../contract/agent-error.ts';
import type { Tool, ToolContext, ToolOutput, ToolReturn } from '../contract/tool.ts';
import { toOutput } from './tool-result.ts';

export interface ToolRunResult {
  readonly output: ToolOutput['output'];
  readonly hasThrown: boolean;
}

interface RunToolOptions {
  readonly clock: Clock;
  /** The time to wait for a tool after its signal is aborted, in milliseconds. */
  readonly graceMs: number;
  /** Aborts when the run or the attempt stops. */
  readonly stop: AbortSignal;
}

const stoppedText = 'It was stopped before it was done.';
export const stoppedEarly: ToolRunResult = stopped(stoppedText);

/** Runs a tool until it ends, exceeds its timeout or is stopped. Never throws. */
export async function runTool(
  tool: Tool,
  input: unknown,
  context: Omit<ToolContext, 'signal'>,
  { clock, graceMs, stop }: RunToolOptions,
): Promise<ToolRunResult> {
  if (stop.aborted) return stoppedEarly;
  const own = new AbortController();
  const ended = Promise.withResolvers<ToolRunResult>();
  const { timeoutMs } = tool;
  let why: string | undefined;
  let cancel = () => {};
  const halt = (reason: string) => {
    if (own.signal.aborted) return;
    why = reason;
    own.abort(new Error(reason));
    cancel();
    // A tool may ignore its abort signal. It must not block the run after the grace period.
    cancel = clock.after(graceMs, () => ended.resolve(stopped(reason)));
  };
  const onStop = () => halt(stoppedText);
  const onTimeout = () => halt(`It took longer than ${timeoutMs} ms and was stopped.`);
  if (timeoutMs !== undefined) cancel = clock.after(timeoutMs, onTimeout);
  stop.addEventListener('abort', onStop);
  const run = async () => {
    const execution: unknown = tool.execute(input, { ...context, signal: own.signal });
    return toOutput(
      await (isGenerator(execution) ? drainGenerator(execution, context, own) : execution),
    );
  };
  run().then(
    (output) =>
      ended.resolve({
        output: stop.aborted ? output : withStopNote(why, output),
        hasThrown: false,
      }),
    (error: unknown) =>
      ended.resolve(why === undefined ? failed(textOfError(error)) : stopped(why)),
  );
  const performance = await ended.promise;
  cancel();
  stop.removeEventListener('abort', onStop);
  return performance;
}

type Generator = AsyncGenerator<string, ToolReturn>;

function isGenerator(execution: unknown): execution is Generator {
  return typeof execution === 'object' && execution !== null && Symbol.asyncIterator in execution;
}

/**
 * Reports each value that the generator yields as progress, and returns the generator's return value. On
 * abort, it calls the generator's `return`.
 */
async function drainGenerator(
  execution: Generator,
  { update }: Pick<ToolContext, 'update'>,
  { signal }: AbortController,
): Promise<ToolReturn> {
  signal.addEventListener('abort', () => void execution.return(undefined).catch(() => {}));
  for (;;) {
    const next = await execution.next();
    if (next.done && signal.aborted && next.value === undefined) throw signal.reason;
    if (next.done) return next.value;
    update(next.value);
  }
}

/**
 * Turns the output of a stopped tool into an error with a note. This also applies to a tool that returns
 * normally after its timeout, because it did not complete in time.
 */
function withStopNote(why: string | undefined, output: ToolOutput['output']): ToolOutput['output'] {
  return why === undefined ? output : { ...output, text: `${why}\n${output.text}`, isError: true };
}

function failed(text: string): ToolRunResult {
  return { output: { text, isError: true }, hasThrown: true };
}

function stopped(text: string): ToolRunResult {
  return { output: { text, isError: true }, hasThrown: false };
}
