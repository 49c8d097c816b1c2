import type { RecordedError } from './cassette.ts';

/** The number of recorded levels: an error, its cause, and the cause of its cause. */
const maxDepth = 3;

/** Converts an error of fetch to its recorded form. `clean` removes secrets from the error's texts. */
export function recordError(
  error: unknown,
  clean: (text: string) => string,
  depth: number = 1,
): RecordedError {
  if (!(error instanceof Error)) {
    const message = typeof error === 'string' ? error : 'A value that is not an error was thrown';
    return { name: 'Error', message: clean(message) };
  }
  const { name, message, cause } = error;
  const code = 'code' in error && typeof error.code === 'string' ? error.code : undefined;
  const isNested = cause instanceof Error && depth < maxDepth;
  return {
    name: clean(name),
    message: clean(message),
    ...(code === undefined ? {} : { code: clean(code) }),
    ...(isNested ? { cause: recordError(cause, clean, depth + 1) } : {}),
  };
}

/** Creates an error from its recorded form. The error has the class that callers check for. */
export function rebuildError(recorded: RecordedError): Error {
  const error = ofClass(recorded);
  if (recorded.code !== undefined) Object.assign(error, { code: recorded.code });
  return error;
}

function ofClass({ name, message, cause }: RecordedError): Error {
  const options = cause === undefined ? {} : { cause: rebuildError(cause) };
  switch (name) {
    case 'TypeError':
      return new TypeError(message, options);
    case 'AbortError':
    case 'TimeoutError':
      return new DOMException(message, name);
    default:
      return Object.assign(new Error(message, options), { name });
  }
}
