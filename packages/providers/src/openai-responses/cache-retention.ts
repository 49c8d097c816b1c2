/** OpenAI's models that keep what they cache for a day when they are asked to; others refuse to be asked. */
export const openaiLongCacheModels: readonly string[] = [
  'gpt-4.1',
  'gpt-5',
  'gpt-5-codex',
  'gpt-5.1',
  'gpt-5.1-chat-latest',
  'gpt-5.1-codex',
  'gpt-5.1-codex-max',
  'gpt-5.1-codex-mini',
  'gpt-5.2',
  'gpt-5.4',
  'gpt-5.5',
  'gpt-5.5-pro',
];

/** By its name, with or without the date of a snapshot. */
export function isAmong(models: readonly string[], model: string): boolean {
  return models.includes(model.replace(/-\d{4}-\d{2}-\d{2}$/, ''));
}
