import type { PartEnd } from '../protocol/delta.ts';
import type { Part } from '../protocol/part.ts';
import { withInput } from '../protocol/tool-call.ts';
import { toBytes } from './byte-rope.ts';
import type { OpenPart } from './fold-state.ts';

/** The part that an open one becomes if nothing more comes. */
export function buildPart(open: OpenPart, end: PartEnd): Part {
  const { begin, metadata } = open;
  const { partial, providerState, signature } = end;
  const common = {
    ...(partial && { partial }),
    ...(metadata && { metadata }),
    ...(providerState && { providerState }),
  };
  switch (begin.kind) {
    case 'text': {
      const { kind, mimeType } = begin;
      return { kind, text: open.text, ...(mimeType !== undefined && { mimeType }), ...common };
    }
    case 'reasoning': {
      const { kind, form } = begin;
      return {
        kind,
        text: open.text,
        form,
        ...(signature !== undefined && { signature }),
        ...common,
      };
    }
    case 'tool_call': {
      const { kind, toolCallId, name } = begin;
      return withInput({ kind, toolCallId, name, arguments: open.text, ...common });
    }
    case 'tool_result': {
      const { kind, toolCallId, name } = begin;
      return { kind, toolCallId, name, text: open.text, isError: false, ...common };
    }
    case 'structured': {
      const { kind, name } = begin;
      const value = open.value ?? null;
      return { kind, value, ...(name !== undefined && { name }), ...common };
    }
    case 'custom':
      return { kind: begin.kind, name: begin.name, value: open.value ?? null, ...common };
    case 'media':
      return { kind: begin.kind, mimeType: begin.mimeType, source: bytesOf(open), ...common };
    case 'file': {
      const { kind, name, mimeType } = begin;
      return { kind, name, mimeType, source: bytesOf(open), ...common };
    }
  }
}

function bytesOf({ bytes }: OpenPart) {
  return { type: 'bytes', bytes: toBytes(bytes) } as const;
}

/** What an open part shows right now. */
export function livePart(open: OpenPart): Part {
  return buildPart(open, { partial: true });
}
