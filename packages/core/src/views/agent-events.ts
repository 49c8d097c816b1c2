import {
  type FoldState,
  findItem,
  findItemOfPart,
  findOpen,
  findSlot,
} from '../fold/fold-state.ts';
import { lengthOf, newBytes, newText, type OpenPart } from '../fold/open-part.ts';
import { toItem } from '../fold/transcript.ts';
import type { ToolCallId } from '../ids.ts';
import {
  type AppendBytes,
  type AppendText,
  type BeginPart,
  type CommitBuilt,
  type CommitWhole,
  type Delta,
  type PartEnd,
  partEnd,
  type ReplaceStructured,
  type RetractPart,
  type UnknownDelta,
} from '../protocol/delta.ts';
import type { Fact } from '../protocol/fact.ts';
import type { Item } from '../protocol/item.ts';
import type { Part } from '../protocol/part.ts';
import type { LogRecord } from '../protocol/record.ts';
import type { AgentEvent, EventHead } from './agent-event.ts';

/**
 * Converts a record to events of some format, so that consumers do not need to handle deltas. A view is a
 * pure function of the record and the state before it. The caller also passes `after`, the state after the
 * record, so that a view does not have to fold again. A view must also convert the fact `snapshot`.
 */
export type View<Event> = (
  before: FoldState,
  record: LogRecord,
  after: FoldState,
) => readonly Event[];

/** The main view: converts records to agent events. */
export const agentEvents: View<AgentEvent> = (before, record, after) => {
  const { offset, time, turn, attempt, delta, fact } = record;
  const head: EventHead = { session: before.session, offset, time, turn, attempt };
  return delta === undefined
    ? [factEvent(head, fact, after)]
    : contentEvents(head, delta, before, after);
};

function factEvent(head: EventHead, fact: Fact, after: FoldState): AgentEvent {
  switch (fact.type) {
    case 'turn_finished':
      return { ...head, ...fact, message: messageOf(after, fact) };
    case 'snapshot':
      return { ...head, ...fact, type: 'turn_settled' };
    default:
      return { ...head, ...fact };
  }
}

function messageOf(
  state: FoldState,
  { itemId }: Extract<Fact, { type: 'turn_finished' }>,
): Item | null {
  const item = itemId === undefined ? undefined : findItem(state, itemId);
  return item === undefined ? null : toItem(item);
}

/** Converts a delta to events. A delta that adds nothing gives no events. */
function contentEvents(
  head: EventHead,
  delta: Delta,
  before: FoldState,
  after: FoldState,
): readonly AgentEvent[] {
  if (delta.type === 'unknown') return [{ ...head, ...delta }];
  if (before === after) return [];
  const part = findOpen(before, delta.partId);
  if (delta.type === 'begin_part') return [started(head, delta)];
  if (delta.type === 'commit_part') return finished(head, delta, part, after);
  if (delta.type === 'retract_part') return retracted(head, delta, before);
  return part === undefined ? [] : [grown(head, delta, part)];
}

type Growth = Exclude<Delta, BeginPart | CommitBuilt | CommitWhole | RetractPart | UnknownDelta>;

function started(head: EventHead, begin: BeginPart): AgentEvent {
  const { type: _begun, partId, itemId, ...start } = begin;
  const of = { ...head, partId, itemId };
  if (start.kind !== 'tool_call') return { ...of, type: 'part_started', ...start };
  const { toolCallId, name } = start;
  return { ...of, type: 'tool_call_started', toolCallId, name };
}

function grown(head: EventHead, delta: Growth, part: OpenPart): AgentEvent {
  const { itemId } = part.begin;
  const { partId } = delta;
  switch (delta.type) {
    case 'append_text':
      return textGrown(head, delta, part);
    case 'append_bytes':
      return bytesGrown(head, delta, part);
    case 'replace_structured':
      return valueSet(head, delta, part);
    case 'set_metadata':
      return { ...head, type: 'part_metadata_set', partId, itemId, metadata: delta.metadata };
  }
}

// This function runs once per delta. It lists every field, because V8 creates an object literal several times
// faster than a copy with `...`.
function textGrown(head: EventHead, delta: AppendText, part: OpenPart): AgentEvent {
  const { session, offset, time, turn, attempt } = head;
  const { begin, itemKind } = part;
  const { partId, itemId } = begin;
  const at = part.text.length;
  const text = newText(part, delta);
  switch (begin.kind) {
    case 'reasoning': {
      const type = 'reasoning_delta';
      const { form } = begin;
      return { type, session, offset, time, turn, attempt, partId, itemId, at, text, form };
    }
    case 'tool_call': {
      const type = 'tool_call_arguments_delta';
      const { toolCallId } = begin;
      const delta = text;
      return { type, session, offset, time, turn, attempt, partId, itemId, at, toolCallId, delta };
    }
    case 'tool_result': {
      const { toolCallId, executionId } = begin;
      const ids = executionId === undefined ? { toolCallId } : { toolCallId, executionId };
      return { ...head, type: 'tool_execution_update', partId, itemId, at, ...ids, text };
    }
    default: {
      const type = itemKind === 'assistant' ? 'assistant_text_delta' : 'text_delta';
      return { type, session, offset, time, turn, attempt, partId, itemId, at, text };
    }
  }
}

function bytesGrown(head: EventHead, delta: AppendBytes, part: OpenPart): AgentEvent {
  const { begin } = part;
  const { partId, itemId } = begin;
  const mimeType = 'mimeType' in begin ? (begin.mimeType ?? '') : '';
  const bytes = newBytes(part, delta);
  return { ...head, type: 'media_delta', partId, itemId, at: lengthOf(part), mimeType, bytes };
}

function valueSet(head: EventHead, { value }: ReplaceStructured, { begin }: OpenPart): AgentEvent {
  const { partId, itemId } = begin;
  if (begin.kind !== 'custom')
    return { ...head, type: 'structured_updated', partId, itemId, value };
  return { ...head, type: 'custom_updated', partId, itemId, name: begin.name, value };
}

function finished(
  head: EventHead,
  delta: CommitBuilt | CommitWhole,
  open: OpenPart | undefined,
  after: FoldState,
): readonly AgentEvent[] {
  const { partId } = delta;
  const item = findItemOfPart(after, partId);
  const part = findSlot(item, partId)?.part;
  if (item === undefined || part === undefined) return [];
  const of = { ...head, partId, itemId: item.id };
  const end: AgentEvent = { ...of, type: 'part_finished', kind: part.kind, ...endOf(delta, part) };
  if (part.kind !== 'tool_call') return [end];
  const { toolCallId, name, input } = part;
  const start: AgentEvent = { ...of, type: 'tool_call_started', toolCallId, name };
  const ready: AgentEvent[] =
    input === undefined ? [] : [{ ...of, type: 'tool_call_ready', toolCallId, name, input }];
  const isBegun = open?.begin.kind === 'tool_call' && open.begin.toolCallId === toolCallId;
  return [...(isBegun ? [] : [start]), end, ...ready];
}

/**
 * Returns the fields that the commit adds. Also returns the whole part if the earlier events do not contain
 * it.
 */
function endOf(delta: CommitBuilt | CommitWhole, part: Part): PartEnd & { readonly part?: Part } {
  if (delta.part !== undefined) return { ...(part.partial && { partial: part.partial }), part };
  return partEnd(delta);
}

function retracted(
  head: EventHead,
  { partId, reason }: RetractPart,
  before: FoldState,
): readonly AgentEvent[] {
  const item = findItemOfPart(before, partId);
  if (item === undefined) return [];
  const toolCallId = callOf(findOpen(before, partId)?.begin ?? findSlot(item, partId)?.part);
  const call = toolCallId === undefined ? {} : { toolCallId };
  return [{ ...head, type: 'part_retracted', partId, itemId: item.id, reason, ...call }];
}

function callOf(content: BeginPart | Part | undefined): ToolCallId | undefined {
  return content !== undefined && 'toolCallId' in content ? content.toolCallId : undefined;
}
