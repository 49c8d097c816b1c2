/** What every peer is asked; the answer is injected, so only its tools matter. */
export const model = 'gpt-test-2026-01-01';
export const prompt = 'Turn the wheel.';
export const apiKey = 'none';

/** No tool can be executed: a call ends the turn, as it would where a user has to approve it. */
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
