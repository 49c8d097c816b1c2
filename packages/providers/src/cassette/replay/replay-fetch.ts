import { type Clock, systemClock } from '../../transport/clock.ts';
import { ByteBudget, captureRequest, redactorOf, toRecordedRequest } from '../captured-request.ts';
import {
  assertCassetteOptions,
  type Cassette,
  CassetteError,
  defaultCassetteLimits,
  type RecordedExchange,
  type RecordedRequest,
  type RecordedResponse,
} from '../cassette.ts';
import { createRedactor } from '../redact/redactor.ts';
import { type ResponseHead, rebuildResponse } from '../web-platform.ts';
import {
  errorAtEnd,
  type ReplaySchedule,
  type ReplaySpeed,
  replayBody,
  startSchedule,
} from './replay-body.ts';
import { UnusedExchanges } from './unused-exchanges.ts';

/** Options of `replayFetch`. */
export interface ReplayFetchOptions {
  /** Speed of the replay. Default: `instant`. */
  readonly speed?: ReplaySpeed | undefined;
  /**
   * Secrets of the current requests. They are removed before a request is compared, because the recording
   * does not contain secrets. Default: none.
   */
  readonly secrets?: readonly string[] | undefined;
  /** Clock for the replayed delays. Default: the system clock. */
  readonly clock?: Clock | undefined;
}

/** A fetch that returns recorded responses from a cassette. */
export type ReplayFetch = typeof fetch & {
  /**
   * Throws a `CassetteError` with the code `unused` if the cassette has exchanges that did not answer any
   * request. Call it at the end of a test.
   */
  readonly assertUsedUp: () => void;
};

/**
 * Creates a fetch that answers from a cassette without a network, with the same bytes in the same chunks. A
 * request gets the first unused exchange with the same method, path, query and body. The fields
 * `prompt_cache_key` and `session_id` of the body may differ, because they identify the session. If no
 * exchange matches, the promise rejects with a `CassetteError` that lists the differences. At the end of a
 * test, `assertUsedUp` checks that all exchanges were used.
 *
 * @example
 * const replay = replayFetch(decodeCassette(text), { speed: 'instant' });
 * const response = await replay('https://api.example.com/v1/models');
 */
export function replayFetch(cassette: Cassette, options: ReplayFetchOptions = {}): ReplayFetch {
  assertCassetteOptions('replayFetch', options, { speed: true, secrets: true, clock: true });
  const { speed = 'instant', clock = systemClock } = options;
  checkSpeed(speed);
  const redactor = createRedactor(options.secrets);
  const unused = new UnusedExchanges(cassette);
  const replay: typeof fetch = async (input, init) => {
    const schedule = startSchedule(speed, clock);
    const request = captureRequest(
      input,
      init,
      new ByteBudget(defaultCassetteLimits.maxExchangeBytes),
    );
    const { url, signal } = request;
    const requested = await abortable<RecordedRequest>(signal, (resolve, reject) => {
      toRecordedRequest(request, redactorOf(request, redactor)).then(resolve, reject);
      return request.copy.stop;
    });
    return respond(unused.take(requested), { url, signal, schedule });
  };
  return Object.assign(replay, { assertUsedUp: () => unused.assertNone() });
}

function checkSpeed(speed: ReplaySpeed): void {
  if (speed === 'instant' || (Number.isFinite(speed) && speed > 0)) return;
  const message = `Cannot replay at speed ${speed}: pass a number above 0, or 'instant'`;
  throw new CassetteError('bad_option', message, { path: 'speed' });
}

interface ReplayRequest {
  readonly url: string;
  readonly signal: AbortSignal | undefined;
  readonly schedule: ReplaySchedule;
}

async function respond(
  { response, end }: RecordedExchange,
  replay: ReplayRequest,
): Promise<Response> {
  const { signal, schedule } = replay;
  const { atMs } = response ?? end;
  await abortable<void>(signal, (resolve) => schedule(atMs, resolve));
  if (response === undefined) throw errorAtEnd(end);
  const hasBody = !isNullBody(response.status);
  return rebuildResponse(
    responseHead(response, replay.url),
    hasBody ? replayBody(response, end, schedule, signal) : null,
  );
}

/** Returns whether a response with this status has no body, according to the fetch standard. */
function isNullBody(status: number): boolean {
  return status < 200 || status === 204 || status === 205 || status === 304;
}

function responseHead(
  { status, statusText = '', headers }: RecordedResponse,
  url: string,
): ResponseHead {
  const rest = { redirected: false, type: 'default' } as const;
  return { status, statusText, headers: new Headers(headers), url, ...rest };
}

/**
 * Runs a task that the signal can abort. An abort cancels the task, and the promise rejects with the signal's
 * reason.
 */
async function abortable<T>(
  signal: AbortSignal | undefined,
  start: (resolve: (value: T) => void, reject: (error: unknown) => void) => () => void,
): Promise<T> {
  signal?.throwIfAborted();
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  const cancel = start(resolve, reject);
  const onAbort = () => {
    cancel();
    reject(signal?.reason);
  };
  signal?.addEventListener('abort', onAbort);
  try {
    return await promise;
  } finally {
    signal?.removeEventListener('abort', onAbort);
  }
}
