import type { ProviderError } from '../contract/provider-error.ts';

/** The files of a request that a provider rejected. */
interface RejectedFiles {
  readonly ids: readonly string[];
  /** `gone`: the files no longer exist. `refused`: the model or the API rejects them. */
  readonly why: 'gone' | 'refused';
}

const goneStatuses = [400, 403, 404, 410];
const refusedStatuses = [400, 422];

/**
 * Matches the messages for a missing file. OpenAI sends "No such File object", and Anthropic "File not found"
 * or `file_expired`. Gemini sends "You do not have permission to access the File … or it may not exist".
 */
const gone = /not found|no such|not exist|expired|deleted|could not (?:be )?f(?:ind|ound)/i;
const file = /\bfiles?\b|\bfile_?(?:id|uri|data)\b/i;
const reference = /\bfile_?(?:id|uri|data)\b|\binput_file\b|\bsource\b.{0,200}\bfile\b/i;

/**
 * Returns which of the given files an error refers to. If the error names no file, it refers to all of them.
 * Returns undefined if the error has a different cause, or refers to a file that the caller uploaded itself
 * (`otherIds`).
 */
export function rejectedFiles(
  error: ProviderError,
  ids: readonly string[],
  otherIds: readonly string[],
): RejectedFiles | undefined {
  if (ids.length === 0) return undefined;
  const text = `${error.providerCode ?? ''} ${error.message}`;
  const isNamed = (id: string) => text.includes(id.slice(id.lastIndexOf('/') + 1));
  const named = ids.filter(isNamed);
  if (named.length === 0 && otherIds.some(isNamed)) return undefined;
  const affected = named.length === 0 ? ids : named;
  const { status } = error;
  // An error inside a stream has no status. Such an error counts only if it names a file.
  const isStatus = (statuses: readonly number[]) =>
    status === undefined ? named.length > 0 : statuses.includes(status);
  const isAboutFile = named.length > 0 || file.test(text);
  if (isAboutFile && gone.test(text) && isStatus(goneStatuses)) {
    return { ids: affected, why: 'gone' };
  }
  const isReference = named.length > 0 || reference.test(text);
  return isReference && isStatus(refusedStatuses) ? { ids: affected, why: 'refused' } : undefined;
}
