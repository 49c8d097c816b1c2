import { ProviderError } from '../errors/provider-error.ts';

/** A response that cannot be said as it was scripted. */
export function mistake(provider: string, problem: string, cause?: unknown): ProviderError {
  const message = `Cannot say the scripted response: ${problem}. Mend the script`;
  return new ProviderError('invalid_request', message, { provider, cause });
}
