interface WatchedEvent {
  readonly type: string;
  readonly text?: string;
}

/** Yields the events of a stream until the caller stops. In a browser, use EventSource instead. */
export async function* watch(url: string): AsyncGenerator<WatchedEvent> {
  const { body } = await fetch(url);
  let text = '';
  for await (const chunk of body?.pipeThrough(new TextDecoderStream()) ?? []) {
    const frames = `${text}${chunk}`.split('\n\n');
    text = frames.pop() ?? '';
    for (const frame of frames)
      for (const line of frame.split('\n'))
        if (line.startsWith('data: ')) yield JSON.parse(line.slice('data: '.length));
  }
}
