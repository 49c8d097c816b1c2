import assert from 'node:assert/strict';
import { isMillraceError, type LogRecord } from '@millrace/core';

/** The same thing in the log that is tested and in the reference. */
export interface Pair<T> {
  readonly real: T;
  readonly reference: T;
}

type Outcome<T> =
  | { readonly value: T; readonly code?: undefined }
  | { readonly code: string; readonly value?: undefined };

async function outcomeOf<T>(attempt: Promise<T>): Promise<Outcome<T>> {
  try {
    return { value: await attempt };
  } catch (error) {
    if (isMillraceError(error)) return { code: error.code };
    throw error;
  }
}

/**
 * Both came to the same end: the same refusal, or values that say the same. Gives what came, and the
 * refusal's code where it was one.
 */
export async function sameOutcome<T>(
  { real, reference }: Pair<Promise<T>>,
  sayOf: (value: T) => unknown,
): Promise<{ readonly values?: Pair<T>; readonly code: string }> {
  const [one, other] = await Promise.all([outcomeOf(real), outcomeOf(reference)]);
  const shown = ({ code, value }: Outcome<T>) => code ?? sayOf(value as T);
  assert.deepEqual(shown(one), shown(other));
  if (one.code !== undefined || other.code !== undefined) return { code: one.code ?? '' };
  return { values: { real: one.value, reference: other.value }, code: 'done' };
}

/** Without the writer's name, which every store gives as it likes. */
export function plain(records: readonly LogRecord[]): readonly unknown[] {
  return records.map(({ producer: _, ...rest }) => rest);
}

/** The code of the error that it resolved with; undefined where it did not yet. */
export async function codeOfLoss(lost: Promise<Error>): Promise<string | undefined> {
  const nothing = new Promise<undefined>((resolve) => setImmediate(resolve, undefined));
  const error = await Promise.race([lost, nothing]);
  return isMillraceError(error) ? error.code : error?.name;
}
