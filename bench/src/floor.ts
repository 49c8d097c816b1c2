/** The part of a chunk that everybody has to look at. */
export interface Chunk {
  readonly choices: readonly {
    readonly delta: {
      readonly content?: string;
      readonly tool_calls?: readonly {
        readonly index: number;
        readonly id?: string;
        readonly function: { readonly name?: string; readonly arguments: string };
      }[];
    };
  }[];
}

/** A source that lets everybody else have a turn between two reads, as a socket does. */
export async function* macrotaskSource(reads: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  for (const read of reads) {
    await macrotask();
    yield read;
  }
}

export function macrotask(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

/** Decode, split lines, parse each: what nobody can do without. */
export async function eachChunk(
  source: AsyncIterable<Uint8Array>,
  onChunk: (chunk: Chunk) => void,
  onRead: () => void = () => {},
): Promise<void> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const read of source) {
    const lines = (rest + decoder.decode(read, { stream: true })).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) {
      if (!line.startsWith('data: ') || line === 'data: [DONE]') continue;
      onChunk(JSON.parse(line.slice(6)) as Chunk);
    }
    onRead();
  }
}

/** F1: the floor. Append what comes, and nothing else. */
export function floor(reads: readonly Uint8Array[]): Promise<number> {
  return appendAll(macrotaskSource(reads));
}

/** The characters of text and arguments that a source comes to. */
export async function appendAll(source: AsyncIterable<Uint8Array>): Promise<number> {
  let text = '';
  const calls: string[] = [];
  await eachChunk(source, ({ choices }) => {
    const delta = choices[0]?.delta;
    if (delta?.content !== undefined) text += delta.content;
    for (const call of delta?.tool_calls ?? []) {
      calls[call.index] = (calls[call.index] ?? '') + call.function.arguments;
    }
  });
  return calls.reduce((sum, call) => sum + call.length, text.length);
}
