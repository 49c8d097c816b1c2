import {
  type Attempt,
  type DraftRecord,
  type ExecutionId,
  isMillraceError,
  type ToolCallId,
  type ToolResultPart,
} from '@millrace/core';
import { halted, raceAbort } from '../abortable.ts';
import type { RunContext } from '../contract/run-context.ts';
import type { PendingCall } from '../contract/settings.ts';
import type { ToolContext } from '../contract/tool.ts';
import { traceOfExecution } from '../state/run-trace.ts';
import type { ResultSlots } from './result-slots.ts';
import { runTool, stoppedEarly, type ToolRunResult } from './run-tool.ts';
import { createResultPart, errorResult } from './tool-result.ts';

interface ExecutionOptions {
  readonly context: RunContext;
  readonly at: Attempt;
  readonly slots: ResultSlots;
  /** Aborts when the run or the attempt stops. */
  readonly stop: AbortSignal;
  /** True when the tool has to stop, possibly before the signal aborts. */
  readonly isOver: () => boolean;
  /** True if the result counts, because the response has ended with this call. */
  readonly isAdopted: () => boolean;
  /** Returns the result, or an error result that replaces it. */
  readonly checkResult: (part: ToolResultPart) => ToolResultPart;
  /** Further records to write with the result. */
  readonly handOffDrafts: (part: ToolResultPart) => readonly DraftRecord[];
}

interface ExecutionInfo {
  readonly toolCallId: ToolCallId;
  readonly name: string;
  readonly executionId: ExecutionId;
}

/**
 * Runs a tool once. The log gets one start record, the progress, and one end record. Returns false
 * if the tool failed and may be retried.
 */
export async function executeOnce(
  ready: PendingCall & Pick<ToolContext, 'judged'>,
  before: readonly DraftRecord[],
  mayFail: boolean,
  options: ExecutionOptions,
): Promise<boolean> {
  const { context, at, slots, isOver, isAdopted, checkResult, handOffDrafts } = options;
  const { call, tool, summary } = ready;
  const { journal, settings } = context;
  const { toolCallId, name } = call;
  const executionId = settings.ids.execution(toolCallId);
  const child = tool.startsSession ? settings.ids.session() : undefined;
  const about = { toolCallId, name, executionId };
  const named = { type: 'tool_execution_started', ...about, summary } as const;
  const started = { ...at, fact: { ...named, ...(child && { child }) } };
  await journal.write([...before, started]);
  const performed = await runAndReport(ready, { ...about, child }, options);
  const result = await storeOutput(ready, performed, options);
  if (!isAdopted() && isOver()) {
    await journal.write([executionFinished(at, about, true, 'discarded')]);
    return true;
  }
  if (performed.hasThrown && mayFail && !isOver()) {
    await journal.write([executionFinished(at, about, true, 'completed')]);
    return false;
  }
  const [part, filled] = fillSlot(slots, checkResult(result), ready);
  const end = executionFinished(at, about, part.isError, 'completed');
  await journal.write([...filled, ...handOffDrafts(part), end]);
  return true;
}

/** Runs the tool and writes its progress to the log. */
async function runAndReport(
  { call, tool, input, judged }: PendingCall & Pick<ToolContext, 'judged'>,
  {
    executionId,
    child,
  }: Pick<ExecutionInfo, 'executionId'> & { readonly child: ExecutionInfo['name'] | undefined },
  { context, at, slots, stop, isOver }: ExecutionOptions,
): Promise<ToolRunResult> {
  const { settings, journal, session } = context;
  const { toolCallId } = call;
  // An abort may arrive while the start record is written.
  if (isOver()) return stoppedEarly;
  const progress = new ProgressWriter((text) => journal.write(slots.append(toolCallId, text)));
  const performed = await runTool(
    tool,
    input,
    {
      ...{ session, turn: at.turn, toolCallId, executionId },
      runId: journal.loop.run?.id ?? ('' as never),
      child: child as never,
      trace: traceOfExecution(journal.loop, executionId),
      observers: context.observers,
      ...{ judged, blobs: settings.log.blobs },
      update: (text) => progress.add(String(text)),
    },
    { clock: settings.clock, graceMs: settings.retry.toolGraceMs, stop },
  );
  progress.end();
  return performed;
}

/**
 * The result part for the model. If the output cannot be stored, the result says that the tool has
 * run.
 */
async function storeOutput(
  { call, tool }: PendingCall,
  { output }: ToolRunResult,
  { context, stop }: ExecutionOptions,
): Promise<ToolResultPart> {
  try {
    const work = createResultPart(call, output, tool, context.settings.log.blobs);
    const { clock, retry } = context.settings;
    const part = await raceAbort(work, stop, { clock, ms: retry.toolGraceMs });
    return part === halted ? errorResult(call, 'It was stopped before its output was kept.') : part;
  } catch {
    return errorResult(call, 'It was done, but its output could not be kept.');
  }
}

function fillSlot(
  slots: ResultSlots,
  part: ToolResultPart,
  { call }: PendingCall,
): readonly [ToolResultPart, readonly DraftRecord[]] {
  try {
    return [part, slots.fill(part)];
  } catch (error) {
    const code = isMillraceError(error) ? error.code : 'unknown';
    const fallback = errorResult(
      call,
      `It was done, but what it returned cannot be kept (${code}).`,
    );
    return [fallback, slots.fill(fallback)];
  }
}

function executionFinished(
  at: Attempt,
  about: ExecutionInfo,
  isError: boolean,
  outcome: 'completed' | 'discarded',
): DraftRecord {
  return { ...at, fact: { type: 'tool_execution_finished', ...about, isError, outcome } };
}

/** Maximum progress text of one execution. Further text is dropped, with a note. */
const maxLength = 1_000_000;
const truncatedNote = '\n[… and so on …]';

/**
 * Writes the progress of one execution. Text that arrives during a write is joined into the next
 * write.
 */
class ProgressWriter {
  readonly #write: (text: string) => Promise<void>;
  #next = '';
  #isWriting = false;
  #left = maxLength;
  #isOver = false;

  constructor(write: (text: string) => Promise<void>) {
    this.#write = write;
  }

  add(text: string): void {
    if (this.#isOver || this.#left === 0) return;
    const accepted = text.slice(0, this.#left);
    this.#left -= accepted.length;
    this.#next += this.#left === 0 ? accepted + truncatedNote : accepted;
    if (!this.#isWriting) this.#flush();
  }

  /** Ignores all later progress. */
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
    // If this write fails, the run's own next write fails too and reports it.
    this.#write(text).then(done, done);
  }
}
