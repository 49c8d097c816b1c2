/** The error of a failed test case. Test runners print its message. */
class SuiteAssertionError extends Error {
  override readonly name = 'SuiteAssertionError';
}

/** The expected error: the error itself, an object with equal fields, or a function that checks it. */
type ExpectedError = object | ((error: unknown) => boolean);

// This file contains its own assertions. The suite also runs in browsers and edge runtimes, where the
// assertions of Node do not exist.

/** Throws an error with this message. */
export function fail(message: string): never {
  throw new SuiteAssertionError(message);
}

/** Asserts that the value is truthy. */
export function ok(value: unknown, message?: string): asserts value {
  if (!value) fail(message ?? `expected a truthy value, but got ${shown(value)}`);
}

/** Asserts that both values are identical, as `Object.is` defines it. */
export function equal<T>(actual: unknown, expected: T, message?: string): asserts actual is T {
  if (!Object.is(actual, expected)) fail(difference(actual, expected, message));
}

/** Asserts that the values are not identical, as `Object.is` defines it. */
export function notEqual(actual: unknown, unexpected: unknown): void {
  if (Object.is(actual, unexpected)) fail(`expected another value than ${shown(unexpected)}`);
}

/** Asserts that both values have the same content: types, keys and elements. */
export function deepEqual<T>(actual: unknown, expected: T, message?: string): asserts actual is T {
  if (!isDeepEqual(actual, expected)) fail(difference(actual, expected, message));
}

/** Asserts that the text matches the pattern. */
export function match(text: string, pattern: RegExp): void {
  if (!pattern.test(text)) fail(`expected ${pattern}, but got ${shown(text)}`);
}

/** Asserts that the function throws the expected error. */
export function throws(run: () => unknown, expected: ExpectedError): void {
  let error: unknown;
  try {
    run();
  } catch (thrown) {
    error = thrown;
  }
  checkError(error, expected, 'the call returned');
}

/** Asserts that the promise rejects with the expected error. */
export async function rejects(
  promise: Promise<unknown>,
  expected: ExpectedError,
  message = 'the promise did not reject',
): Promise<void> {
  const error = await promise.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  checkError(error, expected, message);
}

function checkError(error: unknown, expected: ExpectedError, message: string): void {
  if (error === undefined) fail(`${message}, but it must fail`);
  if (error === expected) return;
  const isExpected =
    typeof expected === 'function'
      ? (expected as (error: unknown) => boolean)(error)
      : !(expected instanceof Error) && hasFields(error as object, expected);
  if (!isExpected)
    throw new SuiteAssertionError(`${message}: another error came`, { cause: error });
}

function hasFields(error: object, fields: object): boolean {
  return Object.entries(fields).every(([name, expected]) => {
    const actual: unknown = Reflect.get(error, name);
    return expected instanceof RegExp ? expected.test(String(actual)) : actual === expected;
  });
}

/** Returns whether both values have the same types, keys and elements. */
function isDeepEqual(one: unknown, other: unknown): boolean {
  if (Object.is(one, other)) return true;
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null)
    return false;
  if (Object.getPrototypeOf(one) !== Object.getPrototypeOf(other)) return false;
  if (one instanceof Map || one instanceof Set)
    return isDeepEqual([...one], [...(other as Iterable<unknown>)]);
  const [keys, otherKeys] = [Object.keys(one), Object.keys(other)];
  return (
    keys.length === otherKeys.length &&
    keys.every(
      (key) =>
        Object.hasOwn(other, key) && isDeepEqual(Reflect.get(one, key), Reflect.get(other, key)),
    )
  );
}

/** Maximum length of a value in a message. Longer values are cut. */
const maxShown = 2000;

function difference(actual: unknown, expected: unknown, message = 'the values differ'): string {
  return `${message}\nactual:   ${shown(actual)}\nexpected: ${shown(expected)}`;
}

function shown(value: unknown): string {
  const plain = (_: string, inner: unknown) => {
    if (inner instanceof Uint8Array) return `bytes ${inner.join(' ')}`;
    return inner === undefined || typeof inner === 'number' || typeof inner === 'bigint'
      ? String(inner)
      : inner;
  };
  const text = JSON.stringify(value, plain) ?? String(value);
  return text.length > maxShown ? `${text.slice(0, maxShown)}…` : text;
}
