import { CassetteError } from '../cassette-error.ts';

// Shorter ones would take ordinary words out, an empty one everything.
const minSecretLength = 6;
const maxSecretLength = 4096;

/** Throws for one that cannot be looked for: what is overlooked here would be in the recording. */
export function checkSecrets(secrets: unknown): void {
  if (!Array.isArray(secrets)) throw badOption('secrets', 'they are no list', 'give them as one');
  for (const [index, secret] of secrets.entries()) checkSecret(secret, `secrets[${index}]`);
}

function checkSecret(secret: unknown, path: string): void {
  if (typeof secret !== 'string') {
    const found = secret === null ? 'null' : typeof secret;
    throw badOption(path, `it is ${found}, not a text`, 'give the secret itself, or leave it out');
  }
  if (secret.length >= minSecretLength && secret.length <= maxSecretLength) return;
  const found = `it has ${secret.length} characters`;
  throw badOption(
    path,
    found,
    `give one of ${minSecretLength} to ${maxSecretLength}, or leave it out`,
  );
}

function badOption(path: string, found: string, way: string): CassetteError {
  return new CassetteError('bad_option', `Cannot redact ${path}: ${found}; ${way}`, { path });
}
