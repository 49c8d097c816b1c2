/** What an error of a package can say, whichever copy or version of the package it is from. */
export interface Thrown {
  readonly error: unknown;
  readonly name: string;
  readonly message: string;
  readonly code?: string | undefined;
  readonly type?: string | undefined;
  /** What it is about, where it could not be read. */
  readonly value?: unknown;
  readonly cause?: Thrown | undefined;
  /** It tells of a request. */
  readonly isFromApi: boolean;
  readonly status?: number | undefined;
  readonly headers?: unknown;
  readonly body?: string | undefined;
  readonly data?: unknown;
  readonly isRetryable?: boolean | undefined;
}

/** Causes of causes that are looked at: they may go round in a circle. */
const maxCauses = 4;

/** Undefined for what is no error, and so the provider's own words. */
export function thrownOf(error: unknown, causes: number = maxCauses): Thrown | undefined {
  if (!isError(error)) return undefined;
  const field = (name: string): unknown => Reflect.get(error, name);
  const status = field('statusCode');
  return {
    error,
    name: error.name,
    message: error.message,
    code: textOf(field('code')),
    type: textOf(field('type')),
    value: field('value'),
    cause: causes === 0 ? undefined : thrownOf(error.cause, causes - 1),
    isFromApi: error.name === 'AI_APICallError' || typeof status === 'number',
    status: typeof status === 'number' ? status : undefined,
    headers: field('responseHeaders'),
    body: textOf(field('responseBody')),
    data: field('data'),
    isRetryable: field('isRetryable') === true,
  };
}

/** Also one of another realm, whose class is another. */
function isError(value: unknown): value is Error {
  return value instanceof Error || Object.prototype.toString.call(value) === '[object Error]';
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}
