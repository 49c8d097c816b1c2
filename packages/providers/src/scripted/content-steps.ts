import type { BytesWriter, Delta, DeltaWriter, Part, TextWriter } from '@millrace/core';
import { moveDelta } from '../contract/move-delta.ts';
import type { StreamItem } from '../contract/provider.ts';
import { type Pieces, piecesOf, type ScriptedContent } from './script.ts';

/** Says the content: the deltas of one step at a time. */
export function* speak(
  content: ScriptedContent,
  writer: DeltaWriter,
  item: StreamItem,
  pieces: Pieces,
): Generator<readonly Delta[]> {
  if ('deltas' in content) {
    for (const delta of content.deltas) yield [moveDelta(delta, item)];
    return;
  }
  const steps =
    'write' in content ? content.write(writer) : speakParts(content.parts, writer, pieces);
  for (const _ of steps) yield writer.take();
}

function* speakParts(
  parts: readonly (Part | string)[],
  writer: DeltaWriter,
  pieces: Pieces,
): Generator<void> {
  for (const part of parts) {
    yield* speakPart(
      typeof part === 'string' ? { kind: 'text', text: part } : part,
      writer,
      pieces,
    );
  }
}

/** Begins the part, lets it grow, and commits it as it was given. */
function* speakPart(part: Part, writer: DeltaWriter, pieces: Pieces): Generator<void> {
  switch (part.kind) {
    case 'text': {
      yield* grow(writer.text({ mimeType: part.mimeType }), part.text, part, pieces);
      return;
    }
    case 'reasoning': {
      yield* grow(writer.reasoning(part.form), part.text, part, pieces);
      return;
    }
    case 'tool_call': {
      const call = writer.toolCall(part.toolCallId, part.name);
      // The start is told by itself, as providers do.
      yield;
      yield* grow(call, part.arguments, part, pieces);
      return;
    }
    case 'media': {
      if (part.source.type === 'bytes') {
        yield* growBytes(writer.media(part.mimeType), part.source.bytes, part);
        return;
      }
      writer.whole(part);
      yield;
      return;
    }
    default:
      writer.whole(part);
      yield;
  }
}

function* grow(open: TextWriter, text: string, part: Part, pieces: Pieces): Generator<void> {
  for (const piece of piecesOf(text, pieces)) {
    open.append(piece);
    yield;
  }
  close(open, part);
  yield;
}

const bytesPerPiece = 1024;

function* growBytes(open: BytesWriter, bytes: Uint8Array, part: Part): Generator<void> {
  for (let at = 0; at < bytes.length; at += bytesPerPiece) {
    open.append(bytes.subarray(at, at + bytesPerPiece));
    yield;
  }
  close(open, part);
  yield;
}

function close(open: TextWriter | BytesWriter, part: Part): void {
  const { partial, metadata, providerState } = part;
  const signature = part.kind === 'reasoning' ? part.signature : undefined;
  if (metadata !== undefined) open.metadata(metadata);
  open.commit({ partial, providerState, ...(signature === undefined ? {} : { signature }) });
}
