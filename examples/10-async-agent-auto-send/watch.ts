interface WatchedEvent {
  readonly type: string;
  readonly text?: string;
}

/** Yields the events of a stream until the caller stops. */
export async function* watch(url: string, token: string): AsyncGenerator<WatchedEvent> {
  const { body } = await fetch(url, { headers: { authorization: `Bearer ${token}` } });
  let text = '';
  for await (const chunk of body?.pipeThrough(new TextDecoderStream()) ?? []) {
    const frames = `${text}${chunk}`.split('\n\n');
    text = frames.pop() ?? '';
    for (const frame of frames)
      for (const line of frame.split('\n'))
        if (line.startsWith('data: ')) yield JSON.parse(line.slice('data: '.length));
  }
}
