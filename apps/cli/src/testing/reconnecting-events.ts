import { setTimeout } from 'node:timers/promises';

interface Frame {
  readonly id: string | undefined;
  readonly data: string;
}

const retryMs = 50;

/**
 * Reads server-sent events as an EventSource does. After each disconnect, it reconnects with the
 * last event id. It ends when the signal aborts.
 */
export async function* reconnectingEvents(
  url: string,
  token: string,
  signal: AbortSignal,
): AsyncGenerator<Frame> {
  let last = '0';
  while (!signal.aborted) {
    try {
      const { body } = await fetch(url, {
        headers: { 'last-event-id': last, authorization: `Bearer ${token}` },
        signal,
      });
      for await (const frame of framesIn(body)) {
        if (frame.id !== undefined) last = frame.id;
        yield frame;
      }
    } catch {
      // The server is down, or the connection was closed.
    }
    await setTimeout(retryMs);
  }
}

async function* framesIn(body: Response['body']): AsyncGenerator<Frame> {
  let text = '';
  for await (const chunk of body?.pipeThrough(new TextDecoderStream()) ?? []) {
    const frames = `${text}${chunk}`.split('\n\n');
    text = frames.pop() ?? '';
    for (const frame of frames) {
      const data = /^data: (.*)$/m.exec(frame)?.[1];
      if (data !== undefined) yield { id: /^id: (.*)$/m.exec(frame)?.[1], data };
    }
  }
}
