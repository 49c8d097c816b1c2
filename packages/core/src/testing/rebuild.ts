import { attemptOf } from '../ids.ts';
import type { Part } from '../protocol/part.ts';
import { withDerived } from '../protocol/tool-call.ts';
import type { AgentEvent } from '../views/agent-event.ts';

// Rebuilds the transcript from agent events alone. Each event has the meaning that PROTOCOL.md
// gives it.

interface ShownPart {
  readonly partId: string;
  readonly turn: number;
  readonly attempt: number;
  /** The content in the events so far. */
  content: Record<string, unknown>;
  bytes: number[];
  part?: Part;
}

interface ShownItem {
  readonly id: string;
  readonly kind: string;
  readonly turn: number;
  readonly attempt: number;
  finishedBy?: number;
  stop?: unknown;
  redacted?: true;
  extras: object;
  parts: ShownPart[];
}

export function rebuild(events: readonly AgentEvent[]): readonly object[] {
  let items: ShownItem[] = [];
  const partOf = (partId: string) =>
    items.flatMap(({ parts }) => parts).find((part) => part.partId === partId);
  const add = (event: AgentEvent & { partId: string; itemId: string }, content: object) => {
    const { partId, itemId, turn, attempt } = event;
    if (partOf(partId) !== undefined) return;
    const item = items.find(({ id }) => id === itemId);
    item?.parts.push({ partId, turn, attempt, content: { ...content }, bytes: [] });
  };
  /** Writes text at its position, over existing text. */
  const grow = ({ partId, at }: { partId: string; at: number }, field: string, text: string) => {
    const content = partOf(partId)?.content ?? {};
    content[field] = `${content[field] ?? ''}`.slice(0, at) + text;
  };
  for (const event of events) {
    switch (event.type) {
      case 'item_started': {
        const { itemId: id, kind, turn, attempt, author, metadata } = event;
        const extras = { ...(author && { author }), ...(metadata && { metadata }) };
        items.push({ id, kind, turn, attempt, extras, parts: [] });
        break;
      }
      case 'item_finished':
      case 'response_finished': {
        const item = items.find(({ id }) => id === event.itemId);
        if (item) Object.assign(item, { stop: event.stop, finishedBy: event.attempt });
        break;
      }
      case 'item_redacted': {
        const item = items.find(({ id }) => id === event.itemId);
        if (item) Object.assign(item, { parts: [], redacted: true });
        break;
      }
      case 'attempt_superseded': {
        const { turn, attempt } = event;
        const isIts = (one: { turn: number; attempt: number }) =>
          one.turn === turn && one.attempt === attempt;
        items = items.filter((item) => !isIts(item));
        for (const item of items) {
          item.parts = item.parts.filter((part) => !isIts(part));
          if (item.turn === turn && item.finishedBy === attempt) delete item.stop;
        }
        break;
      }
      case 'part_started': {
        const { kind } = event;
        const { mimeType, form, name, toolCallId }: Record<string, unknown> = { ...event };
        const start = { kind, mimeType, form, name, toolCallId };
        const empty = kind === 'tool_result' ? { text: '', isError: false } : {};
        const text = kind === 'text' || kind === 'reasoning' ? { text: '' } : {};
        add(event, { ...start, ...empty, ...text });
        break;
      }
      case 'tool_call_started': {
        const { toolCallId, name } = event;
        add(event, { kind: 'tool_call', toolCallId, name, arguments: '' });
        break;
      }
      case 'assistant_text_delta':
      case 'text_delta':
      case 'reasoning_delta':
      case 'tool_execution_update':
        grow(event, 'text', event.text);
        break;
      case 'tool_call_arguments_delta':
        grow(event, 'arguments', event.delta);
        break;
      case 'media_delta':
        partOf(event.partId)?.bytes.splice(event.at, Infinity, ...event.bytes);
        break;
      case 'structured_updated':
      case 'custom_updated': {
        const part = partOf(event.partId);
        if (part) part.content['value'] = event.value;
        break;
      }
      case 'part_metadata_set': {
        const part = partOf(event.partId);
        if (part) part.content['metadata'] = event.metadata;
        break;
      }
      case 'part_finished': {
        add(event, { kind: event.kind });
        const part = partOf(event.partId);
        if (part) part.part = event.part ?? finished(part, event);
        break;
      }
      case 'part_retracted':
        for (const item of items) {
          item.parts = item.parts.filter(({ partId }) => partId !== event.partId);
        }
        break;
      case 'turn_settled': {
        const settled = new Map(event.items.map(({ itemId, parts }) => [`${itemId}`, parts]));
        for (const item of items.filter(({ turn }) => turn === event.turn)) {
          item.parts = (settled.get(item.id) ?? []).map(({ partId, part }) => {
            const head = { partId, ...attemptOf(partId) };
            return { ...head, content: {}, bytes: [], part };
          });
        }
        break;
      }
      default:
        break;
    }
  }
  return items.map(({ id, kind, extras, parts, stop, redacted }) => ({
    id,
    kind,
    ...extras,
    parts: parts.flatMap(({ part }) => part ?? []),
    ...(stop !== undefined && { stop }),
    ...(redacted && { redacted }),
  }));
}

function finished(
  { content, bytes }: ShownPart,
  { partial, signature, providerState }: Extract<AgentEvent, { type: 'part_finished' }>,
): Part {
  const isBytes = content['kind'] === 'media' || content['kind'] === 'file';
  const source = { type: 'bytes', bytes: Uint8Array.from(bytes) };
  const all = { ...content, partial, signature, providerState, ...(isBytes && { source }) };
  const given = Object.entries(all).filter(([, value]) => value !== undefined);
  return withDerived(Object.fromEntries(given) as unknown as Part);
}
