/** The request for every peer. The answer is injected, so only the tools have an effect. */
export const model = 'gpt-test-2026-01-01';
export const prompt = 'Ship the order.';
export const apiKey = 'none';

/** Tools without an implementation. So a call ends the turn, as if it needed an approval. */
export const tools = [
  { name: 'write', description: 'Writes a file', parameters: objectOf('path', 'content', 'mode') },
  { name: 'search', description: 'Searches', parameters: objectOf('q') },
];

function objectOf(...names: readonly string[]) {
  const properties = Object.fromEntries(names.map((name) => [name, { type: 'string' as const }]));
  return {
    type: 'object' as const,
    properties,
    required: [...names],
    additionalProperties: false as const,
  };
}
