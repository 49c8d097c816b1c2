/** The protocols that the scripted server can speak. */
export type WireName = 'openai-chat' | 'openai-responses' | 'anthropic' | 'gemini';

export const wireNames: readonly WireName[] = [
  'openai-chat',
  'openai-responses',
  'anthropic',
  'gemini',
];

const routes: readonly (readonly [RegExp, WireName])[] = [
  [/\/chat\/completions$/, 'openai-chat'],
  [/\/responses$/, 'openai-responses'],
  [/\/messages$/, 'anthropic'],
  [/\/models\/[^/]+:streamGenerateContent$/, 'gemini'],
];

/** The wire that a request to this path speaks. What stands before the known end is the base URL's. */
export function wireOfPath(path: string): WireName | undefined {
  return routes.find(([form]) => form.test(path))?.[1];
}
