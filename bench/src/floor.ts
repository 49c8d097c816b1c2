/** The part of a chunk that every library must read. */
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

/** Yields the reads with a macrotask between two of them, like a socket. */
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

/** Decodes, splits and parses the lines. This is the work that every library must do. */
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

/** F1, the floor: it only appends the text of each chunk. No library can be faster. */
export function floor(reads: readonly Uint8Array[]): Promise<number> {
  return appendAll(macrotaskSource(reads));
}

/** Appends the text and arguments of a source. Returns the number of characters. */
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
