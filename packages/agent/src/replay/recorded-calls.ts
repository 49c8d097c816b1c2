import {
  type AskingAgent,
  type ExecutionId,
  type Fact,
  formWithdrawn,
  type LogRecord,
  type PartId,
  type SessionId,
  type ToolCallId,
  type ToolResultPart,
} from '@millrace/core';
import { changedCallId } from '../calls/approvals.ts';
import type { ApprovalDecision } from '../contract/settings.ts';

/** The recorded events of one tool execution. */
export interface RecordedExecution {
  readonly updates: readonly RecordedUpdate[];
  /** The result. Undefined if the execution was retried, discarded or lost. */
  readonly result: ToolResultPart | undefined;
  /** The number of records before the end of the execution. Undefined if its end is not recorded. */
  readonly after: number | undefined;
  readonly child: SessionId | undefined;
  /**
   * The facts that the execution wrote: changed files, and the questions, answers and usage of its sub-agent.
   */
  readonly toolFacts: readonly RecordedToolFact[];
  /** The questions that the loop must check for answers. Set if the execution's sub-agent was parked. */
  readonly parkedWith: readonly ToolCallId[] | undefined;
}

/** A fact that the loop wrote for a tool while the tool ran. */
export interface RecordedToolFact {
  readonly fact: Extract<
    Fact,
    {
      readonly type:
        | 'approval_asked'
        | 'approval_answered'
        | 'child_usage_reported'
        | 'file_changed';
    }
  >;
  /** The number of records before this fact. */
  readonly after: number;
}

interface RecordedUpdate {
  readonly text: string;
  /** The number of records before the update. */
  readonly after: number;
}

/** A recorded decision of the policy on a call. */
export interface RecordedDecision {
  readonly decision: ApprovalDecision;
  /** The number of records before the decision. */
  readonly after: number;
  /** The index of the record from which the decision is known. */
  readonly at: number;
}

/**
 * Returns a key that identifies a call within a session. The key includes the turn, because a provider may
 * use the same id in several turns.
 */
export function callKey(turn: number, toolCallId: string): string {
  return `${turn} ${toolCallId}`;
}

export function recordedExecutions(
  records: readonly LogRecord[],
): ReadonlyMap<ExecutionId, RecordedExecution> {
  const executions = new Map<ExecutionId, RecordedExecution>();
  /** For each call, the id of the result part that was opened last. */
  const resultParts = new Map<ToolCallId, PartId>();
  const updatesByPart = new Map<PartId, RecordedUpdate[]>();
  const drivers = new Map<ExecutionId, string>();
  /** For each call, the id of the execution that is running. */
  const last = new Map<ToolCallId, ExecutionId>();
  /** For each question of a sub-agent, the call that runs the sub-agent. */
  const questions = new Map<ToolCallId, ToolCallId>();
  const toolFacts = new Map<ExecutionId, RecordedToolFact[]>();
  for (const [at, { delta, fact, producer }] of records.entries()) {
    if (fact?.type === 'approval_asked' && fact.from !== undefined)
      questions.set(fact.toolCallId, fact.from.toolCallId);
    const toolFact = fact && toolFactIn(fact);
    const running = toolFact && last.get(questions.get(toolFact.toolCallId) ?? toolFact.toolCallId);
    if (toolFact && running) toolFacts.get(running)?.push({ fact: toolFact, after: at });
    if (delta?.type === 'begin_part' && delta.kind === 'tool_result')
      resultParts.set(delta.toolCallId, delta.partId);
    if (delta?.type === 'append_text')
      updatesByPart.get(delta.partId)?.push({ text: delta.chunk, after: at });
    if (fact?.type === 'tool_execution_started') {
      const { executionId, toolCallId, child } = fact;
      const updates: RecordedUpdate[] = [];
      const resultPart = resultParts.get(toolCallId);
      if (resultPart !== undefined) updatesByPart.set(resultPart, updates);
      drivers.set(executionId, producer);
      last.set(toolCallId, executionId);
      const own: RecordedToolFact[] = [];
      toolFacts.set(executionId, own);
      const open = { result: undefined, after: undefined, parkedWith: undefined };
      executions.set(executionId, { updates, child, toolFacts: own, ...open });
    }
    if (delta?.type === 'commit_part' && delta.part?.kind === 'tool_result') {
      // The end record of the execution normally follows this result. If a fork was made between the two
      // records, the end record is missing.
      const { part: result } = delta;
      const id = last.get(result.toolCallId);
      const started = id && executions.get(id);
      if (id && started) executions.set(id, { ...started, after: at, result });
    }
    if (fact?.type === 'tool_execution_finished') {
      last.delete(fact.toolCallId);
      const started = executions.get(fact.executionId);
      // A later driver wrote this record, to report the execution as lost. The log has no end record of the
      // execution itself.
      if (started === undefined || drivers.get(fact.executionId) !== producer) continue;
      const [after, result] = resultBefore(records, at, fact.toolCallId);
      const parkedWith = fact.outcome === 'parked' ? questionsAt(records, at, fact) : undefined;
      executions.set(fact.executionId, { ...started, after, result, parkedWith });
    }
  }
  return executions;
}

function toolFactIn(fact: Fact): RecordedToolFact['fact'] | undefined {
  switch (fact.type) {
    case 'child_usage_reported':
    case 'file_changed':
      return fact;
    case 'approval_asked':
      return fact.from && fact;
    case 'approval_answered':
      return fact.answeredIn || fact.reason === formWithdrawn ? fact : undefined;
    default:
      return undefined;
  }
}

/**
 * Returns the questions of a parked sub-agent whose answers let it continue. The same driver may run the call
 * again without a new answer. In this case, an answer arrived before the sub-agent parked.
 */
function questionsAt(
  records: readonly LogRecord[],
  end: number,
  { toolCallId }: { readonly toolCallId: ToolCallId },
): readonly ToolCallId[] {
  const all = new Set<ToolCallId>();
  const open = new Set<ToolCallId>();
  for (const { fact } of records.slice(0, end)) {
    if (fact?.type === 'approval_asked' && fact.from?.toolCallId === toolCallId) {
      all.add(fact.toolCallId);
      open.add(fact.toolCallId);
    }
    if (fact?.type === 'approval_answered') open.delete(fact.toolCallId);
  }
  for (const { fact, producer } of records.slice(end + 1)) {
    if (fact?.type === 'approval_answered' && open.has(fact.toolCallId)) return [...open];
    const isAgain = fact?.type === 'tool_execution_started' && fact.toolCallId === toolCallId;
    if (isAgain) return producer === records[end]?.producer ? [...all] : [...open];
  }
  return [...open];
}

/**
 * Returns the result of an execution and the index of the result. The result is committed immediately before
 * the end of the execution. If the tool hands off, the record of the hand-off is between them.
 */
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

/**
 * Returns the decisions by call key, in order. A call can have several decisions, because the policy decides
 * again after an answer and after a crash. If a call has no record, the policy never decided on it.
 */
export function recordedDecisions(
  records: readonly LogRecord[],
): ReadonlyMap<string, readonly RecordedDecision[]> {
  const decisions = new Map<string, readonly RecordedDecision[]>();
  for (const [at, { fact, turn }] of records.entries()) {
    const decision = fact && decisionIn(fact);
    if (decision === undefined || fact === undefined) continue;
    if (!('toolCallId' in fact) || fact.toolCallId === undefined) continue;
    const key = callKey(turn, decidedCall(fact.toolCallId, 'from' in fact ? fact.from : undefined));
    const next = { decision, after: batchStart(records, at), at };
    decisions.set(key, [...(decisions.get(key) ?? []), next]);
  }
  for (const [key, after] of cutStarts(records))
    if (!decisions.has(key)) decisions.set(key, [{ decision: 'allow', after, at: after }]);
  return decisions;
}

/** Returns the keys of the calls that were stopped before the loop could reject them for another reason. */
export function stoppedCalls(records: readonly LogRecord[]): ReadonlySet<string> {
  const stopped = new Set<string>();
  const rejected = new Set<string>();
  for (const { fact, turn } of records)
    if (fact?.type === 'tool_call_rejected')
      (fact.code === 'aborted' ? stopped : rejected).add(callKey(turn, fact.toolCallId));
  return new Set([...stopped].filter((key) => !rejected.has(key)));
}

/**
 * Returns the id of the call that a decision is about. If a guardrail changed the input, the id of the
 * question differs from the id of the call.
 */
function decidedCall(toolCallId: ToolCallId, from: AskingAgent | undefined): ToolCallId {
  return from !== undefined && changedCallId(from) === toolCallId ? from.toolCallId : toolCallId;
}

/**
 * Finds the calls that were allowed but have no start record, because the session was forked before the start
 * record. The opened result parts show which calls were allowed.
 */
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
    case 'tool_output_asked':
      return 'allow';
    case 'approval_asked':
      return { decision: 'ask', reason: fact.reason, rule: fact.rule, judged: fact.judged };
    case 'tool_call_rejected': {
      const match = fact.code === 'denied' ? denialForm.exec(fact.message) : null;
      return match === null ? undefined : { decision: 'deny', reason: match.groups?.['reason'] };
    }
    default:
      return undefined;
  }
}

/**
 * Returns the index of the first record of the batch that contains an execution's start record. A tool that
 * starts early opens its result part in the same batch. The batch also opens the result parts of earlier
 * calls.
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
