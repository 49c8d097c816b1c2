/** The bytes of a stream, in the format of a Chat Completions API. */
export interface Workload {
  readonly name: string;
  readonly title: string;
  readonly reads: readonly Uint8Array[];
}

const readLength = 1400;

/** W1: an answer of 20,000 text deltas with about 4 characters each. */
export function textWorkload(deltas = 20_000): Workload {
  const lines = Array.from({ length: deltas }, (_, index) => chunk({ content: wordAt(index) }));
  return workload('W1', `${deltas} text deltas`, lines, 'stop');
}

/**
 * W1 with random padding in each chunk, so that no two chunks are equal. OpenAI sends such padding.
 */
export function paddedWorkload(deltas = 20_000): Workload {
  const lines = Array.from({ length: deltas }, (_, index) => ({
    ...chunk({ content: wordAt(index) }),
    obfuscation: ((index * 2654435761) >>> 0).toString(36),
  }));
  return workload('W1 padded', `${deltas} text deltas, no two messages equal`, lines, 'stop');
}

/** W2: one tool call whose arguments arrive in fragments of 8 characters. */
export function argumentsWorkload(length = 200_000): Workload {
  const text = sourceFile(length);
  const all = JSON.stringify({ path: 'src/order.ts', content: text, mode: 'overwrite' });
  const lines = [startCall(0, 'write')];
  for (let at = 0; at < all.length; at += 8) lines.push(moreArguments(0, all.slice(at, at + 8)));
  const title = `a tool call with ${Math.round(length / 1000)} KB of arguments`;
  return workload('W2', title, lines, 'tool_calls');
}

/** W3: 16 tool calls whose arguments arrive interleaved. */
export function callsWorkload(calls = 16, fragments = 1250): Workload {
  const lines = Array.from({ length: calls }, (_, index) => startCall(index, 'search'));
  for (let step = 0; step < fragments; step++) {
    for (let index = 0; index < calls; index++) {
      const isLast = step === fragments - 1;
      lines.push(moreArguments(index, step === 0 ? '{"q":"' : isLast ? '"}' : `word${step % 10} `));
    }
  }
  const title = `${calls} interleaved tool calls of ${fragments} fragments`;
  return workload('W3', title, lines, 'tool_calls');
}

/**
 * All workloads. The fraction reduces their size, for libraries whose time grows faster than the
 * input.
 */
export const workloads: readonly ((fraction: number) => Workload)[] = [
  (fraction) => textWorkload(Math.round(20_000 * fraction)),
  (fraction) => paddedWorkload(Math.round(20_000 * fraction)),
  (fraction) => argumentsWorkload(Math.round(200_000 * fraction)),
  (fraction) => callsWorkload(16, Math.round(1250 * fraction)),
];

const words = [' the', ' win', 'd to', 'day ', 'is m', 'ild,', ' rai', 'n la', 'te ✓', '\n- a'];

function wordAt(index: number): string {
  return words[index % words.length] ?? '';
}

function sourceFile(length: number): string {
  const line = 'export const ship = (order: Order): string => order.name + "\\tships";\n';
  return line.repeat(Math.ceil(length / line.length)).slice(0, length);
}

function startCall(index: number, name: string): object {
  const call = { index, id: `call_${index}`, type: 'function', function: { name, arguments: '' } };
  return chunk({ tool_calls: [call] });
}

function moreArguments(index: number, text: string): object {
  return chunk({ tool_calls: [{ index, function: { arguments: text } }] });
}

function chunk(delta: object, finish: string | null = null): object {
  return { ...head, choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }] };
}

const head = {
  id: 'chatcmpl-B7YxGJ2bVZyVq0mD0Yp3kQh1oWx5T',
  object: 'chat.completion.chunk',
  created: 1763200000,
  model: 'gpt-test-2026-01-01',
  system_fingerprint: 'fp_50cad350e4',
};

/**
 * Creates a workload. It adds the role and the finish reason, because some libraries reject a
 * stream without them.
 */
function workload(
  name: string,
  title: string,
  deltas: readonly object[],
  finish: 'stop' | 'tool_calls',
): Workload {
  const usage = { prompt_tokens: 9, completion_tokens: 20_000, total_tokens: 20_009 };
  const chunks = [
    chunk({ role: 'assistant' }),
    ...deltas,
    chunk({}, finish),
    { ...head, choices: [], usage },
  ];
  const text = `${chunks.map((one) => `data: ${JSON.stringify(one)}\n\n`).join('')}data: [DONE]\n\n`;
  const bytes = new TextEncoder().encode(text);
  const reads: Uint8Array[] = [];
  for (let at = 0; at < bytes.length; at += readLength)
    reads.push(bytes.slice(at, at + readLength));
  return { name, title, reads };
}
