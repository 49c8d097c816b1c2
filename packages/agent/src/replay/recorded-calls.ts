import type {
  ExecutionId,
  Fact,
  LogRecord,
  PartId,
  SessionId,
  ToolCallId,
  ToolResultPart,
} from '@millrace/core';
import type { ApprovalDecision } from '../contract/settings.ts';

/** What a tool did, as far as the log was told. */
export interface RecordedExecution {
  readonly updates: readonly RecordedUpdate[];
  /** Undefined where it threw and was tried again, was thrown away, or nobody knows. */
  readonly result: ToolResultPart | undefined;
  /** How many records there were when it ended. Undefined where it did not. */
  readonly after: number | undefined;
  readonly child: SessionId | undefined;
}

interface RecordedUpdate {
  readonly text: string;
  /** How many records there were before it. */
  readonly after: number;
}

/** What was decided on a call before anything else was done about it. */
export interface RecordedDecision {
  readonly decision: ApprovalDecision;
  /** How many records there were then. */
  readonly after: number;
}

/** A call's name among all of a session: providers may use an id again in another turn. */
export function callKey(turn: number, toolCallId: string): string {
  return `${turn} ${toolCallId}`;
}

export function recordedExecutions(
  records: readonly LogRecord[],
): ReadonlyMap<ExecutionId, RecordedExecution> {
  const executions = new Map<ExecutionId, RecordedExecution>();
  /** Where a call's result goes: the last part that was begun for it. */
  const places = new Map<ToolCallId, PartId>();
  const told = new Map<PartId, RecordedUpdate[]>();
  const drivers = new Map<ExecutionId, string>();
  /** What is under way for a call. */
  const last = new Map<ToolCallId, ExecutionId>();
  for (const [at, { delta, fact, producer }] of records.entries()) {
    if (delta?.type === 'begin_part' && delta.kind === 'tool_result')
      places.set(delta.toolCallId, delta.partId);
    if (delta?.type === 'append_text')
      told.get(delta.partId)?.push({ text: delta.chunk, after: at });
    if (fact?.type === 'tool_execution_started') {
      const { executionId, toolCallId, child } = fact;
      const updates: RecordedUpdate[] = [];
      const place = places.get(toolCallId);
      if (place !== undefined) told.set(place, updates);
      drivers.set(executionId, producer);
      last.set(toolCallId, executionId);
      executions.set(executionId, { updates, result: undefined, after: undefined, child });
    }
    if (delta?.type === 'commit_part' && delta.part?.kind === 'tool_result') {
      // Its end follows, unless a fork was made between them.
      const { part: result } = delta;
      const id = last.get(result.toolCallId);
      const begun = id && executions.get(id);
      if (id && begun) executions.set(id, { ...begun, after: at, result });
    }
    if (fact?.type === 'tool_execution_finished') {
      last.delete(fact.toolCallId);
      const begun = executions.get(fact.executionId);
      // Whoever came after a driver that died says that it is lost; its own end is not recorded.
      if (begun === undefined || drivers.get(fact.executionId) !== producer) continue;
      const [after, result] = resultBefore(records, at, fact.toolCallId);
      executions.set(fact.executionId, { ...begun, after, result });
    }
  }
  return executions;
}

/** A result is committed right before its execution's end; a hand-off may stand between. */
function resultBefore(
  records: readonly LogRecord[],
  end: number,
  toolCallId: ToolCallId,
): readonly [number, ToolResultPart | undefined] {
  const at = records[end - 1]?.fact?.type === 'handed_off' ? end - 2 : end - 1;
  const delta = records[at]?.delta;
  const part = delta?.type === 'commit_part' ? delta.part : undefined;
  const isOwn = part?.kind === 'tool_result' && part.toolCallId === toolCallId;
  return isOwn ? [at, part] : [end, undefined];
}

/** By call key. A call of which nothing is recorded was never decided on. */
export function recordedDecisions(
  records: readonly LogRecord[],
): ReadonlyMap<string, RecordedDecision> {
  const decisions = new Map<string, RecordedDecision>();
  for (const [at, { fact, turn }] of records.entries()) {
    const decision = fact && decisionIn(fact);
    if (decision === undefined || fact === undefined || !('toolCallId' in fact)) continue;
    const key = callKey(turn, fact.toolCallId);
    if (!decisions.has(key)) decisions.set(key, { decision, after: batchStart(records, at) });
  }
  for (const [key, after] of cutStarts(records))
    if (!decisions.has(key)) decisions.set(key, { decision: 'allow', after });
  return decisions;
}

/** A fork may be made after a start made its places and before it is told: which call it was, they say. */
function cutStarts(records: readonly LogRecord[]): readonly (readonly [string, number])[] {
  return records.flatMap((record, at) => {
    const next = records[at + 1];
    if (!opensResult(record) || next?.producer === record.producer) return [];
    let first = at;
    while (opensResult(records[first - 1])) first--;
    const { delta, turn } = record;
    const isNamed = delta?.type === 'begin_part' && delta.kind === 'tool_result';
    const calls = isNamed ? [delta.toolCallId] : callsIn(records, turn);
    return calls.map((id) => [callKey(turn, id), first] as const);
  });
}

function callsIn(records: readonly LogRecord[], turn: number): readonly ToolCallId[] {
  return records.flatMap(({ delta, turn: of }) =>
    of === turn && delta?.type === 'begin_part' && delta.kind === 'tool_call'
      ? delta.toolCallId
      : [],
  );
}

const denialForm = /^It was not allowed(?:: (?<reason>.*)|\.)$/s;

function decisionIn(fact: Fact): ApprovalDecision | undefined {
  switch (fact.type) {
    case 'tool_execution_started':
      return 'allow';
    case 'approval_asked':
      return { decision: 'ask', reason: fact.reason, rule: fact.rule };
    case 'tool_call_rejected': {
      const said = fact.code === 'denied' ? denialForm.exec(fact.message) : null;
      return said === null ? undefined : { decision: 'deny', reason: said.groups?.['reason'] };
    }
    default:
      return undefined;
  }
}

/**
 * Where the batch begins that a start is in: one that is made while the model still speaks makes its
 * place, and those of the calls before it, with it. Places of calls behind it were made for all at once.
 */
function batchStart(records: readonly LogRecord[], at: number): number {
  const { fact } = records[at] ?? {};
  if (fact?.type !== 'tool_execution_started') return at;
  const last = records[at - 1]?.delta;
  const isOwn =
    last?.type === 'begin_part' && isResultBegin(last) && last.toolCallId === fact.toolCallId;
  let first = at;
  while (isOwn && opensResult(records[first - 1])) first--;
  return first;
}

function isResultBegin<D extends { readonly kind?: string }>(
  delta: D,
): delta is D & { readonly kind: 'tool_result' } {
  return delta.kind === 'tool_result';
}

function opensResult(record: LogRecord | undefined): boolean {
  const { delta, fact } = record ?? {};
  if (fact?.type === 'item_started') return fact.kind === 'tool';
  return delta?.type === 'begin_part' && delta.kind === 'tool_result';
}
