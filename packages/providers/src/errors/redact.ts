import { keyPatterns } from './key-patterns.ts';

const minLength = 4;

/** The text without keys: providers like to quote the key that they refuse. */
export function redact(text: string, secrets: readonly string[] = []): string {
  const known = secrets
    .flatMap(formsOf)
    .filter((form) => form.length >= minLength)
    .reduce((rest, form) => rest.replaceAll(form, '[redacted]'), text);
  return keyPatterns.reduce((rest, pattern) => rest.replace(pattern, withoutSecret), known);
}

/** Where a pattern has a group, the secret is that group, which stands at the end. */
function withoutSecret(match: string, group: unknown): string {
  const isPart = typeof group === 'string';
  return `${isPart ? match.slice(0, -group.length) : ''}[redacted]`;
}

/** As it is, as headers trim it, as an address has it, as JSON has it. */
function formsOf(secret: string): readonly string[] {
  const sent = secret.trim();
  return [secret, sent, encodeURIComponent(sent.toWellFormed()), JSON.stringify(sent).slice(1, -1)];
}
