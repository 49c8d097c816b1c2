import { keyPatterns } from './key-patterns.ts';

/** What is shorter is a word rather than a secret, and would be missed in every message. */
export const minSecretLength = 8;

/** A key shorter than that is redacted only where it stands alone; one still shorter is a placeholder. */
const minWordLength = 4;

/** The text without keys: providers like to quote the key that they refuse. */
export function redact(text: string, secrets: readonly string[] = []): string {
  const known = secrets.flatMap(formsOf).reduce(without, text);
  return keyPatterns.reduce((rest, pattern) => rest.replace(pattern, withoutSecret), known);
}

function without(text: string, form: string): string {
  if (form.length >= minSecretLength) return text.replaceAll(form, '[redacted]');
  if (form.length < minWordLength) return text;
  const escaped = form.replace(/[\\^$.*+?()[\]{}|]/g, String.raw`\$&`);
  return text.replace(new RegExp(`(?<![A-Za-z0-9])${escaped}(?![A-Za-z0-9])`, 'g'), '[redacted]');
}

/** Where a pattern has a group, the secret is that group, which stands at the end. */
function withoutSecret(match: string, group: unknown): string {
  const isPart = typeof group === 'string';
  return `${isPart ? match.slice(0, -group.length) : ''}[redacted]`;
}

/** As it is, as headers trim it, as an address has it, as JSON has it. */
function formsOf(given: unknown): readonly string[] {
  // Whatever it is: an error must not fail in its turn.
  const secret = typeof given === 'string' || typeof given === 'number' ? String(given) : '';
  const sent = secret.trim();
  return [secret, sent, encodeURIComponent(sent.toWellFormed()), JSON.stringify(sent).slice(1, -1)];
}
