import { Folder, type LogRecord, type SessionId } from '@millrace/core';
import { DefaultChatTransport, readUIMessageStream, type UIMessage, type UIMessageChunk } from 'ai';
import type { Frame } from '../contract/stream.ts';
import { uiView } from '../ui/ui-view.ts';

/** What goes over the wire for each record. */
export function uiFramesOf(session: SessionId, records: readonly LogRecord[]) {
  const folder = new Folder(session);
  const steps: { readonly offset: number; readonly frames: readonly Frame[] }[] = [];
  const through = records.at(-1)?.offset ?? 0;
  folder.addBatch({ after: 0, through, records }, (before, record, after) =>
    steps.push({ offset: record.offset, frames: uiView.frames(before, record, after) }),
  );
  return steps;
}

/** Frames as their bytes, read by the AI SDK's own transport. */
export function received(frames: readonly Frame[]): Promise<ReadableStream<UIMessageChunk> | null> {
  const body = frames.map(
    ({ id, data }) => `${id === undefined ? '' : `id: ${id}\n`}data: ${data}\n\n`,
  );
  const answer = async () => new Response(body.join(''), { status: 200 });
  const transport = new DefaultChatTransport({ api: 'http://localhost/chat', fetch: answer });
  return transport.reconnectToStream({ chatId: 'c' });
}

export interface Shown {
  readonly message: UIMessage | undefined;
  /** What the stream said went wrong with the run. */
  readonly errors: readonly string[];
}

/** The message that the AI SDK's reader makes of frames. It must take all of them. */
export async function shownByUi(frames: readonly Frame[]): Promise<Shown> {
  const stream = await received(frames);
  if (stream === null) return { message: undefined, errors: [] };
  const errors: string[] = [];
  let message: UIMessage | undefined;
  const onError = (error: unknown) => void errors.push(String(error));
  for await (const state of readUIMessageStream({ stream, onError })) message = state;
  return { message, errors };
}
