import {
  type Attempt,
  type DraftRecord,
  type ExecutionId,
  findItem,
  type ItemId,
  isMillraceError,
  type ToolCallId,
  type ToolResultPart,
} from '@millrace/core';
import { halted, raceAbort } from '../abortable.ts';
import type { RunContext } from '../contract/run-context.ts';
import type { CheckedToolCall, ToolContext, ToolNotice } from '../contract/tool.ts';
import { traceOfExecution } from '../state/run-trace.ts';
import type { DecidedCall } from './approvals.ts';
import type { ChildCall } from './child-call.ts';
import type { ResultSlots } from './result-slots.ts';
import { runTool, stoppedEarly, type ToolRunResult } from './run-tool.ts';
import { copiedFromClient, createResultPart, errorResult } from './tool-result.ts';

interface ExecutionOptions {
  readonly context: RunContext;
  readonly at: Attempt;
  readonly slots: ResultSlots;
  /** Aborts when the run or the attempt of this call stops. */
  readonly stop: AbortSignal;
  /** Returns true when the tool has to stop. It may return true before the signal aborts. */
  readonly isOver: () => boolean;
  /** Returns true if the response has ended and contains this call. The result is valid only then. */
  readonly isAdopted: () => boolean;
  /** Returns the result unchanged, or an error result in its place. */
  readonly checkResult: (part: ToolResultPart) => ToolResultPart;
  /** The forms of running tools that wait for an answer, with the functions that end the wait. */
  readonly answers: Map<ToolCallId, () => void>;
  /** Called before the tool runs. The argument is undefined if the tool does not run a sub-agent. */
  readonly onChild: (childCall: ChildCall | undefined) => void;
  /** Returns the records of a hand-off, which the loop writes together with the result. */
  readonly handOffDrafts: (part: ToolResultPart) => readonly DraftRecord[];
}

type ExecutionOutcome =
  | { readonly type: 'done' }
  | { readonly type: 'retry' }
  | { readonly type: 'parked'; readonly childCall: ChildCall };

interface ExecutionInfo {
  readonly toolCallId: ToolCallId;
  readonly name: string;
  readonly executionId: ExecutionId;
}

/**
 * Runs a tool once. Writes a start record, the progress and an end record to the log. The outcome is `retry`
 * if the tool failed and may run again. It is `parked` if the tool's sub-agent waits for an answer.
 */
export async function executeOnce(
  ready: DecidedCall,
  before: readonly DraftRecord[],
  mayFail: boolean,
  options: ExecutionOptions,
): Promise<ExecutionOutcome> {
  const { context, at, slots, isOver, isAdopted, checkResult, handOffDrafts, onChild } = options;
  const { call, summary } = ready;
  const { journal, settings } = context;
  const { toolCallId, name } = call;
  const executionId = settings.ids.execution(toolCallId);
  // The code for sub-agents loads on demand, because few agents have sub-agents.
  const childCall = ready.tool.startsSession
    ? (await import('./child-call.ts')).createChildCall(call, context, at)
    : undefined;
  const about = { toolCallId, name, executionId };
  const named = { type: 'tool_execution_started', ...about, summary } as const;
  const child = childCall && { child: childCall.child, parent: childCall.parent };
  await journal.write([...before, { ...at, fact: { ...named, ...child } }]);
  onChild(childCall);
  const performed = await runAndReport(ready, executionId, childCall, options);
  // This process gave the session up. The next process continues the sub-agent in a new execution.
  if (childCall?.isLeft) return { type: 'done' };
  if (childCall?.isParked && !isOver()) {
    await journal.write([executionFinished(at, about, false, 'parked')]);
    return { type: 'parked', childCall };
  }
  const stored = await storeOutput(ready, performed, options);
  const result = performed.hasReadClient ? copiedFromClient(stored) : stored;
  if (!isAdopted() && isOver()) {
    await journal.write([executionFinished(at, about, true, 'discarded')]);
    return { type: 'done' };
  }
  if (performed.hasThrown && mayFail && !isOver()) {
    await journal.write([executionFinished(at, about, true, 'completed')]);
    return { type: 'retry' };
  }
  const [part, filled] = fillSlot(slots, checkResult(result), ready);
  const end = executionFinished(at, about, part.isError, 'completed');
  await journal.write([...filled, ...handOffDrafts(part), end]);
  return { type: 'done' };
}

/** Runs the tool and writes its progress to the log. */
async function runAndReport(
  ready: DecidedCall,
  executionId: ExecutionId,
  childCall: ChildCall | undefined,
  { context, at, slots, stop, isOver, answers }: ExecutionOptions,
): Promise<ToolRunResult & { readonly hasReadClient?: boolean }> {
  const { settings, journal } = context;
  const { tool, input, call } = ready;
  const { toolCallId } = call;
  // An abort may arrive while the start record is being written.
  if (isOver()) return stoppedEarly;
  const progress = new ProgressWriter((text) => journal.write(slots.append(toolCallId, text)));
  const update = (text: string) => progress.add(String(text));
  let asker: Promise<NonNullable<ToolContext['ask']>> | undefined;
  // The code for forms loads on demand, because few tools ask the user.
  const ask: ToolContext['ask'] = async (form, signal) => {
    asker ??= import('./form-call.ts').then((forms) =>
      forms.formAsker({ context, at, call, answers, stop, tool }),
    );
    return (await asker)(form, signal);
  };
  let hasReadClient = false;
  const toolContext = {
    ...toolContextOf(ready, executionId, childCall, context, at, update),
    ask,
    isWithheld: async (item: ItemId) => {
      // The code loads on demand, because few tools read earlier results.
      const { hasClientText, isWithheld } = await import('../guardrails/withheld-items.ts');
      const isHidden = isWithheld(settings, journal, item);
      hasReadClient ||= !isHidden && hasClientText(findItem(journal.state, item));
      return isHidden;
    },
  };
  const { clock, retry } = settings;
  const performed = await runTool(tool, input, toolContext, {
    ...{ clock, graceMs: retry.toolGraceMs, stop },
  });
  progress.end();
  return { ...performed, hasReadClient };
}

/** Returns the context argument of a tool, without the abort signal. */
export function toolContextOf(
  { call: { toolCallId, name }, judged, basis }: DecidedCall,
  executionId: ExecutionId,
  childCall: ChildCall | undefined,
  { settings, journal, session, observers, context }: RunContext,
  { turn, attempt }: Attempt,
  update: ToolContext['update'],
): Omit<ToolContext, 'signal'> {
  return {
    ...{ context, session, turn, toolCallId, executionId, observers, update },
    idempotencyKey: `${session}:${turn}:${toolCallId}`,
    ...{ child: childCall?.child, asParent: childCall },
    runId: journal.loop.run?.id ?? ('' as never),
    trace: traceOfExecution(journal.loop, executionId),
    ...{ judged, basis, blobs: settings.log.blobs, sessionState: () => journal.state },
    notify: (notice) => sendNotice(notice, settings.log, session),
    recordFileChange: ({ path, before, after, scope }) => {
      const versions = {
        ...(before && { before }),
        ...(after && { after }),
        ...(scope && { scope }),
      };
      const fact = {
        type: 'file_changed',
        toolCallId,
        name,
        executionId,
        path,
        ...versions,
      } as const;
      return journal.write([{ turn, attempt, fact }]);
    },
  };
}

/**
 * Submits a message of a tool. It does not use the journal, because the run may have ended. The code loads on
 * demand, because few tools send messages.
 */
async function sendNotice(
  { text, metadata, key }: ToolNotice,
  log: RunContext['settings']['log'],
  session: RunContext['session'],
): Promise<void> {
  const { submitCommand } = await import('../input/submit-command.ts');
  const item = { kind: 'developer', parts: [{ kind: 'text', text }] } as const;
  const input = metadata === undefined ? item : { ...item, metadata };
  await submitCommand(log, session, { type: 'message', when: 'steer', input }, { key });
}

/**
 * Returns the result part for the model. If the output cannot be stored, the part is an error which states
 * that the tool has run.
 */
async function storeOutput(
  { call, tool }: CheckedToolCall,
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
  { call }: CheckedToolCall,
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
  outcome: 'completed' | 'discarded' | 'parked',
): DraftRecord {
  return { ...at, fact: { type: 'tool_execution_finished', ...about, isError, outcome } };
}

/**
 * Maximum length of the progress text of one execution, in characters. Longer text is dropped and replaced by
 * a note.
 */
const maxLength = 1_000_000;
const truncatedNote = '\n[… and so on …]';

/**
 * Writes the progress of one execution. Texts that arrive while a write is in progress are joined and written
 * together.
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

  /** Writes the remaining text. Text that arrives later is ignored. */
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
    // Errors are ignored here. The run's next write fails with the same error and reports it.
    this.#write(text).then(done, done);
  }
}
