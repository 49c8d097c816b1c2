import type { DeltaWriter, TextWriter, ToolCallId } from '@millrace/core';
import type { Content } from '../contract/content.ts';
import type { UpdateDelta } from '../contract/message.ts';
import { jsonType } from './content-parts.ts';

/**
 * Identifies the part to which an update of an index refers. Parts differ in their type, their call or their
 * reasoning entry.
 */
export type PartTarget =
  | { readonly kind: 'text' | 'data' | 'reasoning' }
  | { readonly kind: 'call' | 'result'; readonly id: ToolCallId; readonly name: string }
  | { readonly kind: 'summary' | 'content'; readonly entry: number };

/**
 * Returns the target to which a content belongs: the type of its part, with the id of its call. `idOf`
 * completes a call id that the agent left empty.
 */
export function targetOfContent(content: Content, idOf: (id: string) => ToolCallId): PartTarget {
  switch (content.type) {
    case 'text':
    case 'data':
    case 'reasoning':
      return { kind: content.type };
    case 'tool_request':
      return { kind: 'call', id: idOf(content.tool_call_id), name: content.name };
    case 'tool_response':
      return { kind: 'result', id: idOf(content.tool_call_id), name: content.name };
  }
}

export function targetOfDelta(delta: UpdateDelta, idOf: (id: string) => ToolCallId): PartTarget {
  switch (delta.type) {
    case 'text':
    case 'data':
      return { kind: delta.type };
    case 'tool_request':
      return { kind: 'call', id: idOf(delta.tool_call_id), name: delta.name };
    case 'tool_response':
      return { kind: 'result', id: idOf(delta.tool_call_id), name: delta.name };
    case 'reasoning_summary':
      return { kind: 'summary', entry: delta.summary_index };
    case 'reasoning_content':
      return { kind: 'content', entry: delta.content_index };
  }
}

export function deltaText(delta: UpdateDelta): string {
  switch (delta.type) {
    case 'text':
      return delta.text_delta;
    case 'data':
      return delta.data_delta;
    case 'tool_request':
      return delta.arguments_delta;
    case 'tool_response':
    case 'reasoning_content':
      return delta.content_delta;
    case 'reasoning_summary':
      return delta.summary_delta;
  }
}

export function targetKey(target: PartTarget): string {
  if ('id' in target) return `${target.kind} ${target.id}`;
  return 'entry' in target ? `${target.kind} ${target.entry}` : target.kind;
}

export function isReasoning({ kind }: PartTarget): boolean {
  return kind === 'reasoning' || kind === 'summary' || kind === 'content';
}

/**
 * Begins the part that a target identifies. Data streams as text, and the commit contains the parsed value.
 */
export function beginPart(writer: DeltaWriter, target: PartTarget): TextWriter {
  switch (target.kind) {
    case 'text':
      return writer.text();
    case 'data':
      return writer.text({ mimeType: jsonType });
    case 'call':
      return writer.toolCall(target.id, target.name);
    case 'result':
      return writer.toolResult(target.id, target.name);
    case 'summary':
      return writer.reasoning('summary');
    case 'content':
      return writer.reasoning('full');
    // A reasoning block without a specified entry has no text yet.
    case 'reasoning':
      return writer.reasoning('redacted');
  }
}
