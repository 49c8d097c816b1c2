/** By the beginning of the name; the first that fits counts. */
const table: readonly (readonly [form: RegExp, tokens: number])[] = [
  [/^claude-(?:opus|sonnet)-4-[6-9]/, 1_000_000],
  [/^claude-[a-z]+-[5-9]/, 1_000_000],
  [/^claude-/, 200_000],
  [/^gpt-5\.[4-9](?!.*(?:mini|nano))/, 1_000_000],
  [/^gpt-5/, 400_000],
  [/^gpt-4\.1/, 1_000_000],
  [/^gpt-oss/, 131_072],
  [/^gpt-4/, 128_000],
  [/^o\d/, 200_000],
  [/^gemini-/, 1_048_576],
  [/^grok-4\.5/, 500_000],
  [/^grok-/, 256_000],
  [/^deepseek-v4/, 1_000_000],
  [/^deepseek-/, 128_000],
  [/^(?:mistral-medium|devstral)-/, 256_000],
  [/^mistral-/, 128_000],
];

/** How much a model can be sent at once, by its name; undefined where the name tells nothing. */
export function contextTokensOf(model: string): number | undefined {
  const name = model.slice(model.lastIndexOf('/') + 1).toLowerCase();
  // Gateways write 4.5 where Anthropic writes 4-5.
  const spelt = name.startsWith('claude-') ? name.replaceAll('.', '-') : name;
  return table.find(([form]) => form.test(spelt))?.[1];
}
