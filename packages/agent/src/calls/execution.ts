import {
  type Attempt,
  type DraftRecord,
  type ExecutionId,
  isMillraceError,
  type ToolCallId,
  type ToolResultPart,
} from '@millrace/core';
import { halted, unlessAborted } from '../abortable.ts';
import type { RunContext } from '../contract/run-context.ts';
import type { PendingCall } from '../contract/settings.ts';
import { traceOfExecution } from '../state/run-trace.ts';
import type { ResultPlaces } from './result-slots.ts';
import { type Performance, perform, stoppedEarly } from './run-tool.ts';
import { failure, resultPart } from './tool-result.ts';

interface ExecutionOptions {
  readonly context: RunContext;
  readonly at: Attempt;
  readonly places: ResultPlaces;
  /** Aborts when the run, or the attempt, stops. */
  readonly stop: AbortSignal;
  /** It is to stop, though the signal may not say so yet. */
  readonly isOver: () => boolean;
  /** Whether what comes of it counts. */
  readonly isAdopted: () => boolean;
  /** The result, or what is said instead. */
  readonly reviewed: (part: ToolResultPart) => ToolResultPart;
  /** What else is said with the result. */
  readonly beside: (part: ToolResultPart) => readonly DraftRecord[];
}

interface About {
  readonly toolCallId: ToolCallId;
  readonly name: string;
  readonly executionId: ExecutionId;
}

/**
 * One try at a call: one start and one end on the log, and between them what it tells. False where it
 * failed and may be tried again.
 */
export async function execution(
  ready: PendingCall,
  before: readonly DraftRecord[],
  mayFail: boolean,
  options: ExecutionOptions,
): Promise<boolean> {
  const { context, at, places, isOver, isAdopted, reviewed, beside } = options;
  const { call, tool, summary } = ready;
  const { journal, settings } = context;
  const { toolCallId, name } = call;
  const executionId = settings.ids.execution(toolCallId);
  const child = tool.startsSession ? settings.ids.session() : undefined;
  const about = { toolCallId, name, executionId };
  const named = { type: 'tool_execution_started', ...about, summary } as const;
  const started = { ...at, fact: { ...named, ...(child && { child }) } };
  await journal.write([...before, started]);
  const performed = await told(ready, { ...about, child }, options);
  const result = await kept(ready, performed, options);
  if (!isAdopted() && isOver()) {
    await journal.write([finished(at, about, true, 'discarded')]);
    return true;
  }
  if (performed.hasThrown && mayFail && !isOver()) {
    await journal.write([finished(at, about, true, 'completed')]);
    return false;
  }
  const [part, filled] = placed(places, reviewed(result), ready);
  const end = finished(at, about, part.isError, 'completed');
  await journal.write([...filled, ...beside(part), end]);
  return true;
}

/** Runs it, and writes down what it tells meanwhile. */
async function told(
  { call, tool, input }: PendingCall,
  {
    executionId,
    child,
  }: Pick<About, 'executionId'> & { readonly child: About['name'] | undefined },
  { context, at, places, stop, isOver }: ExecutionOptions,
): Promise<Performance> {
  const { settings, journal, session } = context;
  const { toolCallId } = call;
  // Somebody may have said stop while its start was written down.
  if (isOver()) return stoppedEarly;
  const progress = new Progress((text) => journal.write(places.append(toolCallId, text)));
  const performed = await perform(
    tool,
    input,
    {
      ...{ session, turn: at.turn, toolCallId, executionId },
      runId: journal.loop.run?.id ?? ('' as never),
      child: child as never,
      trace: traceOfExecution(journal.loop, executionId),
      observers: context.observers,
      blobs: settings.log.blobs,
      update: (text) => progress.tell(String(text)),
    },
    { clock: settings.clock, graceMs: settings.retry.toolGraceMs, stop },
  );
  progress.end();
  return performed;
}

/** As the model gets it. What cannot be kept is said to have been done. */
async function kept(
  { call, tool }: PendingCall,
  { output }: Performance,
  { context, stop }: ExecutionOptions,
): Promise<ToolResultPart> {
  try {
    const work = resultPart(call, output, tool, context.settings.log.blobs);
    const { clock, retry } = context.settings;
    const part = await unlessAborted(work, stop, { clock, ms: retry.toolGraceMs });
    return part === halted ? failure(call, 'It was stopped before its output was kept.') : part;
  } catch {
    return failure(call, 'It was done, but its output could not be kept.');
  }
}

function placed(
  places: ResultPlaces,
  part: ToolResultPart,
  { call }: PendingCall,
): readonly [ToolResultPart, readonly DraftRecord[]] {
  try {
    return [part, places.fill(part)];
  } catch (error) {
    const code = isMillraceError(error) ? error.code : 'unknown';
    const told = failure(call, `It was done, but what it returned cannot be kept (${code}).`);
    return [told, places.fill(told)];
  }
}

function finished(
  at: Attempt,
  about: About,
  isError: boolean,
  outcome: 'completed' | 'discarded',
): DraftRecord {
  return { ...at, fact: { type: 'tool_execution_finished', ...about, isError, outcome } };
}

/** Of what one execution tells; the rest is left out, and said to be. */
const maxLength = 1_000_000;
const leftOut = '\n[… and so on …]';

/** What an execution tells while it works: written at once, and together where it comes faster than that. */
class Progress {
  readonly #write: (text: string) => Promise<void>;
  #next = '';
  #isWriting = false;
  #left = maxLength;
  #isOver = false;

  constructor(write: (text: string) => Promise<void>) {
    this.#write = write;
  }

  tell(text: string): void {
    if (this.#isOver || this.#left === 0) return;
    const room = text.slice(0, this.#left);
    this.#left -= room.length;
    this.#next += this.#left === 0 ? room + leftOut : room;
    if (!this.#isWriting) this.#flush();
  }

  /** What is told from now on comes too late. */
  end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#flush();
  }

  #flush(): void {
    const text = this.#next;
    this.#next = '';
    this.#isWriting = text !== '';
    if (text === '') return;
    const done = () => this.#flush();
    // Where it cannot be written down, the run's own next word cannot either.
    this.#write(text).then(done, done);
  }
}
