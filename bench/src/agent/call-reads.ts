/** Returns a Chat Completions answer with one tool call, in one read. */
export function callReads(): readonly Uint8Array[] {
  const call = { index: 0, id: 'call_1', type: 'function' };
  const chunks = [
    { role: 'assistant', tool_calls: [{ ...call, function: { name: 'look', arguments: '' } }] },
    { tool_calls: [{ index: 0, function: { arguments: '{"at":"the port"}' } }] },
  ].map((delta) => ({ choices: [{ index: 0, delta, finish_reason: null }] }));
  const end = { choices: [{ index: 0, delta: {}, finish_reason: 'tool_calls' }] };
  const lines = [...chunks, end].map((one) => `data: ${JSON.stringify({ id: 'c', ...one })}\n\n`);
  return [new TextEncoder().encode(`${lines.join('')}data: [DONE]\n\n`)];
}
