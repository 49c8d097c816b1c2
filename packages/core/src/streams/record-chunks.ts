import { type FoldState, findItem, findItemOfPart, findOpen } from '../fold/fold-state.ts';
import type { OpenPart } from '../fold/open-part.ts';
import type { PartId } from '../ids.ts';
import type { AppendText, CommitBuilt, CommitWhole, Delta } from '../protocol/delta.ts';
import type { Fact } from '../protocol/fact.ts';
import type { Part } from '../protocol/part.ts';
import type { LogRecord } from '../protocol/record.ts';
import type { Stop, StopReason } from '../protocol/stop.ts';
import {
  beginChunks,
  hasCall,
  streamKind,
  textChunks,
  toolInputEnd,
  wholeChunks,
} from './part-chunks.ts';
import {
  approvalAnswerChunks,
  approvalRequestChunks,
  closedQuestionChunks,
  hasStep,
  isInStep,
  isStepItem,
  messageChunks,
  pendingApprovalChunks,
  restateStep,
  steeringChunks,
} from './step-chunks.ts';
import type { FinishReason, UiChunk } from './ui-chunk.ts';

/**
 * Converts a record to chunks of the AI SDK. One run is one assistant message, and one turn is one
 * step.
 */
export function recordChunks(
  before: FoldState,
  { delta, fact, turn }: LogRecord,
  after: FoldState,
): readonly UiChunk[] {
  if (delta !== undefined) return before === after ? [] : deltaChunks(before, delta, after);
  return factChunks(before, fact, turn, after);
}

/** Returns all chunks of the current message. Returns none if no run is active. */
export function restateMessage(state: FoldState): readonly UiChunk[] {
  if (state.run === undefined) return [];
  const chunks = [...messageChunks(state), ...pendingApprovalChunks(state)];
  return [{ type: 'start', messageId: messageId(state) }, ...chunks];
}

function factChunks(
  before: FoldState,
  fact: Fact,
  turn: number,
  after: FoldState,
): readonly UiChunk[] {
  switch (fact.type) {
    case 'run_started':
      return [{ type: 'start', messageId: messageId(after) }];
    case 'run_finished':
      return before.run === fact.runId ? finishChunks(fact.stop) : [];
    default:
      return after.run === undefined ? [] : runFactChunks(before, fact, turn, after);
  }
}

/** Returns the chunks for a fact within a run. */
function runFactChunks(
  before: FoldState,
  fact: Fact,
  turn: number,
  after: FoldState,
): readonly UiChunk[] {
  switch (fact.type) {
    case 'item_started': {
      const item = findItem(after, fact.itemId);
      const begins = item !== undefined && isStepItem(item) && !hasStep(before, turn);
      return begins ? [{ type: 'start-step' }] : [];
    }
    case 'item_finished': {
      const item = findItem(after, fact.itemId);
      return item === undefined || item.run !== after.run ? [] : steeringChunks(after, item);
    }
    case 'turn_finished':
      return hasStep(before, turn) ? [{ type: 'finish-step' }] : [];
    case 'item_redacted':
      return isInStep(before, findItem(before, fact.itemId)) ? restateStep(after) : [];
    case 'attempt_superseded':
      return hasStep(before, turn) ? restateStep(after) : [{ type: 'start-step' }];
    case 'snapshot':
      return hasStep(before, turn) ? restateStep(after) : [];
    case 'tool_output_asked': {
      const { toolCallId, name: toolName, input } = fact;
      const isChanged = input !== undefined && hasCall(after, toolCallId);
      return isChanged ? [{ type: 'tool-input-available', toolCallId, toolName, input }] : [];
    }
    case 'approval_asked':
      return approvalRequestChunks(after, fact);
    case 'approval_answered': {
      const closed = closedQuestionChunks(before, after);
      return closed.length > 0 ? closed : approvalAnswerChunks(before, fact);
    }
    case 'tool_call_rejected':
    case 'tool_execution_finished':
      return closedQuestionChunks(before, after);
    default:
      return [];
  }
}

function deltaChunks(before: FoldState, delta: Delta, after: FoldState): readonly UiChunk[] {
  if (delta.type === 'unknown') return [];
  const open = findOpen(before, delta.partId);
  // Most records belong to an open part. An open part contains the id of its item, so this search is faster.
  const item =
    open === undefined
      ? findItemOfPart(delta.type === 'retract_part' ? before : after, delta.partId)
      : findItem(before, open.begin.itemId);
  const isOurs = item !== undefined && after.run !== undefined && item.run === after.run;
  if (!isOurs || !isStepItem(item)) return [];
  switch (delta.type) {
    case 'begin_part': {
      const begun = findOpen(after, delta.partId);
      return begun === undefined ? [] : beginChunks(begun);
    }
    case 'append_text':
      return open === undefined ? [] : appendChunks(open, delta);
    case 'commit_part':
      return commitChunks(before, delta, open, after);
    case 'retract_part': {
      const wasStreamed = open === undefined || streamKind(open) !== undefined;
      return wasStreamed && isInStep(before, item) ? restateStep(after) : [];
    }
    case 'append_bytes':
    case 'replace_structured':
    case 'set_metadata':
      return [];
  }
}

function appendChunks(open: OpenPart, { at, chunk }: AppendText): readonly UiChunk[] {
  const text = chunk.slice(open.text.length - at);
  const { begin } = open;
  if (begin.kind !== 'tool_result') return textChunks(open, text);
  const { toolCallId } = begin;
  return [{ type: 'data-tool-progress', data: { toolCallId, text }, transient: true }];
}

function commitChunks(
  before: FoldState,
  { partId }: CommitBuilt | CommitWhole,
  open: OpenPart | undefined,
  after: FoldState,
): readonly UiChunk[] {
  const part = partOf(after, partId);
  if (part === undefined) return [];
  if (open === undefined || streamKind(open) === undefined) return wholeChunks(after, partId, part);
  const { begin } = open;
  if (part.kind === 'tool_call' && begin.kind === 'tool_call') {
    if (part.toolCallId === begin.toolCallId && part.name === begin.name)
      return [toolInputEnd(part)];
  }
  const isText = part.kind === 'text' || part.kind === 'reasoning';
  if (isText && part.kind === begin.kind && part.text.startsWith(open.text)) {
    const rest = textChunks(open, part.text.slice(open.text.length));
    return [...rest, { type: `${part.kind}-end`, id: partId }];
  }
  return isInStep(before, findItemOfPart(before, partId)) ? restateStep(after) : [];
}

function partOf(state: FoldState, id: PartId): Part | undefined {
  return findItemOfPart(state, id)?.parts.find((slot) => slot.id === id)?.part;
}

/** Returns the id of the message of the current run. */
export function messageId({ session, run }: Pick<FoldState, 'session' | 'run'>): string {
  return `${session}.${run}`;
}

const finishReasons: { readonly [Reason in StopReason]: FinishReason } = {
  stop: 'stop',
  length: 'length',
  tool_use: 'tool-calls',
  content_filter: 'content-filter',
  refusal: 'content-filter',
  pause: 'other',
  limit: 'other',
  parked: 'other',
  blocked: 'content-filter',
  aborted: 'interrupted',
  error: 'error',
  unknown: 'other',
};

/**
 * Returns the chunks that end a run. The error chunk comes last, because clients stop reading at an
 * error.
 */
export function finishChunks({ reason, cause }: Stop): readonly UiChunk[] {
  const finish: UiChunk = { type: 'finish', finishReason: finishReasons[reason] };
  const why = cause === undefined ? {} : { reason: cause };
  if (reason === 'aborted') return [{ type: 'abort', ...why }, finish];
  if (reason !== 'error') return [finish];
  const errorText = `The run ended with an error${cause === undefined ? '' : `: ${cause}`}`;
  return [finish, { type: 'error', errorText }];
}
