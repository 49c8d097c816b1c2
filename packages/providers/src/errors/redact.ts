/** What API keys look like, whoever's they are. */
const keyForms: readonly RegExp[] = [
  /\b(?:sk|pk|rk|gsk|xai|r8|hf|ghp|pplx|csk|nvapi)[-_][A-Za-z0-9_*-]{8,}/g,
  /\bAIza[A-Za-z0-9_-]{20,}/g,
  /\bBearer\s+[A-Za-z0-9._~+/=-]{8,}/gi,
];

const minLength = 4;

/** The text without keys: providers like to quote the key that they refuse. */
export function redact(text: string, secrets: readonly string[] = []): string {
  const known = secrets
    .flatMap(formsOf)
    .filter((form) => form.length >= minLength)
    .reduce((rest, form) => rest.replaceAll(form, '[redacted]'), text);
  return keyForms.reduce((rest, form) => rest.replace(form, '[redacted]'), known);
}

/** As it is, as headers trim it, as an address has it, as JSON has it. */
function formsOf(secret: string): readonly string[] {
  const sent = secret.trim();
  return [secret, sent, encodeURIComponent(sent.toWellFormed()), JSON.stringify(sent).slice(1, -1)];
}
