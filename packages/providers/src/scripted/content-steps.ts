import type { BytesWriter, Delta, DeltaWriter, Part, TextWriter } from '@millrace/core';
import type { ModelRequest } from '../contract/model-request.ts';
import type { StreamItem } from '../contract/provider.ts';
import { moveDelta } from '../provider/wrap-provider.ts';
import { TextBlock } from '../wire/text-block.ts';
import { piecesOf, type ScriptedContent, type ScriptedPieces } from './script.ts';

interface ContentOptions {
  readonly pieces: ScriptedPieces;
  /** With an output schema, texts are JSON. */
  readonly request: ModelRequest;
}

/** Yields the deltas of the content, one step at a time. */
export function* contentSteps(
  content: ScriptedContent,
  writer: DeltaWriter,
  item: StreamItem,
  options: ContentOptions,
): Generator<readonly Delta[]> {
  if ('deltas' in content) {
    for (const delta of content.deltas) yield [moveDelta(delta, item)];
    return;
  }
  const steps =
    'write' in content ? content.write(writer) : partSteps(content.parts, writer, options);
  for (const _ of steps) yield writer.take();
}

function* partSteps(
  parts: readonly (Part | string)[],
  writer: DeltaWriter,
  { pieces, request }: ContentOptions,
): Generator<void> {
  for (const part of parts) {
    if (typeof part !== 'string') yield* streamPart(part, writer, pieces);
    else {
      const block = new TextBlock(writer, request);
      for (const piece of piecesOf(part, pieces)) {
        block.append(piece);
        yield;
      }
      block.commit();
      yield;
    }
  }
}

/** Starts the part, streams its content in pieces, and commits it. */
function* streamPart(part: Part, writer: DeltaWriter, pieces: ScriptedPieces): Generator<void> {
  switch (part.kind) {
    case 'text': {
      yield* streamText(writer.text({ mimeType: part.mimeType }), part.text, part, pieces);
      return;
    }
    case 'reasoning': {
      yield* streamText(writer.reasoning(part.form), part.text, part, pieces);
      return;
    }
    case 'tool_call': {
      const call = writer.toolCall(part.toolCallId, part.name);
      // The start of a call is a step of its own, as with real providers.
      yield;
      yield* streamText(call, part.arguments, part, pieces);
      return;
    }
    case 'media': {
      if (part.source.type === 'bytes') {
        yield* streamBytes(writer.media(part.mimeType), part.source.bytes, part);
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

function* streamText(
  open: TextWriter,
  text: string,
  part: Part,
  pieces: ScriptedPieces,
): Generator<void> {
  for (const piece of piecesOf(text, pieces)) {
    open.append(piece);
    yield;
  }
  commitPart(open, part);
  yield;
}

const bytesPerPiece = 1024;

function* streamBytes(open: BytesWriter, bytes: Uint8Array, part: Part): Generator<void> {
  for (let at = 0; at < bytes.length; at += bytesPerPiece) {
    open.append(bytes.subarray(at, at + bytesPerPiece));
    yield;
  }
  commitPart(open, part);
  yield;
}

function commitPart(open: TextWriter | BytesWriter, part: Part): void {
  const { partial, metadata, providerState } = part;
  const signature = part.kind === 'reasoning' ? part.signature : undefined;
  if (metadata !== undefined) open.metadata(metadata);
  open.commit({ partial, providerState, ...(signature === undefined ? {} : { signature }) });
}
